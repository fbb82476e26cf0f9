"""Every kind of live source with a real stream: RTSP, FFmpeg, GStreamer; the plug is pulled, and put in again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from live_watch import Watch, free_port, settle, wait

from edgekit.runtime.sources import CameraDescription, LiveSettings, open_camera, open_source
from edgekit.runtime.sources.frame_pool import FramePool

SIZE_WH = (320, 240)
NOTICED_S = 3.0
PATIENCE_S = 30.0
SETTINGS = LiveSettings(first_pause_s=0.2, longest_pause_s=0.5, start_s=20.0, give_up_s=60.0)
SYSTEM_PYTHON = "/usr/bin/python3"
WANTED = "import gi; gi.require_version('GstRtspServer', '1.0'); from gi.repository import GstRtspServer"

needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
needs_gstreamer = pytest.mark.skipif(shutil.which("gst-launch-1.0") is None, reason="GStreamer is not installed")


def has_rtsp_server() -> bool:
    return (
        Path(SYSTEM_PYTHON).exists()
        and not subprocess.run([SYSTEM_PYTHON, "-c", WANTED], check=False, capture_output=True).returncode
    )


pytestmark = pytest.mark.flaky(reruns=2)  # streams in real time: a machine with other work may be late once

needs_rtsp = pytest.mark.skipif(
    shutil.which("ffmpeg") is None or not has_rtsp_server(), reason="python3-gi or GstRtspServer is not installed"
)


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    threads = threading.active_count()
    yield
    settle(threads)


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute at 20 frames/s, coded once; served without coding it again."""
    path = tmp_path_factory.mktemp("film") / "film.mkv"
    made = ["-f", "lavfi", "-i", f"testsrc2=size={SIZE_WH[0]}x{SIZE_WH[1]}:rate=20", "-t", "60"]
    coded = ["-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "10", "-pix_fmt", "yuv420p"]
    subprocess.run(["ffmpeg", "-loglevel", "error", *made, *coded, str(path)], check=True)
    return path


@contextmanager
def process(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield running
    finally:
        running.send_signal(signal.SIGCONT)
        running.kill()
        running.wait()


def rtsp_server(film: Path, port: int) -> list[str]:
    return [SYSTEM_PYTHON, str(Path(__file__).with_name("rtsp_server.py")), str(film), str(port)]


def tcp_server(port: int, *source: str) -> list[str]:
    """FFmpeg waits for one reader, whom it serves at real-time pace."""
    return ["ffmpeg", "-loglevel", "quiet", "-re", *source, f"tcp://127.0.0.1:{port}?listen=1"]


def coded(film: Path) -> tuple[str, ...]:
    return ("-i", str(film), "-c", "copy", "-f", "mpegts")


def pulled_and_mended(camera: CameraDescription, start: Callable[[], list[str]], pull: signal.Signals) -> None:
    """Frames come; the server is stopped or killed: noticed within 3 s; another one serves: frames come again."""
    with Watch(open_camera(camera, settings=SETTINGS)) as watch:
        with process(start()) as server:
            watch.frames(15, within_s=PATIENCE_S)
            assert watch.source.trouble is None
            server.send_signal(pull)
            assert watch.trouble(within_s=10) < NOTICED_S
        before = len(watch.numbers)
        with process(start()):
            watch.frames(before + 10, within_s=PATIENCE_S)
        assert watch.last is not None
        assert watch.last.image.shape == (SIZE_WH[1], SIZE_WH[0], 3)
        assert watch.last.image.std() > 20
        assert watch.numbers == sorted(set(watch.numbers))
        gaps = [later - earlier for earlier, later in zip(watch.numbers, watch.numbers[1:], strict=False)]
        assert max(gaps) > 1, "the gap must show in the numbers"


@needs_rtsp
@pytest.mark.parametrize("pull", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "silent"])
def test_rtsp(film: Path, pull: signal.Signals) -> None:
    port = free_port()
    camera = CameraDescription("rtsp", f"rtsp://127.0.0.1:{port}/row")
    pulled_and_mended(camera, lambda: rtsp_server(film, port), pull)


@needs_rtsp
@pytest.mark.slow
def test_rtsp_over_udp(film: Path) -> None:
    port = free_port()
    camera = CameraDescription("rtsp", f"rtsp://127.0.0.1:{port}/row", transport="udp")
    pulled_and_mended(camera, lambda: rtsp_server(film, port), signal.SIGKILL)


@needs_ffmpeg
@pytest.mark.parametrize("pull", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "silent"])
def test_a_transport_stream_of_ffmpeg(film: Path, pull: signal.Signals) -> None:
    port = free_port()
    camera = CameraDescription("stream", f"tcp://127.0.0.1:{port}")
    pulled_and_mended(camera, lambda: tcp_server(port, *coded(film)), pull)


@needs_ffmpeg
def test_a_picture_that_freezes_bit_for_bit(film: Path) -> None:
    """Frames go on at their pace, but from the 20th on they are all the same."""
    port = free_port()
    frozen = f"testsrc2=size={SIZE_WH[0]}x{SIZE_WH[1]}:rate=20,loop=loop=-1:size=1:start=20"
    raw = ("-f", "lavfi", "-i", frozen, "-c:v", "rawvideo", "-f", "nut")
    with Watch(open_camera(CameraDescription("stream", f"tcp://127.0.0.1:{port}"), settings=SETTINGS)) as watch:
        with process(tcp_server(port, *raw)):
            watch.frames(20, within_s=PATIENCE_S)
            assert watch.trouble(within_s=10) < NOTICED_S + 0.3  # the 21st picture comes a little after the 20th
            wait(lambda: "bit for bit" in " ".join(watch.source.faults), 1, lambda: str(watch.source.faults))
        before = len(watch.numbers)
        with process(tcp_server(port, *coded(film))):
            watch.frames(before + 5, within_s=PATIENCE_S)


@needs_gstreamer
@needs_ffmpeg
def test_gstreamer_reads_a_film_at_its_pace(film: Path) -> None:
    pipeline = f"filesrc location={film} ! matroskademux ! h264parse ! avdec_h264 ! clocksync"
    camera = CameraDescription("gstreamer", pipeline=pipeline, size_wh=SIZE_WH, rate_hz=20)
    with Watch(open_camera(camera, settings=SETTINGS)) as watch:
        watch.frames(50, within_s=PATIENCE_S)
    assert watch.source.rate_hz == pytest.approx(20, rel=0.15)
    assert watch.last is not None
    assert watch.last.image.std() > 20


@needs_gstreamer
def test_gstreamer_that_is_killed_starts_again() -> None:
    pipeline = f"videotestsrc is-live=true pattern=snow ! video/x-raw,width={SIZE_WH[0]},height={SIZE_WH[1]}"
    camera = CameraDescription("gstreamer", pipeline=f"{pipeline},framerate=20/1", size_wh=SIZE_WH)
    with Watch(open_camera(camera, settings=SETTINGS)) as watch:
        watch.frames(10, within_s=PATIENCE_S)
        feed = watch.source._feed
        assert feed is not None
        os.kill(feed._process.pid, signal.SIGKILL)
        assert watch.trouble(within_s=10) < NOTICED_S
        before = len(watch.numbers)
        watch.frames(before + 10, within_s=PATIENCE_S)
        os.kill(watch.source._feed._process.pid, signal.SIGSTOP)  # type: ignore[union-attr]
        assert watch.trouble(within_s=10) < NOTICED_S
        before = len(watch.numbers)
        watch.frames(before + 5, within_s=PATIENCE_S)


@needs_gstreamer
def test_a_pipeline_that_ends_is_an_outage() -> None:
    snow = f"videotestsrc is-live=true pattern=snow num-buffers=20 ! video/x-raw,width={SIZE_WH[0]},height={SIZE_WH[1]}"
    camera = CameraDescription("gstreamer", pipeline=f"{snow},framerate=20/1", size_wh=SIZE_WH)
    with Watch(open_camera(camera, settings=SETTINGS)) as watch:
        watch.frames(25, within_s=PATIENCE_S)
        assert any("the stream ended" in line for line in watch.source.faults)


STAND_IN = """#!{python}
import os, sys
words = [word.replace("(memory:NVMM)", "") for word in sys.argv[1:]]
at = words.index("nvarguscamerasrc")
assert words[at + 1] == "sensor-id=1", words
lock = [word for word in words if word.startswith(("exposuretimerange", "aelock"))]
assert lock == ["exposuretimerange=4000000 4000000", "aelock=true"], words
words = [word for word in words if not word.startswith(("sensor-id", "exposuretimerange", "aelock"))]
words[at : at + 1] = ["videotestsrc", "is-live=true", "pattern=snow"]
words[words.index("nvvidconv")] = "videoconvert"
print("GST_ARGUS: Creating output stream", flush=True)
os.execv("{gst}", ["{gst}", *words])
"""


@needs_gstreamer
def test_the_csi_pipeline_with_a_stand_in_for_the_sensor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole pipeline but for NVIDIA's elements, which talk on standard output as Argus does."""
    tool = tmp_path / "gst-launch-1.0"
    tool.write_text(STAND_IN.format(python=sys.executable, gst=shutil.which("gst-launch-1.0")))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    camera = CameraDescription("csi", "1", size_wh=SIZE_WH, rate_hz=20, exposure_us=4000, turn_deg=90)
    with Watch(open_camera(camera, settings=SETTINGS)) as watch:
        watch.frames(10, within_s=PATIENCE_S)
    assert watch.last is not None
    assert watch.last.image.shape == (SIZE_WH[0], SIZE_WH[1], 3)
    assert 60 < watch.last.image.mean() < 200
    assert not watch.source.faults


def test_usb_cameras_with_a_stand_in_for_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The feeder opens the device through FFmpeg's devices with size and rate; here FFmpeg's own test picture."""
    from edgekit.runtime.sources import camera as module

    device = CameraDescription("v4l2", "/dev/video7", size_wh=SIZE_WH, rate_hz=20)
    command, framing = module._command(device, FramePool(8))
    assert command[3:] == ["/dev/video7", "v4l2", "video_size=320x240", "framerate=20"]
    stand_in = [*command[:3], "testsrc2=size=320x240:rate=20", "lavfi"]
    monkeypatch.setattr(module, "_command", lambda *_: (stand_in, framing))
    with Watch(open_camera(device)) as watch:
        watch.frames(10, within_s=PATIENCE_S)
    assert watch.last is not None
    assert watch.last.image.shape == (240, 320, 3)


def test_a_usb_camera_that_is_not_there_is_told() -> None:
    settings = LiveSettings(first_pause_s=0.05, longest_pause_s=0.1, give_up_s=1.0)
    with Watch(open_camera(CameraDescription("v4l2", "/dev/video97"), settings=settings)) as watch:
        wait(lambda: watch.error is not None, PATIENCE_S, lambda: "it was not given up")
    assert "No such file" in str(watch.error)


@needs_ffmpeg
@pytest.mark.slow
def test_a_slow_reader_gets_the_newest_and_files_lose_nothing(film: Path) -> None:
    """300 frames at 30/s, a reader of 10/s: live it lags by two frames at most; from a file every frame comes."""
    port = free_port()
    made = f"testsrc2=size={SIZE_WH[0]}x{SIZE_WH[1]}:rate=30"
    server = tcp_server(port, "-f", "lavfi", "-i", made, "-t", "10", "-c:v", "mpeg2video", "-bf", "0", "-f", "mpegts")
    settings = LiveSettings(may_end=True, give_up_s=60.0)
    source = open_camera(CameraDescription("stream", f"tcp://127.0.0.1:{port}"), settings=settings)
    with process(server), Watch(source, work_s=0.1) as watch:
        watch.frames(60, within_s=PATIENCE_S)
        wait(lambda: not watch._thread.is_alive() or watch.numbers[-1] > 270, PATIENCE_S, lambda: "no end")
    assert max(watch.lags_s[5:]) < 2.5 / 30
    assert source.dropped == watch.numbers[-1] + 1 - len(watch.numbers)
    assert source.dropped > 100
    assert sum(1 for _ in open_source(film)) == 1200
