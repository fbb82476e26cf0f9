"""How right is the panorama? Rows of real photographs with known positions, clean and with each fault.

    python bench/panorama/photo_rows.py SET/instances.json SET/images --out DIR [--size 640x360] [--only NAME]
    python bench/panorama/photo_rows.py --table DIR [--json F]

Each case is kept as DIR/<case>.json and not run again. For each: the position error at the end and the largest one
among measured frames, in per cent of the length; the largest error within one stretch between bridged ones
(`rest_percent`); the largest standard deviation of the error over any 100 frames; the vertical error; where the row
is clean, PSNR of the panorama against the strip, read at the measured and at the true positions. A fault passes if
every measured position lies within 0.5 % of the length, or if what went astray is bridged, marked, and the rest is
right.
"""

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import cv2
from faults import SPEED_SHARE, cases
from made_case import ROOM_PX, Result, long_strip


def passes(name: str, found: dict[str, object]) -> bool:
    """Whether a case meets its goals."""
    if name == "clean":
        goals = {"end_percent": 0.1, "rms100_px": 0.25, "vertical_px": 0.5}
        return all(float(str(found[key])) <= goal for key, goal in goals.items()) and (
            float(str(found["psnr_measured_db"])) >= 38
        )
    straight = float(str(found["end_percent"])) <= 0.5 and float(str(found["largest_percent"])) <= 0.5
    return straight or (int(str(found["bridged_px"])) > 0 and float(str(found["rest_percent"])) <= 0.5)


def table(folder: Path) -> dict[str, dict[str, object]]:
    """The cases that were run, printed."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    print(f"{'case':22} {'end %':>7} {'most %':>7} {'rest %':>7} {'rms px':>7} {'vert px':>7} {'PSNR':>6} {'true':>6}")
    for name, row in found.items():
        keys = ("end_percent", "largest_percent", "rest_percent", "rms100_px", "vertical_px")
        numbers = " ".join(f"{row[key]:7.3f}" for key in keys)
        good = "" if passes(name, row) else "  MISSED"
        psnr = " ".join(f"{row[key] or float('nan'):6.1f}" for key in ("psnr_measured_db", "psnr_true_db"))
        print(f"{name:22} {numbers} {psnr} {row['statuses']}{good}")
    print(f"{sum(passes(name, row) for name, row in found.items())} of {len(found)} cases pass")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path, nargs="?")
    parser.add_argument("images", type=Path, nargs="?")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--part", default="1/1", help="1/2 and 2/2 share the cases between two processes")
    parser.add_argument("--table", type=Path, help="print the cases of an earlier --out")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.table:
        found = table(options.table)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")
        return
    cv2.setNumThreads(1)
    width, height = (int(part) for part in options.size.split("x"))
    part, parts = (int(number) for number in options.part.split("/"))
    speed_px = SPEED_SHARE * width
    length_px = int(speed_px * options.frames * 1.15) + 2 * width
    strip = long_strip(options.labels, options.images, height_px=height + ROOM_PX, length_px=length_px)
    options.out.mkdir(parents=True, exist_ok=True)
    for case in cases(options.frames, speed_px)[part - 1 :: parts]:
        target = options.out / f"{case.name}.json"
        if options.only in case.name and not target.exists():
            result = Result(case, strip, (width, height)).figures()
            target.write_text(json.dumps(result | {"frames": options.frames, "size": options.size}) + "\n")
            print(case.name, json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
