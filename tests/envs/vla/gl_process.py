"""Python in a process of its own, since OpenGL and its libraries stay as they were first found."""

from __future__ import annotations

import os
import subprocess
import sys

MODEL = """
import mujoco
from wmrl_gym.envs.vla.rendering import Renderer

def scene(colour="1 0 0"):
    model = mujoco.MjModel.from_xml_string(
        f'''<mujoco><worldbody><light pos="0 0 3"/><geom type="plane" size="1 1 .1"/>
        <geom type="box" size=".2 .2 .2" rgba="{colour} 1"/>
        <camera name="agentview" pos="0 -2 1.5" xyaxes="1 0 0 0 .6 .8"/></worldbody></mujoco>'''
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data
"""


def python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code with these environment variables beside the usual ones, but no choice of OpenGL."""
    ours = ("MUJOCO_GL", "PYOPENGL_PLATFORM", "MUJOCO_EGL_DEVICE_ID")
    environment = {k: v for k, v in os.environ.items() if k not in ours}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", MODEL + code],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
