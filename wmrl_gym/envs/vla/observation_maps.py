"""Observations of `WMRL-VLA-v0` in the shapes that policies of the field expect.

Each map takes a batch: `image` (and `wrist_image`, where there is one) `[B, H, W, 3]` uint8,
`state` `[B, 8]` float32, `instruction` a sequence of `B` strings; what a vector environment
returns, or `batched([...])`. What is not said otherwise stays as it is: pixels uint8, the state
as position, axis-angle and two finger positions.

| map | pictures | state | text |
|---|---|---|---|
| `to_openvla` | 224, centre 90 % of the area | `proprio` | `prompt`, in OpenVLA's frame |
| `to_openpi` | 224 | `observation/state` | `prompt`; one dictionary for each episode |
| `to_lerobot` | channels first, float32 in [0, 1] | `observation.state` | `task` |
| `to_rlinf` | as they are | `states` | `task_descriptions` |
| `to_torchrl` | channels first | `("observation", "state")` | `"language_instruction"` |

Our pictures are upright. A policy that was trained on LIBERO's raw, upside-down ones needs
`rotation=180` in its map, or `image_rotation=180` in the environment, but not both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.errors import MissingDependencyError

Batch = Mapping[str, Any]
Pictures = NDArray[np.uint8]

_PICTURES = ("image", "wrist_image")


def batched(observations: Sequence[Batch]) -> dict[str, Any]:
    """One batch of several observations: arrays stacked, instructions in a list."""
    return {
        key: [one[key] for one in observations]
        if isinstance(value, str)
        else np.stack([one[key] for one in observations])
        for key, value in observations[0].items()
    }


def to_openvla(observations: Batch, *, size: int = 224, rotation: int = 0) -> dict[str, Any]:
    """For OpenVLA and OpenVLA-OFT: `image`, `wrist_image`, `proprio` and `prompt`.

    Pictures are cropped to the centre with 90 % of the area, as these models were trained with
    random crops of that size. The prompt asks for the action in the words of their training.

    Args:
        observations: A batch.
        size: Height and width that the model takes.
        rotation: 0 or 180 degrees.
    """
    shown = {
        key: resized(pictures, size, area=0.9) for key, pictures in _rotated(observations, rotation)
    }
    prompts = [
        f"In: What action should the robot take to {instruction.lower()}?\nOut:"
        for instruction in observations["instruction"]
    ]
    return {**shown, "proprio": observations["state"], "prompt": prompts}


def to_openpi(observations: Batch, *, size: int = 224, rotation: int = 0) -> list[dict[str, Any]]:
    """For openpi's policies and policy server, which take one observation at a time.

    Args:
        observations: A batch.
        size: Height and width that the model takes.
        rotation: 0 or 180 degrees.
    """
    shown = {
        f"observation/{key}": resized(pictures, size)
        for key, pictures in _rotated(observations, rotation)
    }
    return [
        {
            **{key: pictures[index] for key, pictures in shown.items()},
            "observation/state": observations["state"][index],
            "prompt": instruction,
        }
        for index, instruction in enumerate(observations["instruction"])
    ]


def to_lerobot(observations: Batch, *, rotation: int = 0) -> dict[str, Any]:
    """For lerobot's policies: `observation.images.image`, `.image2`, `.state`, and `task`.

    Arrays, which `torch.from_numpy` turns into tensors without a copy; the policy's own
    processor resizes them.

    Args:
        observations: A batch.
        rotation: 0 or 180 degrees.
    """
    names = dict(zip(_PICTURES, ("image", "image2"), strict=True))
    shown = {
        f"observation.images.{names[key]}": _channels_first(pictures) / np.float32(255)
        for key, pictures in _rotated(observations, rotation)
    }
    return {
        **shown,
        "observation.state": observations["state"],
        "task": list(observations["instruction"]),
    }


def to_rlinf(observations: Batch, *, rotation: int = 0) -> dict[str, Any]:
    """For RLinf: `main_images`, `wrist_images` (`None` without one), `states`, `task_descriptions`.

    Args:
        observations: A batch.
        rotation: 0 or 180 degrees.
    """
    shown = dict(_rotated(observations, rotation))
    return {
        "main_images": shown["image"],
        "wrist_images": shown.get("wrist_image"),
        "states": observations["state"],
        "task_descriptions": list(observations["instruction"]),
    }


def to_torchrl(observations: Batch, *, rotation: int = 0) -> dict[Any, Any]:
    """For torchrl's recipes for such policies; the keys of a `TensorDict`, nested ones as tuples.

    Args:
        observations: A batch.
        rotation: 0 or 180 degrees.
    """
    shown = {
        ("observation", key): _channels_first(pictures)
        for key, pictures in _rotated(observations, rotation)
    }
    return {
        **shown,
        ("observation", "state"): observations["state"],
        "language_instruction": list(observations["instruction"]),
    }


def resized(pictures: Pictures, size: int, *, area: float = 1.0) -> Pictures:
    """Pictures of another size, by bilinear interpolation over as many pixels as needed.

    Args:
        pictures: `[B, H, W, 3]`.
        size: Height and width of the result.
        area: Share of the area to keep, around the centre, in (0, 1].

    Returns:
        `[B, size, size, 3]`; the same array if nothing changes.

    Raises:
        ValueError: If `pictures` are not square, since the field's policies take square ones.
    """
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "resizing pictures needs pillow: pip install 'wmrl-gym[vla]'"
        ) from error
    height, width = pictures.shape[1:3]
    if height != width:
        raise ValueError(f"pictures of {height} x {width} pixels must be square")
    if height == size and area == 1.0:
        return pictures
    margin = width * (1 - area**0.5) / 2
    box = (margin, margin, width - margin, width - margin)
    bilinear = Image.Resampling.BILINEAR
    return np.stack(
        [np.asarray(Image.fromarray(one).resize((size, size), bilinear, box)) for one in pictures]
    )


def _rotated(observations: Batch, rotation: int) -> list[tuple[str, Pictures]]:
    """The pictures that there are, by key."""
    if rotation not in (0, 180):
        raise ValueError(f"rotation={rotation} must be 0 or 180 degrees")
    if "image" not in observations:
        raise ValueError(
            f"observations have {sorted(observations)} but no image: use WMRL-VLA-v0, not the "
            "state-based twin"
        )
    present = [(key, np.asarray(observations[key])) for key in _PICTURES if key in observations]
    if rotation == 0:
        return present
    return [(key, np.ascontiguousarray(pictures[:, ::-1, ::-1])) for key, pictures in present]


def _channels_first(pictures: Pictures) -> Pictures:
    return np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))
