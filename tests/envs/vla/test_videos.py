from __future__ import annotations

import subprocess
from pathlib import Path

import imageio.v3 as iio
import imageio_ffmpeg
import numpy as np
import pytest

from wmrl_gym.envs.vla.videos import captioned, write_video


def frames(count: int = 5, height: int = 33, width: int = 47) -> np.ndarray:
    """A white square that moves to the right on red."""
    video = np.zeros((count, height, width, 3), dtype=np.uint8)
    video[..., 0] = 200
    for index in range(count):
        video[index, 8:24, 4 * index : 4 * index + 16] = 255
    return video


def read(path: Path, height: int, width: int) -> np.ndarray:
    if path.suffix == ".gif":
        return iio.imread(path, index=None)
    # Not imageio, whose reader leaves its pipes open.
    decode = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo"]
    raw = subprocess.run([*decode, "-pix_fmt", "rgb24", "-"], capture_output=True, check=True)
    return np.frombuffer(raw.stdout, np.uint8).reshape(-1, height, width, 3)


@pytest.mark.parametrize("name", ["a.mp4", "new/b.gif", "c.MP4"])
def test_what_is_written_can_be_read(tmp_path: Path, name: str) -> None:
    path = write_video(tmp_path / name, frames(), fps=10)
    assert path == tmp_path / name
    video = read(path, 34, 48)[:, :33, :47]
    assert len(video) == 5
    assert np.abs(video.astype(int) - frames()).mean() < 12  # both lose a little


def test_time_is_kept(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", frames(20), fps=10)
    assert imageio_ffmpeg.count_frames_and_secs(str(path)) == (20, pytest.approx(2.0, abs=0.05))
    path = write_video(tmp_path / "a.gif", list(frames(2)), fps=20)
    assert iio.immeta(path)["duration"] == 50  # milliseconds of a frame


def test_a_caption_goes_below() -> None:
    video = frames(2, 40, 120)
    shown = captioned(video, "push the cube")
    assert shown.shape == (2, 62, 120, 3)
    np.testing.assert_array_equal(shown[:, :40], video)
    assert 0 < (shown[0, 40:] < 128).all(axis=-1).mean() < 0.3  # dark letters on white
    np.testing.assert_array_equal(shown[0, 40:], shown[1, 40:])


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in one of .mp4, .gif"):
        write_video(tmp_path / "a.avi", frames())
    with pytest.raises(ValueError, match=r"shape \(0,\).*at least one frame"):
        write_video(tmp_path / "a.gif", [])
    with pytest.raises(ValueError, match="type float64 must be"):
        write_video(tmp_path / "a.gif", frames().astype(float))
    with pytest.raises(ValueError, match="fps=0 must be above 0"):
        write_video(tmp_path / "a.mp4", frames(), fps=0)
