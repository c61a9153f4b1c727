"""Frames to MP4 or GIF, with the instruction written below them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.errors import MissingDependencyError

Frames = NDArray[np.uint8]

FRAMES_PER_SECOND = 20
"""The rate of control: videos play in real time."""
_FORMATS = (".mp4", ".gif")
_STRIP = 22


def write_video(
    path: str | Path, frames: Frames | Sequence[Frames], *, fps: float = FRAMES_PER_SECOND
) -> Path:
    """Write frames to an `.mp4` (H.264) or an endless `.gif`; missing directories are made.

    Args:
        path: The file; what is there is overwritten.
        frames: `[T, H, W, 3]` uint8, at least one. MP4 needs even sides: an odd one is padded
            by a black line.
        fps: Frames per second; GIF rounds the time of a frame to whole hundredths of a second.

    Returns:
        The path.

    Raises:
        ValueError: If the ending, the frames or `fps` are unusable.
    """
    path, video = Path(path), np.asarray(frames)
    if path.suffix.lower() not in _FORMATS:
        raise ValueError(f"path={path} must end in one of {', '.join(_FORMATS)}")
    if video.ndim != 4 or video.shape[-1] != 3 or len(video) == 0 or video.dtype != np.uint8:
        raise ValueError(
            f"frames of shape {video.shape} and type {video.dtype} must be [T, H, W, 3] uint8 with "
            "at least one frame"
        )
    if not fps > 0:
        raise ValueError(f"fps={fps} must be above 0")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".gif":
        _write_gif(path, video, fps)
    else:
        _write_mp4(path, video, fps)
    return path


def captioned(frames: Frames | Sequence[Frames], caption: str) -> Frames:
    """Frames with a line of text below them, cut where it does not fit.

    Args:
        frames: `[T, H, W, 3]` uint8.
        caption: The text.

    Returns:
        `[T, H + 22, W, 3]` uint8.
    """
    image, draw, font = _pillow("Image"), _pillow("ImageDraw"), _pillow("ImageFont")
    video = np.asarray(frames)
    strip = image.new("RGB", (video.shape[2], _STRIP), "white")
    draw.Draw(strip).text((5, 4), caption, fill="black", font=font.load_default(size=12))
    below = np.broadcast_to(np.asarray(strip), (len(video), *np.asarray(strip).shape))
    return np.concatenate([video, below], axis=1)


def _write_mp4(path: Path, video: Frames, fps: float) -> None:
    try:
        from imageio_ffmpeg import write_frames
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "videos need imageio-ffmpeg: pip install 'wmrl-gym[vla]'"
        ) from error
    odd = [(0, 0), (0, video.shape[1] % 2), (0, video.shape[2] % 2), (0, 0)]
    video = np.pad(video, odd)
    size = video.shape[2], video.shape[1]
    # No console of ours: ffmpeg says something only if it fails.
    writer = write_frames(
        str(path), size, fps=fps, macro_block_size=1, quality=7, ffmpeg_log_level="error"
    )
    writer.send(None)
    for frame in video:
        writer.send(np.ascontiguousarray(frame))
    writer.close()


def _write_gif(path: Path, video: Frames, fps: float) -> None:
    image = _pillow("Image")
    first, *others = [image.fromarray(frame) for frame in video]
    duration = round(1000 / fps)
    first.save(path, save_all=True, append_images=others, duration=duration, loop=0)


def _pillow(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"PIL.{module}")
    except ModuleNotFoundError as error:
        raise MissingDependencyError("pictures need pillow: pip install 'wmrl-gym[vla]'") from error
