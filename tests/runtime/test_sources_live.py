"""Cameras that run: newest frames, plugs that are pulled, pictures that freeze. Every one is a real process."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import time
import wave
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np
import psutil
import pytest

from edgekit.contracts import Frame, FrameSource
from edgekit.errors import MissingDependencyError, SettingsError, SourceError
from edgekit.runtime.sources import CameraDescription, LiveSettings, LiveSource, open_camera, open_source
from edgekit.runtime.sources.description import has_an_end
from edgekit.runtime.sources.feed import Feed
from edgekit.runtime.sources.frame_pool import FramePool
from edgekit.runtime.sources.framing import HeaderFraming, RawFraming
from edgekit.settings_file import read_settings

HASTY = LiveSettings(stall_s=2.0, start_s=60.0, first_pause_s=0.1, longest_pause_s=0.4, give_up_s=120.0)

CAMERA = """
import sys, time
import numpy as np
from edgekit.runtime.sources.framing import packed
def show(number, rate=50):
    image = np.full((24, 32, 3), number % 251, np.uint8)
    sys.stdout.buffer.write(packed(image)); sys.stdout.buffer.flush(); time.sleep(1 / rate)
"""


def camera(
    tmp_path: Path, *bodies: str, settings: LiveSettings = HASTY, told: Callable[[str], None] | None = None
) -> LiveSource:
    """A camera whose first process runs the first body, the next the second, and so on; the last is repeated."""
    starts = iter(range(1000))

    def start() -> Feed:
        body = bodies[min(next(starts), len(bodies) - 1)]
        script = tmp_path / "camera.py"
        script.write_text(CAMERA + textwrap.dedent(body))
        return Feed([sys.executable, str(script)], HeaderFraming(FramePool(2)))

    return LiveSource("test camera", start, settings=settings, told=told)


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    threads = threading.active_count()
    yield
    deadline = time.monotonic() + 5
    while (psutil.Process().children() or threading.active_count() > threads) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.Process().children()
    assert threading.active_count() <= threads


def some(source: LiveSource, count: int) -> list[Frame]:
    frames = []
    for frame in source:
        frames.append(frame)
        if len(frames) == count:
            break
    source.close()
    return frames


def test_frames_come_and_a_slow_reader_gets_the_newest(tmp_path: Path) -> None:
    source = camera(tmp_path, "for n in range(100000): show(n)")
    assert isinstance(source, FrameSource)
    lags = []
    for number, frame in enumerate(source):
        lags.append(time.monotonic() - frame.time_s)
        time.sleep(0.1)
        if number == 15:
            break
    source.close()
    assert max(lags) < 1.0
    assert source.dropped > 15
    assert "were dropped" in source.faults[-1]
    source.close()


def test_numbers_tell_of_the_gap(tmp_path: Path) -> None:
    numbers = []
    source = camera(tmp_path, "for n in range(100000): show(n)")
    for frame in source:
        numbers.append(frame.sequence)
        time.sleep(0.12)
        if len(numbers) == 6:
            break
    source.close()
    assert source.dropped == numbers[-1] + 1 - len(numbers)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("time.sleep(60)", "no frame in time"),
        ("while True: show(9)", "bit for bit"),
        ("sys.stderr.write('unplugged'); sys.exit(1)", "unplugged"),
        ("sys.stdout.buffer.write(b'x' * 5000); sys.stdout.buffer.flush(); time.sleep(60)", "the stream ended"),
    ],
)
def test_an_outage_is_noticed_and_the_stream_goes_on(tmp_path: Path, trouble: str, words: str) -> None:
    source = camera(tmp_path, f"for n in range(10): show(n)\n{trouble}", "for n in range(100000): show(n)")
    frames = some(source, 40)
    assert len(frames) == 40
    numbers = [frame.sequence for frame in frames]
    assert numbers == sorted(set(numbers))
    assert any(words in line for line in source.faults), source.faults


def test_a_camera_that_never_comes_is_given_up(tmp_path: Path) -> None:
    settings = LiveSettings(first_pause_s=0.05, longest_pause_s=0.1, give_up_s=2.0)
    source = camera(tmp_path, "sys.stderr.write('no such device'); sys.exit(1)", settings=settings)
    with pytest.raises(SourceError, match="no such device"):
        list(source)
    assert len(source.faults) == 1


def test_a_camera_that_never_came_is_given_up_sooner_than_one_that_went_away(tmp_path: Path) -> None:
    never = LiveSettings(first_pause_s=0.05, longest_pause_s=0.1, never_s=1.0)
    with pytest.raises(SourceError, match="gave no frame"):
        list(camera(tmp_path, "sys.exit(1)", settings=never))
    again = camera(tmp_path, "show(1); time.sleep(0.2); sys.exit(1)", "for n in range(9): show(n)", settings=never)
    assert len(some(again, 5)) == 5


def test_a_stream_with_an_end_ends(tmp_path: Path) -> None:
    settings = LiveSettings(may_end=True, start_s=60.0)
    source = camera(tmp_path, "for n in range(20): show(n, 20)", settings=settings)
    frames = list(source)
    assert frames[-1].image[0, 0, 0] == 19
    assert not any("ended" in line for line in source.faults)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 0.0, -1.0])
def test_what_is_no_time_does_not_end_a_row(tmp_path: Path, seconds: float) -> None:
    with pytest.raises(SettingsError, match="no time"):
        camera(tmp_path, "show(1)").end_after(seconds)


def test_a_camera_that_comes_again_is_told_when_it_does(tmp_path: Path) -> None:
    told: list[str] = []
    source = camera(tmp_path, "show(1); show(2); sys.exit(1)", "for n in range(9): show(n)", told=told.append)
    some(source, 6)
    assert any("test camera: the stream ended; started again" in line for line in told)


@pytest.mark.parametrize(
    ("description", "ends"),
    [
        ({"kind": "gstreamer", "pipeline": "filesrc location=row.mp4 ! decodebin ! videoconvert"}, True),
        ({"kind": "gstreamer", "pipeline": "uridecodebin uri=file:///row.mp4"}, True),
        ({"kind": "gstreamer", "pipeline": "videotestsrc num-buffers=9"}, True),
        ({"kind": "gstreamer", "pipeline": "rtspsrc location=rtsp://10.0.0.2/1 ! decodebin"}, False),
        ({"kind": "gstreamer", "pipeline": "uridecodebin uri=rtsp://10.0.0.2/1"}, False),
        ({"kind": "gstreamer", "pipeline": "v4l2src device=/dev/video0"}, False),
        ({"kind": "gstreamer", "pipeline": "videotestsrc is-live=true"}, False),
        ({"kind": "gstreamer", "pipeline": "tcpclientsrc port=9 ! tsdemux"}, False),
        ({"kind": "stream", "address": "row.mp4"}, True),
        ({"kind": "stream", "address": "tcp://10.0.0.2:9"}, False),
        ({"kind": "rtsp", "address": "rtsp://10.0.0.2/1"}, False),
    ],
)
def test_a_file_ends_the_row_and_a_camera_that_drops_does_not(description: dict[str, str], ends: bool) -> None:
    assert has_an_end(CameraDescription(**description)) is ends  # type: ignore[arg-type]


def test_a_film_behind_a_camera_s_description_is_read_once(tmp_path: Path) -> None:
    film = tmp_path / "row.mkv"
    with av.open(str(film), "w") as out:
        stream = out.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(12):
            image = np.full((48, 64, 3), 20 * number, np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        out.mux(stream.encode(None))
    (tmp_path / "film.toml").write_text('kind = "stream"\naddress = "row.mkv"\n')
    source = open_source(tmp_path / "film.toml")
    seen = []
    for frame in source:
        seen.append(frame.sequence)
        time.sleep(0.05)  # a reader that is slower than the film is decoded
    assert seen == list(range(12))
    assert source.faults == ()


def test_a_film_that_waits_for_its_reader_can_be_ended(tmp_path: Path) -> None:
    script = tmp_path / "film.py"
    script.write_text(CAMERA + "for n in range(100000): show(n, 1000)")
    feed = Feed([sys.executable, str(script)], HeaderFraming(FramePool(3)), waits=True)
    assert [newest.number for _ in range(3) if (newest := feed.take(60.0)) is not None] == [0, 1, 2]
    feed.stop()


def test_a_stream_without_video_says_so(tmp_path: Path) -> None:
    sound = tmp_path / "sound.wav"
    with wave.open(str(sound), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(16000))
    (tmp_path / "sound.toml").write_text('kind = "stream"\naddress = "sound.wav"\n')
    with pytest.raises(SourceError, match="there is no video in") as refused:
        list(open_source(tmp_path / "sound.toml"))
    assert "stream of pictures" in (refused.value.mend or "")


SERVER = """
import sys, time
from fractions import Fraction
import av, numpy as np
with av.open(sys.argv[1] + "?listen=1", "w", format="mpegts") as out:
    stream = out.add_stream("mpeg2video", rate=25)
    stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
    stream.codec_context.gop_size = 5
    rng = np.random.default_rng(0)
    for number in range(2000):
        image = rng.integers(0, 255, (96, 160, 3), np.uint8)
        out.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        time.sleep(0.04)
"""


def test_a_network_stream_whose_server_is_killed(tmp_path: Path) -> None:
    """An MPEG transport stream over TCP through the real feeder; the server dies and comes back."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    server = subprocess.Popen([sys.executable, str(script), address])
    source = open_camera(
        CameraDescription("stream", address), settings=LiveSettings(start_s=60.0, first_pause_s=0.2, give_up_s=120.0)
    )
    try:
        shapes = set()
        after_kill = 0
        killed_s = noticed_s = 0.0
        for number, frame in enumerate(source):
            shapes.add(frame.image.shape)
            if number == 10:
                server.kill()
                server.wait()
                killed_s = time.monotonic()
                server = subprocess.Popen([sys.executable, str(script), address])
            elif number > 10 and source.faults:
                noticed_s = noticed_s or time.monotonic()
                after_kill += 1
                if after_kill == 10:
                    break
        assert shapes == {(96, 160, 3)}
        assert after_kill == 10
        assert noticed_s > killed_s
    finally:
        source.close()
        server.kill()
        server.wait()


def test_pictures_are_turned_as_the_camera_is_mounted() -> None:
    from edgekit.runtime.sources.mounting import turning

    image = np.zeros((2, 3, 3), np.uint8)
    image[0, 0] = 9
    turned = turning(CameraDescription("v4l2", "/dev/video0", turn_deg=90))
    assert turned is not None
    assert turned(image)[0, 1, 0] == 9
    mirrored = turning(CameraDescription("v4l2", "/dev/video0", mirror=True))
    assert mirrored is not None
    assert mirrored(image)[0, 2, 0] == 9
    assert turning(CameraDescription("v4l2", "/dev/video0")) is None


def test_raw_rows_are_read_by_their_stride(tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 255, (5, 7, 3), np.uint8)
    padded = np.zeros((5, 24), np.uint8)
    padded[:, :21] = image.reshape(5, 21)
    path = tmp_path / "raw"
    path.write_bytes(padded.tobytes() * 2 + b"rest")
    with path.open("rb") as pipe:
        framing = RawFraming((7, 5), FramePool(2))
        assert np.array_equal(framing.read(pipe).image, image)
        assert np.array_equal(framing.read(pipe).image, image)
        assert framing.read(pipe) is None


def test_camera_descriptions(tmp_path: Path) -> None:
    path = tmp_path / "left.toml"
    path.write_text('kind = "rtsp"\naddress = "rtsp://192.168.0.20/1"\nside = "left"\n')
    assert open_source(path).name == "rtsp rtsp://192.168.0.20/1"
    path.write_text('kind = "rtsp"\nadress = "x"\n')
    with pytest.raises(SettingsError, match="address"):
        open_source(path)
    for bad in ({"kind": "webcam", "address": "0"}, {"kind": "rtsp"}, {"kind": "gstreamer", "address": "x"}):
        with pytest.raises(SettingsError):
            CameraDescription(**bad)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="pipeline: No closing quotation"):
        CameraDescription("gstreamer", pipeline="videotestsrc pattern='snow")


@pytest.mark.skipif(shutil.which("gst-launch-1.0") is None, reason="GStreamer's tools are not installed")
def test_a_gstreamer_pipeline() -> None:
    pipeline = "videotestsrc is-live=true pattern=snow num-buffers=20 ! video/x-raw,width=66,height=50,framerate=20/1"
    source = open_camera(
        CameraDescription("gstreamer", pipeline=pipeline, size_wh=(66, 50)), settings=LiveSettings(may_end=True)
    )
    frames = list(source)
    assert 10 <= len(frames) <= 20
    assert frames[0].image.shape == (50, 66, 3)


@pytest.mark.skipif(shutil.which("gst-launch-1.0") is not None, reason="GStreamer's tools are installed")
def test_without_gstreamer_one_line_says_how_to_get_it() -> None:
    with pytest.raises(MissingDependencyError, match=r"gstreamer1\.0-tools"):
        open_camera(CameraDescription("csi", "0"))


def test_the_site_files_are_cameras(repository: Path) -> None:
    paths = sorted((repository / "runtime" / "cameras").glob("*.toml"))
    assert {read_settings(path, CameraDescription).kind for path in paths} == {"v4l2", "rtsp", "csi"}
