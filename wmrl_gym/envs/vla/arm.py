"""The arm: six joints, a parallel gripper, and its home posture, as MJCF from primitives.

The joints are base yaw, shoulder, elbow and wrist pitch, wrist tilt and flange roll. While the
gripper points down, the last three turn about three orthogonal axes, so no posture over the
table is singular. Gravity is compensated: the arm holds its posture without effort.

Lengths are in metres, angles in radians. The table's top is z = 0 and its middle the origin;
the arm stands at negative x. The site `hand` lies between the fingertips; at home its frame is
that of the world, with the fingers pointing down and opening along y.
"""

from __future__ import annotations

from math import acos, atan2, hypot, pi

BASE = (-0.55, 0.0)
"""Where the arm stands, x and y."""
SHOULDER_HEIGHT = 0.35
LINK = 0.45
"""Length of the upper arm and of the forearm."""
TOOL = 0.20
"""From the wrist to the point between the fingertips."""
FINGER_TRAVEL = 0.04
"""A finger's way from closed to open; the gripper opens twice as wide."""
SQUEEZE = 0.008
"""How far beyond closed the fingers are told to go, which is what makes them grip."""
HOME_HAND = (0.0, 0.0, 0.22)

ARM_JOINTS = ("yaw", "shoulder", "elbow", "wrist", "tilt", "roll")
FINGER_JOINTS = ("left_finger", "right_finger")

# Torque per radian, the largest torque, and the rotor's inertia, which dominates the links'
# and so makes all joints equally quick in every posture.
_DRIVES = {
    "yaw": (1500.0, 300.0, 0.5),
    "shoulder": (1500.0, 300.0, 0.5),
    "elbow": (1000.0, 200.0, 0.3),
    "wrist": (250.0, 60.0, 0.08),
    "tilt": (250.0, 60.0, 0.08),
    "roll": (120.0, 30.0, 0.04),
}


def arm_posture(x: float, y: float, z: float) -> tuple[float, ...]:
    """Joint angles that bring the hand to (`x`, `y`, `z`), pointing down, without yaw."""
    yaw = atan2(y - BASE[1], x - BASE[0])
    out, up = hypot(x - BASE[0], y - BASE[1]), z + TOOL - SHOULDER_HEIGHT
    middle, bend = atan2(out, up), acos(hypot(out, up) / (2 * LINK))
    upper, fore = middle - bend, middle + bend
    return yaw, upper, fore - upper, pi - fore, 0.0, yaw


def arm_bodies() -> str:
    """MJCF of the arm's bodies, for the `worldbody`."""
    return f"""
    <body name="base" pos="{BASE[0]} {BASE[1]} 0" gravcomp="1">
      <geom class="link" type="cylinder" size="0.07 0.14" pos="0 0 0.14" rgba="0.25 0.25 0.28 1"/>
      <body name="turret" pos="0 0 {SHOULDER_HEIGHT}" gravcomp="1">
        <joint name="yaw" class="arm" axis="0 0 1" range="-2.6 2.6" {_rotor("yaw")}/>
        <geom class="link" type="cylinder" size="0.055 0.07" euler="1.5708 0 0"/>
        <body name="upper_arm" gravcomp="1">
          <joint name="shoulder" class="arm" axis="0 1 0" range="-1.2 2.4" {_rotor("shoulder")}/>
          <geom class="link" type="capsule" size="0.04" fromto="0 0 0 0 0 {LINK}"/>
          <body name="forearm" pos="0 0 {LINK}" gravcomp="1">
            <joint name="elbow" class="arm" axis="0 1 0" range="0.1 2.9" {_rotor("elbow")}/>
            <geom class="link" type="capsule" size="0.034" fromto="0 0 0 0 0 {LINK}"/>
            {_wrist()}
          </body>
        </body>
      </body>
    </body>"""


def _wrist() -> str:
    return f"""
            <body name="wrist_link" pos="0 0 {LINK}" gravcomp="1">
              <joint name="wrist" class="arm" axis="0 1 0" range="-2.8 2.8" {_rotor("wrist")}/>
              <geom class="link" type="cylinder" size="0.034 0.04" euler="1.5708 0 0"/>
              <body name="tilt_link" gravcomp="1">
                <joint name="tilt" class="arm" axis="1 0 0" range="-1 1" {_rotor("tilt")}/>
                <geom class="link" type="capsule" size="0.026" fromto="0 0 0 0 0 0.06"/>
                <body name="hand" pos="0 0 0.1" gravcomp="1">
                  <joint name="roll" class="arm" axis="0 0 1" range="-3.9 3.9" {_rotor("roll")}/>
                  <geom class="gripper" type="box" size="0.02 0.05 0.018" mass="0.3"
                        rgba="0.2 0.2 0.22 1"/>
                  <site name="hand" pos="0 0 {TOOL - 0.1}" quat="0 0 1 0" size="0.004"
                        rgba="0 0 0 0"/>
                  <camera name="wrist" pos="0.085 0 0" xyaxes="0 -1 0 -0.85 0 -0.53"
                          fovy="75"/>
                  {_finger("left_finger", 1)}
                  {_finger("right_finger", -1)}
                </body>
              </body>
            </body>"""


def _finger(name: str, side: int) -> str:
    return f"""
                  <body name="{name}" pos="0 {side * 0.006} 0.068" gravcomp="1">
                    <joint name="{name}" type="slide" axis="0 {side} 0" range="0 {FINGER_TRAVEL}"
                           armature="0.2" damping="4"/>
                    <geom class="gripper" type="box" size="0.011 0.006 0.044" mass="0.05"
                          condim="4" friction="1.6 0.02 0.0001" rgba="0.75 0.75 0.78 1"/>
                  </body>"""


def arm_actuators() -> str:
    """MJCF of the position servos, six joints and two fingers, in the order of the controls."""
    servos = "".join(
        f'<position name="{name}" joint="{name}" kp="{kp}" dampratio="1" '
        f'forcerange="-{torque} {torque}"/>'
        for name, (kp, torque, _) in _DRIVES.items()
    )
    fingers = "".join(
        f'<position name="{name}" joint="{name}" kp="300" kv="20" forcerange="-30 30"/>'
        for name in FINGER_JOINTS
    )
    return servos + fingers


def _rotor(joint: str) -> str:
    return f'armature="{_DRIVES[joint][2]}"'
