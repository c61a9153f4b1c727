"""MJCF of the things that families are made of, and their sizes in metres.

Geoms whose names begin with `<body>_skin` take the body's colour. Fixed things are
`mocap` bodies, whose poses are part of the state and can differ between episodes.
"""

from __future__ import annotations

from math import cos, pi

HALF = 0.02
"""Half the width of a cube, half its height, and the radius of a cylinder."""
TRAY_HALF = 0.055
TRAY_HEIGHT = 0.024
ZONE_RADIUS = 0.05

_MARKERS = {"ball": 'type="sphere" size="0.02"', "cube": 'type="box" size="0.016 0.016 0.016"'}
_SIDE = HALF * cos(pi / 8)
_BOX = f'class="object" type="box" size="{HALF} {HALF} {HALF}"'
_PRISM = f'class="object" type="box" size="{_SIDE} {_SIDE} {HALF}" group="3" mass="0.02"'
# Between boxes and cylinders MuJoCo finds one contact point that jumps about, and things fly
# away. Two boxes across make an eight-sided prism with stable faces; the cylinder is its skin.
_LOOSE = {
    "cube": f'<geom name="{{name}}_skin" {_BOX}/>',
    "cylinder": f'''<geom name="{{name}}_skin" class="paint" type="cylinder" mass="0"
            size="{HALF} {HALF}"/>
      <geom {_PRISM}/><geom {_PRISM} euler="0 0 {pi / 4}"/>''',
}


def marker(name: str, shape: str) -> str:
    """A floating mark that nothing collides with."""
    return f"""
    <body name="{name}" mocap="true">
      <geom name="{name}_skin" class="paint" {_MARKERS[shape]}/>
    </body>"""


def loose(name: str, shape: str) -> str:
    """A thing that can be pushed and grasped; its middle is its origin."""
    return f"""
    <body name="{name}"><freejoint/>
      {_LOOSE[shape].format(name=name)}
    </body>"""


def zone(name: str) -> str:
    """A disc painted on the table."""
    return f"""
    <body name="{name}" mocap="true">
      <geom name="{name}_skin" class="paint" type="cylinder" size="{ZONE_RADIUS} 0.001"/>
    </body>"""


def tray(name: str) -> str:
    """A low square platform; the middle of its top is its origin."""
    half = TRAY_HEIGHT / 2
    return f"""
    <body name="{name}" mocap="true">
      <geom name="{name}_skin" class="support" type="box" pos="0 0 {-half}"
            size="{TRAY_HALF} {TRAY_HALF} {half}"/>
    </body>"""
