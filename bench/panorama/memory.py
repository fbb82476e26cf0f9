"""Does memory stay flat over a long row? Resident size at frame 1,000 and at the end.

    python bench/panorama/memory.py [--frames 20000] [--size 1280x720] [--json F]

The camera creeps along a made strip, however many frames that takes; segments are written to a temporary folder, and
what became of the frames is kept for the report, as in a run.
"""

import argparse
import json
import tempfile
from pathlib import Path

import cv2
import numpy as np
import psutil

from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.panorama.report import RowReport
from edgekit.runtime.panorama.segments import SegmentWriter
from edgekit.runtime.rowmaker import Motion, SlidingCamera

FIRST = 1000


def made_strip(width: int, height: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    strip = np.zeros((height, width, 3), np.float32)
    for sigma in (1.2, 3.0, 8.0):
        layer = rng.integers(0, 255, (height, width, 3), np.uint8)
        strip += sigma * (cv2.GaussianBlur(layer, (0, 0), sigma).astype(np.float32) - 128)
    return np.clip(128 + 45 * strip / strip.std(), 0, 255).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    width, height = (int(part) for part in options.size.split("x"))
    strip = made_strip(8 * width, height + 24)
    speed_px = 6.5 * width / options.frames
    camera = SlidingCamera(strip, Motion(frames=options.frames, speed_px=speed_px), size_wh=(width, height))
    process, resident = psutil.Process(), {}
    mosaic, report = StripMosaic(MosaicSettings()), RowReport()
    with tempfile.TemporaryDirectory() as folder:
        writer = SegmentWriter(Path(folder), width_px=2 * width)
        for number, frame in enumerate(camera, 1):
            report.see(frame)
            for columns in mosaic.add(frame):
                report.take(columns)
                writer.add(columns)
            for record in mosaic.drain_records():
                report.note(record)
            if number == FIRST or number % 5000 == 0 or number == options.frames:
                resident[number] = round(process.memory_info().rss / 2**20, 1)
                print(f"frame {number}: {resident[number]} MB, panorama {writer.width_px} px", flush=True)
    result = {"resident_mb": resident, "growth_mb": round(resident[options.frames] - resident[FIRST], 1)}
    print(json.dumps(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
