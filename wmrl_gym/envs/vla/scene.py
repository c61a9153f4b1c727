"""The MJCF around a family's bodies: physics options, table, lights, cameras and the arm.

Collision masks keep contacts few, which is most of the speed. Supports (table, trays) meet
objects and the gripper; objects meet each other and fixtures (drawers, buttons, knobs); the
gripper meets all but itself; fixtures do not meet their own supports. The arm's links and
whatever is only painted on the table meet nothing.
"""

from __future__ import annotations

from functools import lru_cache

from wmrl_gym.envs.vla.arm import arm_actuators, arm_bodies
from wmrl_gym.envs.vla.physics import mujoco

CONTROL_PERIOD = 0.05
"""Seconds between two actions: 20 Hz."""

_MASKS = {
    "support": (1, 0),
    "object": (2, 1 | 2 | 8),
    "gripper": (4, 1 | 2 | 8),
    "fixture": (8, 0),
    "paint": (0, 0),
    "link": (0, 0),
}


@lru_cache(maxsize=64)
def compiled(bodies: str, substeps: int) -> mujoco.MjModel:
    """The model of a scene with `bodies`; shared, so copy it before changing colours.

    Args:
        bodies: MJCF of a family's bodies, for the `worldbody`.
        substeps: Physics steps in each control period, at least 1.
    """
    return mujoco.MjModel.from_xml_string(scene_xml(bodies, substeps))


def scene_xml(bodies: str, substeps: int) -> str:
    """The whole MJCF; arguments as in `compiled`."""
    # Elliptic cones with a ratio of frictional to normal impedance above 1 keep grasps from
    # creeping. The solver needs its default limits: with 10 line searches, what is grasped flies.
    return f"""
<mujoco model="wmrl_vla">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{CONTROL_PERIOD / substeps!r}" integrator="implicitfast" cone="elliptic"
          impratio="3"/>
  <visual>
    <headlight ambient="0.4 0.4 0.42" diffuse="0.2 0.2 0.2" specular="0 0 0"/>
    <map znear="0.02" zfar="20" shadowclip="0.5"/>
    <quality shadowsize="2048"/>
    <global offwidth="1024" offheight="1024"/>
  </visual>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.80 0.86 0.92" rgb2="0.45 0.52 0.6"
             width="64" height="384"/>
    <material name="matte" specular="0" shininess="0"/>
  </asset>
  <default>{_defaults()}
  </default>
  <worldbody>
    <light directional="true" pos="0.5 -0.7 1.8" dir="-0.35 0.45 -1" diffuse="0.5 0.49 0.46"
           specular="0.2 0.2 0.2" castshadow="true"/>
    <camera name="agentview" pos="0.74 0 0.62" xyaxes="0 1 0 -0.6 0 0.8" fovy="42"/>
    <geom name="table" class="support" type="plane" size="0.57 0.55 0.01" pos="-0.12 0 0"
          material="matte" rgba="0.80 0.71 0.60 1"/>
    {_painted_table()}
    {bodies}
    {arm_bodies()}
  </worldbody>
  <actuator>{arm_actuators()}</actuator>
</mujoco>"""


def _painted_table() -> str:
    """The table's edge, and a mat under the workspace; colours, since textures cost much more."""
    return """<geom class="paint" type="box" size="0.59 0.57 0.02" pos="-0.12 0 -0.0215"
          material="matte" rgba="0.55 0.44 0.34 1"/>
    <geom class="paint" type="plane" size="0.24 0.32 0.01" pos="0.02 0 0.0004"
          material="matte" rgba="0.88 0.84 0.78 1"/>"""


def _defaults() -> str:
    masks = "".join(
        f"""
    <default class="{name}"><geom contype="{kind}" conaffinity="{meets}"/></default>"""
        for name, (kind, meets) in _MASKS.items()
    )
    return f"""
    <geom friction="0.8 0.005 0.0001" solref="0.01 1" solimp="0.98 0.999 0.001" density="800"/>
    <default class="arm"><joint damping="1"/></default>{masks}"""
