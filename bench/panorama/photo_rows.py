"""How right is the panorama? Rows of real photographs with known positions, clean and with each fault.

    python bench/panorama/photo_rows.py SET/instances.json SET/images --out DIR [--size 640x360] [--only NAME]
    python bench/panorama/photo_rows.py --table DIR [DIR ...] [--json F]

Each case is kept as DIR/<case>.json and not run again. For each: the position error at the end and the largest one
among measured frames, in per cent of the length; the largest error within one stretch between bridged ones
(`rest_percent`); the largest standard deviation of the error over any 100 frames; the vertical error; where the row
is clean, PSNR of the panorama against the strip, read at the measured and at the true positions. A fault passes if
every measured position lies within 0.5 % of the length, or if what went astray is bridged, marked, and the rest is
right. With --keep, DIR also holds <case>.panorama.png and, laid out alike, <case>.strip.png, which `count.py` compares.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import case_files
import cv2
from faults import NO_REFERENCE, SPEED_SHARE, cases
from made_case import ROOM_PX, Result, long_strip
from reference import seen_strip

from edgekit.contracts import Image


def passes(name: str, found: case_files.Row) -> bool:
    """Whether a case meets its goals."""
    if name == "clean":
        goals = {"end_percent": 0.1, "rms100_px": 0.25, "vertical_px": 0.5}
        return all(float(str(found[key])) <= goal for key, goal in goals.items()) and (
            float(str(found["psnr_measured_db"])) >= 38
        )
    straight = float(str(found["end_percent"])) <= 0.5 and float(str(found["largest_percent"])) <= 0.5
    return straight or (int(str(found["bridged_px"])) > 0 and float(str(found["rest_percent"])) <= 0.5)


def print_table(rows: dict[str, case_files.Row]) -> None:
    print(f"{'case':22} {'end %':>7} {'most %':>7} {'rest %':>7} {'rms px':>7} {'vert px':>7} {'PSNR':>6} {'true':>6}")
    for name, row in rows.items():
        keys = ("end_percent", "largest_percent", "rest_percent", "rms100_px", "vertical_px")
        numbers = " ".join(f"{row[key]:7.3f}" for key in keys)
        good = "" if passes(name, row) else "  MISSED"
        psnr = " ".join(f"{row[key] or float('nan'):6.1f}" for key in ("psnr_measured_db", "psnr_true_db"))
        print(f"{name:22} {numbers} {psnr} {row['statuses']}{good}")
    print(f"{sum(passes(name, row) for name, row in rows.items())} of {len(rows)} cases pass")


def keep(path: Path, image: Image) -> None:
    """A picture without loss, in a hurry."""
    fast = [cv2.IMWRITE_PNG_COMPRESSION, 1]
    if not cv2.imwrite(str(path), cv2.cvtColor(image, cv2.COLOR_RGB2BGR), fast):
        raise OSError(f"could not write {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path, nargs="?")
    parser.add_argument("images", type=Path, nargs="?")
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--start", type=int, default=0, help="picture of the set with which the row begins")
    parser.add_argument("--keep", action="store_true", help="keep the pictures that count.py compares")
    case_files.add_options(parser)
    options = parser.parse_args()
    if options.table:
        tables = case_files.tabled(options)
        for folder, rows in tables.items():
            print(folder)
            print_table(rows)
        case_files.write_json(options, tables)
        return
    cv2.setNumThreads(1)
    width, height = (int(part) for part in options.size.split("x"))
    speed_px = SPEED_SHARE * width
    length_px = int(speed_px * options.frames * 1.15) + 2 * width
    all_cases = {case.name: case for case in cases(options.frames, speed_px)}
    wanted = case_files.missing(list(all_cases), options)
    size = {"height_px": height + ROOM_PX, "length_px": length_px}
    strip = long_strip(options.labels, options.images, start=options.start, **size)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        result = Result(all_cases[name], strip, (width, height))
        row = result.figures() | {"frames": options.frames, "size": options.size}
        if options.keep and not name.startswith(NO_REFERENCE):
            keep(options.out / f"{name}.panorama.png", result.built.image)
            keep(options.out / f"{name}.strip.png", seen_strip(result))
        case_files.write_row(options.out, name, row)


if __name__ == "__main__":
    main()
