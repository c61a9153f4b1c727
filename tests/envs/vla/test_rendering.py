from __future__ import annotations

import pickle
import threading

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.envs.vla.gl_process import python
from tests.envs.vla.scenes import scene
from wmrl_gym.envs.vla.rendering import Renderer
from wmrl_gym.envs.vla.simulation import Simulation

FAST = {"size": 64, "profile": "fast"}


@pytest.fixture(scope="module")
def reach() -> Simulation:
    simulation = scene("reach", 3)
    simulation.refresh_cameras()
    return simulation


def frame(
    renderer: Renderer, simulation: Simulation, camera: str = "agentview"
) -> NDArray[np.uint8]:
    return renderer.frame(simulation.model, simulation.data, camera)


def shows_something(picture: NDArray[np.uint8]) -> bool:
    """Whether a picture is neither one colour nor (nearly) black or white all over."""
    return bool(picture.std() > 10 and 30 < picture.mean() < 240)


@pytest.mark.parametrize("profile", ["faithful", "fast"])
@pytest.mark.parametrize("camera", ["agentview", "wrist"])
def test_frames_show_the_scene(reach: Simulation, profile: str, camera: str) -> None:
    picture = frame(Renderer(size=64, profile=profile), reach, camera)
    assert picture.shape == (64, 64, 3)
    assert picture.dtype == np.uint8
    assert shows_something(picture)


def test_the_top_row_is_the_sky_and_the_bottom_the_table(reach: Simulation) -> None:
    picture = frame(Renderer(**FAST), reach).astype(int)
    top, bottom = picture[0, 0], picture[-1, 0]
    assert top[2] > top[0]  # blue
    assert bottom[0] > bottom[2]  # wood


def test_a_target_is_painted_in_its_colour() -> None:
    for number in range(30):
        simulation = scene("reach", number)
        if "red" in simulation.instruction:
            break
    simulation.refresh_cameras()
    picture = frame(Renderer(size=128, profile="fast"), simulation).astype(int)
    red = (picture[..., 0] > 80) & (picture[..., 1:].max(axis=-1) * 3 < picture[..., 0])
    assert red.sum() > 20


def test_profiles_differ_by_the_shadows(reach: Simulation) -> None:
    faithful, fast = frame(Renderer(size=64), reach), frame(Renderer(**FAST), reach)
    darker = faithful.astype(int).sum(axis=-1) < fast.astype(int).sum(axis=-1) - 100
    assert darker.mean() > 0.01


def test_the_same_state_gives_the_same_frame_and_stays_as_it_is(reach: Simulation) -> None:
    before = reach.physics_state()
    one, other = frame(Renderer(**FAST), reach), frame(Renderer(**FAST), reach)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(reach.physics_state(), before)


def test_the_model_keeps_its_own_quality(reach: Simulation) -> None:
    def quality() -> tuple[int, ...]:
        own, shared = reach.model.vis.quality, reach.model.vis.global_
        return own.shadowsize, own.offsamples, own.numslices, shared.offwidth, shared.offheight

    before = quality()
    frame(Renderer(**FAST), reach)
    assert quality() == before
    assert before[0] > 0


def test_a_renderer_that_goes_leaves_the_frames_of_others_alone(reach: Simulation) -> None:
    # Contexts that are collected while others live used to corrupt frames without an error.
    stays = Renderer(**FAST)
    expected = frame(stays, reach)
    for close in (True, False):
        goes = Renderer(size=96)
        frame(goes, reach)
        if close:
            goes.close()
            goes.close()
        del goes
        np.testing.assert_array_equal(frame(stays, reach), expected)


def test_after_close_a_frame_opens_it_again(reach: Simulation) -> None:
    renderer = Renderer(**FAST)
    expected = frame(renderer, reach)
    renderer.close()
    np.testing.assert_array_equal(frame(renderer, reach), expected)


def test_models_take_turns() -> None:
    scenes = [scene(task) for task in ("reach", "push", "stack")]
    renderer = Renderer(**FAST)
    for simulation in scenes:
        simulation.refresh_cameras()
    first = [frame(renderer, simulation) for simulation in scenes]
    for simulation, expected in zip(reversed(scenes), reversed(first), strict=True):
        np.testing.assert_array_equal(frame(renderer, simulation), expected)
    assert not np.array_equal(first[0], first[1])


def test_buffers_of_many_models_do_not_pile_up() -> None:
    xml = '<mujoco><worldbody><geom size=".1"/><camera name="agentview"/></worldbody></mujoco>'
    renderer = Renderer(size=8, profile="fast")
    for _ in range(40):
        model = mujoco.MjModel.from_xml_string(xml)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        renderer.frame(model, data)
    assert len(renderer._canvases) <= 16


def test_threads_take_turns(reach: Simulation) -> None:
    renderer = Renderer(**FAST)
    expected = frame(renderer, reach)
    drawn: list[NDArray[np.uint8]] = []
    threads = [
        threading.Thread(target=lambda: drawn.append(frame(renderer, reach))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
        thread.join()
    assert len(drawn) == 3
    for picture in drawn:
        np.testing.assert_array_equal(picture, expected)


def test_a_copy_opens_its_own(reach: Simulation) -> None:
    renderer = Renderer(**FAST)
    expected = frame(renderer, reach)
    copy = pickle.loads(pickle.dumps(renderer))
    assert (copy.size, copy.profile) == (64, "fast")
    np.testing.assert_array_equal(frame(copy, reach), expected)


def test_bad_arguments(reach: Simulation) -> None:
    with pytest.raises(ValueError, match="image_size=0 must lie in"):
        Renderer(size=0)
    with pytest.raises(ValueError, match="render_profile='nice' must be one of"):
        Renderer(profile="nice")
    with pytest.raises(ValueError, match=r"camera='top' is not in the model.*'agentview', 'wrist'"):
        frame(Renderer(**FAST), reach, "top")


def test_software_is_reported_once() -> None:
    done = python(
        """
renderers = [Renderer(size=16), Renderer(size=16, profile="fast")]
model, data = scene()
for _ in range(15):
    for renderer in renderers:
        renderer.frame(model, data)
assert "llvmpipe" in renderers[0].gl_renderer
""",
        # The machine may have a card: this driver is Mesa's, which then draws in software.
        LIBGL_ALWAYS_SOFTWARE="1",
        MUJOCO_GL="osmesa",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("frames are drawn by llvmpipe") == 1
    assert "ms each; that is software" in done.stderr


def test_a_process_that_closed_nothing_ends_quietly() -> None:
    done = python(
        "model, data = scene()\nrenderer = Renderer(size=16)\nrenderer.frame(model, data)"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_forked_process_is_refused_instead_of_hanging() -> None:
    done = python(
        """
import os
from wmrl_gym.errors import RenderingUnavailableError
model, data = scene()
Renderer(size=16).frame(model, data)
child = os.fork()
if child == 0:
    try:
        Renderer(size=16).frame(model, data)
    except RenderingUnavailableError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
Renderer(size=16).frame(model, data)
"""
    )
    assert done.returncode == 0, done.stderr
    assert "forked from one that had opened OpenGL" in done.stdout
    assert "context='forkserver' or 'spawn'" in done.stdout


def test_a_fork_before_the_first_frame_is_fine() -> None:
    done = python(
        """
import os
model, data = scene()
renderer = Renderer(size=16)
child = os.fork()
if child == 0:
    print(renderer.frame(model, data).shape, flush=True)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    )
    assert (done.returncode, done.stdout) == (0, "(16, 16, 3)\n"), done.stderr
