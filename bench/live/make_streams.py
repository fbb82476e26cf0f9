"""Streams for two_streams.py: rows of real photographs that pass at 40 px a frame, there and back, with pauses.

    python bench/live/make_streams.py SET/instances.json SET/images --out STREAMS [--seconds 40] [--pause 10]

For each side: there.mkv and back.mkv, the frames of one ride along the row each way, for the offline run; and
cycle.mkv, there, a pause with the camera's noise, back, a pause, for the sender to repeat. All are Motion JPEG,
1280 x 720, 15 frames/s; cycle.mkv holds the very same coded frames as the other two.
"""

import argparse
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from edgekit.contracts import Image
from edgekit.labels import read_coco
from edgekit.runtime.rowmaker import Motion, SlidingCamera, load_photo_row

SIZE_WH = (1280, 720)
RATE_HZ = 15
SPEED_PX = 40.0
QUALITY = 3
"""FFmpeg's, about JPEG 92: 190 kB a frame, so that the sender only copies 3 MB/s."""
NOISE = 1.5


def encode(frames: Iterable[Image], path: Path) -> None:
    """Motion JPEG, every frame by itself."""
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{SIZE_WH[0]}x{SIZE_WH[1]}"]
    command += ["-r", str(RATE_HZ), "-i", "-", "-c:v", "mjpeg", "-q:v", str(QUALITY), "-pix_fmt", "yuvj420p", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for frame in frames:
            process.stdin.write(frame.tobytes())
    if process.returncode:
        raise SystemExit(f"ffmpeg failed with {process.returncode}")


def noisy(image: Image, count: int, seed: int) -> Iterable[Image]:
    """The trolley stands."""
    rng = np.random.default_rng(seed)
    noise = np.rint(rng.normal(0.0, NOISE, (image.shape[0] + 64, *image.shape[1:]))).astype(np.int16)
    for number in range(count):
        start = number * 7 % 64
        yield np.clip(image + noise[start : start + image.shape[0]], 0, 255).astype(np.uint8)


def make_side(row: Image, out: Path, seconds: float, pause_s: float) -> None:
    out.mkdir(parents=True, exist_ok=True)
    count = round(seconds * RATE_HZ)
    motion = Motion(frames=count, speed_px=SPEED_PX, jerk=0.05, jitter_px=0.5, seed=1)
    camera = SlidingCamera(row, motion, size_wh=SIZE_WH)
    encode((camera.picture(number) for number in range(count)), out / "there.mkv")
    encode((camera.picture(number) for number in reversed(range(count))), out / "back.mkv")
    for number, end in enumerate((count - 1, 0)):
        encode(noisy(camera.picture(end), round(pause_s * RATE_HZ), number), out / f"pause{number}.mkv")
    listing = out / "cycle.txt"
    listing.write_text("".join(f"file '{name}.mkv'\n" for name in ("there", "pause0", "back", "pause1")))
    join = ["ffmpeg", "-v", "error", "-y", "-f", "concat", "-safe", "0", "-i", str(listing), "-c", "copy"]
    subprocess.run([*join, str(out / "cycle.mkv")], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=40.0, help="of one ride along the row")
    parser.add_argument("--pause", type=float, default=10.0, help="seconds between two rides")
    options = parser.parse_args()
    labels = read_coco(options.labels)
    names = [picture.name for picture in labels.pictures]
    for side, some in (("left", names[::2]), ("right", names[1::2])):
        row = load_photo_row(labels, options.images, names=some, height_px=SIZE_WH[1] + 24)
        needed_px = round(options.seconds * RATE_HZ * SPEED_PX * 1.1) + SIZE_WH[0]
        strip = (
            row.image
            if row.image.shape[1] >= needed_px
            else np.tile(row.image, (1, -(-needed_px // row.image.shape[1]), 1))
        )
        make_side(strip[:, :needed_px], options.out / side, options.seconds, options.pause)
        print(f"{side}: {needed_px} px of row from {len(some)} photographs")


if __name__ == "__main__":
    main()
