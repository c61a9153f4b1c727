from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wmrl_gym.envs.vla.observation_maps import (
    batched,
    resized,
    to_lerobot,
    to_openpi,
    to_openvla,
    to_rlinf,
    to_torchrl,
)
from wmrl_gym.envs.vla.pixel_env import VLAEnv

MAPS = (to_openvla, to_openpi, to_lerobot, to_rlinf, to_torchrl)


def batch(size: int = 4) -> dict[str, Any]:
    """Two observations whose pixels all differ."""
    pixels = np.arange(2 * size * size * 3, dtype=np.uint8).reshape(2, size, size, 3)
    return {
        "image": pixels,
        "wrist_image": 255 - pixels,
        "state": np.arange(16, dtype=np.float32).reshape(2, 8),
        "instruction": ["Push the Cube", "open it"],
    }


def test_openvla() -> None:
    given = batch(224)
    mapped = to_openvla(given, size=224)
    assert set(mapped) == {"image", "wrist_image", "proprio", "prompt"}
    assert mapped["image"].shape == (2, 224, 224, 3)
    assert mapped["prompt"] == [
        "In: What action should the robot take to push the cube?\nOut:",
        "In: What action should the robot take to open it?\nOut:",
    ]
    np.testing.assert_array_equal(mapped["proprio"], given["state"])


def test_the_crop_keeps_nine_tenths_of_the_area_around_the_centre() -> None:
    # A ramp of one grey level for each column: the picture's columns say where they come from.
    ramp = np.broadcast_to(np.arange(200, dtype=np.uint8)[None, None, :, None], (1, 200, 200, 3))
    observations = {"image": ramp, "state": np.zeros((1, 8)), "instruction": [""]}
    columns = to_openvla(observations, size=200)["image"][0, 0, :, 0].astype(float)
    side = 200 * 0.9**0.5  # 189.74: from 5.13 to 194.87
    expected = (100 - side / 2) + (np.arange(200) + 0.5) * side / 200 - 0.5
    np.testing.assert_allclose(columns, expected, atol=0.51)  # whole grey levels


def test_openpi_takes_one_at_a_time() -> None:
    given = batch()
    first, second = to_openpi(given, size=4)
    assert set(first) == {
        "observation/image",
        "observation/wrist_image",
        "observation/state",
        "prompt",
    }
    np.testing.assert_array_equal(second["observation/image"], given["image"][1])
    np.testing.assert_array_equal(second["observation/wrist_image"], given["wrist_image"][1])
    np.testing.assert_array_equal(first["observation/state"], np.arange(8))
    assert (first["prompt"], second["prompt"]) == ("Push the Cube", "open it")
    assert to_openpi(batch(8))[0]["observation/image"].shape == (224, 224, 3)


def test_lerobot_has_channels_first_and_fractions() -> None:
    given = batch()
    mapped = to_lerobot(given)
    assert set(mapped) == {
        "observation.images.image",
        "observation.images.image2",
        "observation.state",
        "task",
    }
    picture = mapped["observation.images.image"]
    assert picture.dtype == np.float32
    assert picture.shape == (2, 3, 4, 4)
    assert picture[1, 2, 3, 0] == np.float32(given["image"][1, 3, 0, 2]) / np.float32(255)
    assert mapped["task"] == ["Push the Cube", "open it"]


def test_rlinf_and_torchrl() -> None:
    given = batch()
    mapped = to_rlinf(given)
    np.testing.assert_array_equal(mapped["main_images"], given["image"])
    np.testing.assert_array_equal(mapped["wrist_images"], given["wrist_image"])
    np.testing.assert_array_equal(mapped["states"], given["state"])
    assert mapped["task_descriptions"] == ["Push the Cube", "open it"]
    tensors = to_torchrl(given)
    picture = tensors["observation", "image"]
    assert picture.dtype == np.uint8
    np.testing.assert_array_equal(picture.transpose(0, 2, 3, 1), given["image"])
    np.testing.assert_array_equal(tensors["observation", "state"], given["state"])
    assert tensors["language_instruction"] == ["Push the Cube", "open it"]


def test_rotation() -> None:
    given = batch()
    turned = to_rlinf(given, rotation=180)["main_images"]
    np.testing.assert_array_equal(turned[0, 0, 0], given["image"][0, 3, 3])
    np.testing.assert_array_equal(turned, given["image"][:, ::-1, ::-1])
    with pytest.raises(ValueError, match="rotation=90 must be 0 or 180"):
        to_rlinf(given, rotation=90)


def test_without_a_wrist_camera() -> None:
    given = batch()
    del given["wrist_image"]
    assert to_rlinf(given)["wrist_images"] is None
    assert "observation.images.image2" not in to_lerobot(given)
    assert "wrist_image" not in to_openvla(given, size=4)


@pytest.mark.parametrize("mapped", MAPS)
def test_states_alone_are_refused(mapped: Any) -> None:
    with pytest.raises(ValueError, match=r"have \['instruction', 'state'\] but no image"):
        mapped({"state": np.zeros((1, 8)), "instruction": ["x"]})


def test_resizing_halves_by_a_weighted_mean() -> None:
    # Bilinear with support of two source pixels on each side: weights 1, 3, 3, 1 of 8 inside.
    columns = np.array([0, 0, 0, 80, 80, 80, 80, 80], dtype=np.uint8)
    picture = np.broadcast_to(columns[None, None, :, None], (1, 8, 8, 3))
    half = resized(picture, 4)
    # Second column: centred between columns 2 and 3; (1*0 + 3*0 + 3*80 + 1*80) / 8.
    assert half[0, 0, :, 0].tolist()[1] == 40
    assert half[0, 0, :, 0].tolist()[3] == 80
    assert resized(picture, 8) is picture
    with pytest.raises(ValueError, match="4 x 6 pixels must be square"):
        resized(np.zeros((1, 4, 6, 3), np.uint8), 4)


def test_observations_of_the_environment_fit() -> None:
    env = VLAEnv(task="push", image_size=32, render_profile="fast")
    given = batched([env.reset(seed=seed)[0] for seed in range(3)])
    assert given["image"].shape == (3, 32, 32, 3)
    assert given["state"].dtype == np.float32
    for mapped in MAPS:
        assert len(mapped(given)) > 0
    assert to_openvla(given)["image"].shape == (3, 224, 224, 3)
