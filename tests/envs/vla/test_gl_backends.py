from __future__ import annotations

import pytest

from tests.envs.vla.gl_process import python
from wmrl_gym.envs.vla.gl_backends import egl_devices, find_gl_backend
from wmrl_gym.errors import RenderingUnavailableError

NO_EGL_DRIVER = {"__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent.json"}
WHAT_DRAWS = """
model, data = scene()
renderer = Renderer(size=32)
frame = renderer.frame(model, data)
from wmrl_gym.envs.vla import rendering
print(rendering._context._backend, int(frame.max()) > int(frame.min()))
"""


@pytest.fixture(autouse=True)
def no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MUJOCO_GL", "PYOPENGL_PLATFORM", "MUJOCO_EGL_DEVICE_ID"):
        monkeypatch.delenv(name, raising=False)


def test_the_machine_has_a_usable_device() -> None:
    devices = egl_devices()
    assert [device.index for device in devices] == list(range(len(devices)))
    assert any(device.usable for device in devices)


def test_egl_comes_first_and_a_named_one_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_gl_backend() == "egl"
    monkeypatch.setenv("MUJOCO_GL", "glfw")  # a window; frames are drawn off screen all the same
    assert find_gl_backend() == "egl"
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    assert find_gl_backend() == "osmesa"


def test_what_pyopengl_was_told_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYOPENGL_PLATFORM", "osmesa")
    assert find_gl_backend() == "osmesa"
    monkeypatch.setenv("MUJOCO_GL", "egl")
    with pytest.raises(RenderingUnavailableError, match="MUJOCO_GL=egl contradicts"):
        find_gl_backend()


def test_rendering_can_be_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "disable")
    with pytest.raises(RenderingUnavailableError, match="MUJOCO_GL=disable forbids"):
        find_gl_backend()


@pytest.mark.parametrize("device", ["99", "-1", "cuda:0"])
def test_a_device_that_does_not_exist(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setenv("MUJOCO_EGL_DEVICE_ID", device)
    with pytest.raises(RenderingUnavailableError, match=f"MUJOCO_EGL_DEVICE_ID={device}.*CUDA"):
        find_gl_backend()


def test_the_first_device_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_EGL_DEVICE_ID", "0")
    assert find_gl_backend() == "egl"


def test_without_a_driver_for_egl_osmesa_draws() -> None:
    done = python(WHAT_DRAWS, **NO_EGL_DRIVER)
    assert done.stdout == "osmesa True\n", done.stderr


def test_without_any_the_error_says_what_to_install() -> None:
    done = python(WHAT_DRAWS, MUJOCO_GL="egl", **NO_EGL_DRIVER)
    assert done.returncode == 1
    error = done.stderr.splitlines()[-1]
    assert "RenderingUnavailableError: no OpenGL can draw without a display (tried egl)" in error
    assert "apt-get install libegl1 libegl-mesa0 libgl1" in error
    assert "WMRL-VLA-State-v0 needs no OpenGL" in error


def test_states_need_no_opengl() -> None:
    done = python(
        """
import gymnasium as gym
env = gym.make("wmrl_gym:WMRL-VLA-State-v0", task="reach")
env.reset(seed=0)
env.step(env.action_space.sample())
env.close()
""",
        MUJOCO_GL="disable",
    )
    assert done.returncode == 0, done.stderr
