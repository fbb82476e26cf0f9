"""Video files as frames: presentation times, early ends, corrupt stretches."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from edgekit.errors import SourceError
from edgekit.runtime.sources import open_source
from edgekit.runtime.sources.video import VideoSource

FRAMES = 60


def write_video(path: Path, *, codec: str = "mpeg4", times_ms: list[int] | None = None, gop: int = 12) -> None:
    """Frames of a moving ramp; frame n has brightness 2n + 40 in its upper left corner."""
    clock = Fraction(1, 1000) if times_ms else Fraction(1, 30)
    times = times_ms or list(range(FRAMES))
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=30)
        stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
        stream.codec_context.time_base = clock
        stream.codec_context.gop_size = gop
        for number, ticks in enumerate(times):
            image = np.tile((np.arange(160) * 3 + number * 7) % 200, (96, 1)).astype(np.uint8)
            image = np.repeat(image[:, :, None], 3, axis=2)
            image[:32, :32] = 2 * number + 40
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts, frame.time_base = ticks, clock
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".avi"])
def test_every_frame_in_order(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"row{suffix}"
    write_video(path)
    source = open_source(path)
    frames = list(source)
    assert source.faults == ()
    assert len(frames) == FRAMES
    assert [frame.sequence for frame in frames] == list(range(FRAMES))
    assert [round(float(frame.image[:24, :24].mean())) for frame in frames] == pytest.approx(
        [2 * number + 40 for number in range(FRAMES)], abs=4
    )
    assert [frame.time_s for frame in source] == [frame.time_s for frame in frames]


def test_presentation_times_of_a_variable_rate(tmp_path: Path) -> None:
    path = tmp_path / "vfr.mkv"
    times = np.cumsum([0] + [33, 100] * 20).tolist()
    write_video(path, times_ms=times)
    intervals = np.diff([frame.time_s for frame in open_source(path)])
    assert np.allclose(intervals, [0.033, 0.1] * 20, atol=0.002)


@pytest.mark.parametrize("suffix", [".avi", ".mkv"])
def test_a_file_that_ends_early_gives_what_it_has(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cut{suffix}"
    write_video(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(0.6 * len(data))])
    source = open_source(path)
    frames = list(source)
    assert 15 <= len(frames) < FRAMES
    assert any("ended early" in line or "cannot be read further" in line for line in source.faults)


def test_an_mp4_without_its_index_is_refused_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "cut.mp4"
    write_video(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(0.6 * len(data))])
    with pytest.raises(SourceError, match="MKV"):
        open_source(path)


def test_a_corrupt_stretch_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "bad.mkv"
    write_video(path)
    data = bytearray(path.read_bytes())
    middle = slice(int(0.45 * len(data)), int(0.5 * len(data)))
    data[middle] = bytes(np.random.default_rng(0).integers(0, 255, middle.stop - middle.start, np.uint8))
    path.write_bytes(bytes(data))
    source = open_source(path)
    frames = list(source)
    assert frames[-1].time_s == pytest.approx(59 / 30, abs=0.04)
    assert len(frames) > 40
    assert source.faults or any(frame.fault for frame in frames)


def test_a_file_without_pictures_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sound.wav"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(SourceError, match="no video"):
        VideoSource(path)


def test_rows_are_read_by_their_stride(tmp_path: Path) -> None:
    """A width that decoders pad: no green strip, no skew."""
    path = tmp_path / "odd.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=30)
        stream.width, stream.height, stream.pix_fmt = 198, 106, "bgr0"
        image = np.random.default_rng(0).integers(0, 255, (106, 198, 3), np.uint8)
        container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    (frame,) = open_source(path)
    assert np.array_equal(frame.image, image)
