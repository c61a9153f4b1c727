"""Images, cut into patches, or made small.

What is random here comes from a generator whose stream is frozen for ever, seeded with the bytes of
an image that no script can read: nobody who has the noisy patches can draw the noise again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Image = NDArray[np.float64]
"""`[H, W]` grey levels from 0 to 255."""

_NOISE = 25.0
"""Standard deviation of the noise, in grey levels."""


def mnist(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Digits of 28 x 28 pixels, made small to 14 x 14 by the mean of four."""
    cells = pd.read_csv(paths[0], header=None).to_numpy(dtype=float)  # whole numbers: exact
    small = np.stack([_halved(image) for image in cells[:, :-1].reshape(-1, 28, 28)])
    return _columns(small, "pixel").assign(digit=cells[:, -1].astype(int))


def denoising(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Patches of 8 x 8 noisy pixels, and the 4 x 4 clean ones in their middle."""
    clean = np.concatenate([_patches(_grey(path), 8) for path in paths])
    noise = _random(paths).normal(0, _NOISE, clean.shape)
    noisy = np.clip(np.rint(clean + noise), 0, 255)
    middle = clean[:, 2:6, 2:6]
    return pd.concat([_columns(noisy, "noisy"), _columns(middle, "clean")], axis="columns")


def super_resolution(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Patches of 6 x 6 pixels, each the mean of four, and what that mean hides in their middle."""
    fine = np.concatenate([_patches(_grey(path), 12) for path in paths])
    coarse = np.stack([_halved(patch) for patch in fine])
    # As differences, since the fine pixels themselves are all but told by the coarse ones.
    detail = fine[:, 4:8, 4:8] - coarse[:, 2:4, 2:4].repeat(2, axis=1).repeat(2, axis=2)
    return pd.concat([_columns(coarse, "coarse"), _columns(detail, "detail")], axis="columns")


def textures(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Patches of 12 x 12 pixels less their mean, and the name of the photograph."""
    parts = []
    for path in paths:
        patches = _patches(_grey(path), 12)
        level = np.rint(patches - patches.mean(axis=(1, 2), keepdims=True))
        parts.append(_columns(level, "pixel").assign(texture=path.stem))
    return pd.concat(parts, ignore_index=True)


def _grey(path: Path) -> Image:
    from PIL import Image as pillow

    with pillow.open(path) as image:
        return np.asarray(image.convert("L"), dtype=float)


def _patches(image: Image, size: int) -> Image:
    """`[N, size, size]` patches that do not overlap."""
    rows, columns = (side // size for side in image.shape)
    cut = image[: rows * size, : columns * size].reshape(rows, size, columns, size)
    patches: Image = cut.swapaxes(1, 2).reshape(-1, size, size)
    return patches


def _halved(image: Image) -> Image:
    """Half as high and wide; each pixel is the rounded mean of four."""
    height, width = image.shape
    halved: Image = np.rint(image.reshape(height // 2, 2, width // 2, 2).mean(axis=(1, 3)))
    return halved


def _columns(images: Image, name: str) -> pd.DataFrame:
    """One row for an image, one column for a pixel: `<name>_<row>_<column>`."""
    _, height, width = images.shape
    names = [f"{name}_{row}_{column}" for row in range(height) for column in range(width)]
    return pd.DataFrame(images.reshape(len(images), -1).astype(int), columns=names)


def _random(paths: tuple[Path, ...]) -> np.random.RandomState:
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).digest()
    # Generator's streams may change with numpy's version; those of this class never do.
    return np.random.RandomState(np.frombuffer(digest, dtype="<u4"))
