"""Which OpenGL can draw without a display on this machine: EGL, else OSMesa.

The search asks the libraries themselves (`ctypes`), since PyOpenGL fixes its platform at
its first import and could not fall back afterwards. `MUJOCO_GL=egl|osmesa` decides when it
is set; other values that mean a window (`glfw`) are passed over, since frames are drawn off
screen. `MUJOCO_EGL_DEVICE_ID` is an index into `egl_devices()`. It is never derived from a
CUDA index: the two number the same cards differently.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any

from wmrl_gym.errors import RenderingUnavailableError

_EXTENSIONS = 0x3055
_PLATFORM_DEVICE = 0x313F
_MOST_DEVICES = 32
_OFF = ("disable", "disabled", "off", "false", "0")
_MEND = (
    "; install EGL (Debian: apt-get install libegl1 libegl-mesa0 libgl1) or OSMesa (libosmesa6), "
    "or train on states: WMRL-VLA-State-v0 needs no OpenGL as long as nothing is rendered"
)


@dataclass(frozen=True)
class EGLDevice:
    """One device that EGL can draw on."""

    index: int
    """What `MUJOCO_EGL_DEVICE_ID` takes."""
    software: bool
    """Whether it is Mesa's software rasteriser."""
    usable: bool
    """Whether a display on it can be initialised by this user."""


def find_gl_backend() -> str:
    """`"egl"` or `"osmesa"`: what frames can be drawn with in this process.

    Raises:
        RenderingUnavailableError: If neither works, or the environment variables forbid or
            contradict it.
    """
    wanted = _wanted_backend()
    if wanted != "osmesa" and _egl_works():
        return "egl"
    if wanted != "egl" and _library("libOSMesa.so.8", "libOSMesa.so.6") is not None:
        return "osmesa"
    tried = wanted or "egl and osmesa"
    raise RenderingUnavailableError(f"no OpenGL can draw without a display (tried {tried}){_MEND}")


def egl_devices() -> list[EGLDevice]:
    """The devices of EGL, in the order of `MUJOCO_EGL_DEVICE_ID`; empty without EGL.

    Asking initialises a display on each device, which takes a moment on many cards.
    """
    egl = _load_egl()
    if egl is None:
        return []
    return [
        EGLDevice(index, software=_is_software(egl, device), usable=_initialises(egl, device))
        for index, device in enumerate(_device_handles(egl))
    ]


def _wanted_backend() -> str | None:
    """What the environment variables ask for; `None` if they leave it open."""
    named = os.environ.get("MUJOCO_GL", "").lower().strip()
    if named in _OFF:
        raise RenderingUnavailableError(f"MUJOCO_GL={named} forbids rendering: unset it{_MEND}")
    platform = os.environ.get("PYOPENGL_PLATFORM", "").lower().strip()
    wanted = {value for value in (named, platform) if value in ("egl", "osmesa")}
    if len(wanted) == 2:
        raise RenderingUnavailableError(
            f"MUJOCO_GL={named} contradicts PYOPENGL_PLATFORM={platform}: set both to the same, "
            "before anything imports OpenGL"
        )
    return wanted.pop() if wanted else None


def _egl_works() -> bool:
    egl = _load_egl()
    if egl is None:
        return False
    handles = _device_handles(egl)
    chosen = os.environ.get("MUJOCO_EGL_DEVICE_ID")
    if chosen is None:
        # Only as many as needed: a display on each of many cards would cost memory.
        return any(_initialises(egl, handle) for handle in handles)
    if not chosen.isdecimal() or int(chosen) >= len(handles):
        raise RenderingUnavailableError(
            f"MUJOCO_EGL_DEVICE_ID={chosen} must be an EGL device from 0 to {len(handles) - 1} "
            "(EGL's own numbers, not those of CUDA), or unset"
        )
    return _initialises(egl, handles[int(chosen)])


def _library(*names: str) -> ctypes.CDLL | None:
    """The first of these shared libraries that can be loaded."""
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _load_egl() -> ctypes.CDLL | None:
    # MuJoCo's own functions come from the library of desktop OpenGL, which EGL does not bring.
    has_gl = _library("libOpenGL.so.0", "libGL.so.1") is not None
    return _library("libEGL.so.1") if has_gl else None


def _function(egl: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    """An extension's function; `None` where the driver lacks it."""
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    egl.eglGetProcAddress.argtypes = [ctypes.c_char_p]
    address = egl.eglGetProcAddress(name.encode())
    return ctypes.CFUNCTYPE(result, *arguments)(address) if address else None


def _device_handles(egl: ctypes.CDLL) -> list[int]:
    query = _function(
        egl, "eglQueryDevicesEXT", ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p
    )
    handles = (ctypes.c_void_p * _MOST_DEVICES)()
    count = ctypes.c_int(0)
    if query is None or not query(_MOST_DEVICES, handles, ctypes.byref(count)):
        return []
    return [int(handle) for handle in handles[: count.value] if handle is not None]


def _is_software(egl: ctypes.CDLL, device: int) -> bool:
    query = _function(
        egl, "eglQueryDeviceStringEXT", ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int
    )
    extensions = query(device, _EXTENSIONS) if query is not None else None
    return b"EGL_MESA_device_software" in (extensions or b"")


def _initialises(egl: ctypes.CDLL, device: int) -> bool:
    """Whether a display on the device can be used; it stays initialised for MuJoCo to use."""
    get_display = _function(
        egl,
        "eglGetPlatformDisplayEXT",
        ctypes.c_void_p,
        ctypes.c_uint,
        ctypes.c_void_p,
        ctypes.c_void_p,
    )
    display = get_display(_PLATFORM_DEVICE, device, None) if get_display is not None else None
    egl.eglInitialize.argtypes = [ctypes.c_void_p] * 3
    return bool(display and egl.eglInitialize(display, None, None))
