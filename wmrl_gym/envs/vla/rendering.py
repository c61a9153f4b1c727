"""Frames of MuJoCo models, drawn off screen.

Everything is lazy: a `Renderer` can be made anywhere, pickled and sent to a worker, and
opens OpenGL at its first frame. A process has one context of OpenGL for all its renderers,
because contexts that come and go corrupt the frames of those that stay. It is current only
while a frame is drawn, so threads may take turns.

A process that was forked from one with a context is refused: Mesa would wait for threads
that did not survive the fork. Vector environments therefore need `context="forkserver"` or
`"spawn"`.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.envs.vla.gl_backends import find_gl_backend
from wmrl_gym.errors import RenderingUnavailableError

if TYPE_CHECKING:
    import mujoco

RENDER_PROFILES = ("faithful", "fast")
"""`"faithful"` draws what the model asks for; `"fast"` leaves out shadows, reflections and
multisampling, and draws curves with fewer edges.

In software `"fast"` is more than ten times as fast, and its pixels differ: never judge a
policy by frames of another profile than those that it was trained on.
"""

_LOG = logging.getLogger(__name__)
_FRAMES_BEFORE_REPORT = 10
_FAST_QUALITY = {"shadowsize": 0, "offsamples": 0, "numslices": 16, "numstacks": 8}
_MOST_GEOMS = 1000
_MOST_CANVASES = 16


class Renderer:
    """Draws the cameras of one or more models.

    Args:
        size: Height and width of the frames in pixels.
        profile: One of `RENDER_PROFILES`.

    Raises:
        ValueError: If an argument is out of its range.
    """

    def __init__(self, *, size: int = 256, profile: str = "faithful") -> None:
        if not 1 <= size <= 4096:
            raise ValueError(f"image_size={size} must lie in [1, 4096] pixels")
        if profile not in RENDER_PROFILES:
            raise ValueError(f"render_profile={profile!r} must be one of {RENDER_PROFILES}")
        self.size = size
        self.profile = profile
        self._canvases: dict[int, _Canvas] = {}

    def frame(
        self, model: mujoco.MjModel, data: mujoco.MjData, camera: str = "agentview"
    ) -> NDArray[np.uint8]:
        """Draw what a camera sees; neither the model nor the state is changed.

        Args:
            model: The model.
            data: Its state, after `mj_forward` or a step.
            camera: Name of a camera of the model.

        Returns:
            `[size, size, 3]` uint8, the top row first; a fresh array.

        Raises:
            RenderingUnavailableError: If no OpenGL works here, or this process was forked
                from one that has a context.
            ValueError: If the model has no such camera.
        """
        # A canvas keeps its model alive, so that the id stays its own.
        canvas = self._canvases.pop(id(model), None)
        if canvas is None:
            if len(self._canvases) == _MOST_CANVASES:
                self._canvases.pop(next(iter(self._canvases))).close()
            canvas = _Canvas(model, self.size, self.profile)
        self._canvases[id(model)] = canvas  # the latest one comes last
        return canvas.draw(data, camera)

    @property
    def gl_renderer(self) -> str:
        """What draws, such as `"llvmpipe (LLVM 15.0.6, 256 bits)"`; opens OpenGL."""
        return _process_context().gl_renderer

    def close(self) -> None:
        """Free what was made for the models; a later frame makes it anew."""
        for canvas in self._canvases.values():
            canvas.close()
        self._canvases.clear()

    def __getstate__(self) -> dict[str, Any]:
        # OpenGL belongs to its process: a copy opens its own.
        return {**self.__dict__, "_canvases": {}}


class _Canvas:
    """What OpenGL keeps for one model: its textures, and a buffer to draw on."""

    def __init__(self, model: mujoco.MjModel, size: int, profile: str) -> None:
        from wmrl_gym.envs.vla.physics import mujoco

        self._mujoco = mujoco
        self._model = model
        self._size = size
        self._context = _process_context()
        with self._context.current(), _quality(model, size, fast=profile == "fast"):
            resources = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50.value)
        self._resources = resources
        self._scene = mujoco.MjvScene(model, maxgeom=_MOST_GEOMS)
        if profile == "fast":
            self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0
            self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
        self._options = mujoco.MjvOption()
        self._rectangle = mujoco.MjrRect(0, 0, size, size)
        # An environment that nobody closed gives its buffers back all the same.
        self._free = weakref.finalize(self, _free, self._context, resources)
        self._free.atexit = False

    def draw(self, data: mujoco.MjData, camera: str) -> NDArray[np.uint8]:
        """`[size, size, 3]` what the camera sees."""
        mujoco = self._mujoco
        started = time.perf_counter()
        mujoco.mjv_updateScene(
            self._model,
            data,
            self._options,
            None,
            self._camera(camera),
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._scene,
        )
        upside_down = np.empty((self._size, self._size, 3), dtype=np.uint8)
        with self._context.current():
            # The context is shared: another model's buffer may be the one that is set.
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._resources)
            mujoco.mjr_render(self._rectangle, self._scene, self._resources)
            mujoco.mjr_readPixels(upside_down, None, self._rectangle, self._resources)
        self._context.report_speed(time.perf_counter() - started)
        return upside_down[::-1].copy()

    def close(self) -> None:
        """Free the buffers; safe to call twice."""
        self._free()

    def _camera(self, name: str) -> mujoco.MjvCamera:
        mujoco = self._mujoco
        index = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_CAMERA.value, name)
        if index == -1:
            known = [self._model.camera(i).name for i in range(self._model.ncam)]
            raise ValueError(f"camera={name!r} is not in the model, which has {known}")
        camera = mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        camera.fixedcamid = index
        return camera


@contextmanager
def _quality(model: mujoco.MjModel, size: int, *, fast: bool) -> Iterator[None]:
    """Set what MuJoCo reads when it makes its buffers, and set it back afterwards."""
    quality, shared = model.vis.quality, model.vis.global_
    wanted: list[tuple[Any, str, int]] = [(shared, "offwidth", size), (shared, "offheight", size)]
    if fast:
        wanted += [(quality, name, value) for name, value in _FAST_QUALITY.items()]
    before = [(part, name, getattr(part, name)) for part, name, _ in wanted]
    for part, name, value in wanted:
        setattr(part, name, value)
    try:
        yield
    finally:
        for part, name, value in before:
            setattr(part, name, value)


class _ProcessContext:
    """The context of OpenGL of this process."""

    def __init__(self) -> None:
        self._backend = find_gl_backend()
        self._module: Any = import_module(f"mujoco.{self._backend}")
        self._lock = threading.RLock()
        # The size is that of a buffer which nothing is drawn on: each model brings its own.
        self._context: Any = self._module.GLContext(16, 16)
        # Before the interpreter takes the modules apart that it needs for this.
        atexit.register(self._close)
        with self.current():
            gl = import_module("OpenGL.GL")
            self.gl_renderer: str = gl.glGetString(gl.GL_RENDERER).decode()
        self._frames = 0
        self._seconds = 0.0

    @contextmanager
    def current(self) -> Iterator[None]:
        """Use the context in this thread."""
        with self._lock:
            self._context.make_current()
            try:
                yield
            finally:
                self._release()

    @property
    def open(self) -> bool:
        """Whether the process is not ending yet."""
        return self._context is not None

    def _close(self) -> None:
        if not _inherited:
            self._context.free()
            self._context = None

    def _release(self) -> None:
        """Leave the context to other threads."""
        module = self._module
        if self._backend == "egl":
            egl = module.EGL
            egl.eglMakeCurrent(
                module.EGL_DISPLAY, egl.EGL_NO_SURFACE, egl.EGL_NO_SURFACE, egl.EGL_NO_CONTEXT
            )
        else:
            module.osmesa.OSMesaMakeCurrent(None, None, module.GL.GL_FLOAT, 0, 0)

    def report_speed(self, seconds: float) -> None:
        """Count a frame; log the speed once, as a warning where a processor does the drawing."""
        self._frames += 1
        self._seconds += seconds if self._frames > 1 else 0.0  # the first one compiles shaders
        if self._frames != _FRAMES_BEFORE_REPORT:
            return
        software = any(name in self.gl_renderer.lower() for name in ("llvmpipe", "softpipe"))
        _LOG.log(
            logging.WARNING if software else logging.INFO,
            "frames are drawn by %s (%s): %.1f ms each%s",
            self.gl_renderer,
            self._backend,
            1000 * self._seconds / (self._frames - 1),
            "; that is software, where render_profile='fast' takes the least" if software else "",
        )


_context: _ProcessContext | None = None
_inherited = False


def _process_context() -> _ProcessContext:
    """The context of this process, opened now if there is none."""
    global _context
    if _inherited:
        raise RenderingUnavailableError(
            "this process was forked from one that had opened OpenGL, where drawing would hang: "
            "make the vector environment with context='forkserver' or 'spawn'"
        )
    if _context is None:
        _context = _ProcessContext()
    return _context


def _free(context: _ProcessContext, resources: mujoco.MjrContext) -> None:
    if context.open and not _inherited:
        with context.current():
            resources.free()


def _note_fork() -> None:
    global _inherited
    others = getattr(sys.modules.get("mujoco.egl"), "EGL_DISPLAY", None)
    _inherited = _inherited or _context is not None or others is not None


os.register_at_fork(after_in_child=_note_fork)
