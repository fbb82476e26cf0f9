"""What a live camera costs in CPU time a frame, beside decoding alone: the rest is conversion and copies.

python bench/sources/live_cost.py [--seconds 12] [--size 1280x720] [--rate 15] [--json]

A film of moving bars is coded once (H.264, no B-frames, a key frame a second). Then it is served at real-time pace: as
MPEG transport stream over TCP by ffmpeg, which only copies packets (kind stream), and by a GStreamer pipeline that
decodes it (kind gstreamer). CPU time is that of this process and of the source's process; the server's is left out.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import psutil

from edgekit.runtime.sources import CameraDescription, LiveSettings, open_camera


def coded_film(folder: Path, size: str, rate: int, seconds: int) -> Path:
    path = folder / "film.mkv"
    made = ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate={rate}", "-t", str(seconds)]
    coded = ["-c:v", "libx264", "-preset", "veryfast", "-bf", "0", "-g", str(rate), "-pix_fmt", "yuv420p"]
    subprocess.run(["ffmpeg", "-loglevel", "error", *made, *coded, str(path)], check=True)
    return path


def decoding_ms(film: Path) -> float:
    """CPU time of decoding alone, one thread, no conversion."""
    began, frames = time.process_time(), 0
    with av.open(str(film)) as container:
        container.streams.video[0].thread_type = "SLICE"
        for _ in container.decode(video=0):
            frames += 1
    return (time.process_time() - began) * 1e3 / frames


@contextmanager
def served(film: Path) -> Iterator[str]:
    """The film at real-time pace over TCP."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    paced = ["ffmpeg", "-loglevel", "quiet", "-re", "-stream_loop", "-1", "-i", str(film), "-c", "copy"]
    server = subprocess.Popen([*paced, "-f", "mpegts", f"{address}?listen=1"])
    time.sleep(1)
    try:
        yield address
    finally:
        server.kill()
        server.wait()


def cost_ms(camera: CameraDescription, seconds: float) -> dict[str, float]:
    """CPU time a frame of the source's process and of this one, once frames flow."""
    source = open_camera(camera, settings=LiveSettings(give_up_s=20.0))
    frames, began_s = 0, 0.0
    mine, theirs = 0.0, 0.0
    for frame in source:
        if not began_s:
            began_s, mine, theirs = frame.time_s, time.process_time(), _children_s()
        elif frame.time_s - began_s >= seconds:
            mine, theirs = time.process_time() - mine, _children_s() - theirs
            break
        frames += 1
    source.close()
    return {
        "frames_s": frames / seconds,
        "source_process_ms": theirs * 1e3 / frames,
        "this_process_ms": mine * 1e3 / frames,
        "cores_for_two": 2 * (mine + theirs) / seconds,
        "dropped": source.dropped,
    }


def _children_s() -> float:
    times = [child.cpu_times() for child in psutil.Process().children() if child.name() != "ffmpeg"]
    return sum(one.user + one.system for one in times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=12)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--rate", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    width, height = (int(side) for side in options.size.split("x"))
    size_wh = (width, height)
    with tempfile.TemporaryDirectory() as folder:
        film = coded_film(Path(folder), options.size, options.rate, options.seconds + 8)
        rows = {"decoding_alone": {"source_process_ms": decoding_ms(film)}}
        with served(film) as address:
            rows["stream"] = cost_ms(CameraDescription("stream", address, size_wh=size_wh), options.seconds)
        decoded = f"filesrc location={film} ! matroskademux ! h264parse ! avdec_h264 max-threads=1 ! clocksync"
        camera = CameraDescription("gstreamer", pipeline=decoded, size_wh=size_wh, rate_hz=options.rate)
        rows["gstreamer"] = cost_ms(camera, options.seconds)
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for kind, row in rows.items():
        print(f"{kind}: " + ", ".join(f"{value:.2f} {name}" for name, value in row.items()))


if __name__ == "__main__":
    main()
