"""Speed of the panorama beside the `stitching` package and OpenCV's Stitcher, one thread, decoding left out.

    python bench/peers/panorama_peers.py DATA/strawberry_row/images [--turns 3] [--out PICTURE.jpg] [--json F]

Needs `pip install stitching` for that peer; without it, it is left out and said so. The sides take turns. edgekit is so
much shorter than its peers that it is run several times just before and just after each of them; the ratio of a turn is
the time of the peer over the median of those runs, told as median (least to most) of the turns. Seconds are those of
the process on its core, so that another process does not count; with one thread and an idle machine they are the same
by the clock. With --out, panoramas are drawn below each other in one picture.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import cv2
import numpy as np

from edgekit.contracts import Frame, Image
from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.motion.displacement import CanopyDisplacement
from edgekit.runtime.motion.settings import DisplacementSettings
from edgekit.runtime.sources import open_source

Side = Callable[[list[Frame]], Image | None]
PICTURE_WIDTH_PX = 1900
CAPTION_PX = 34
RUNS = 5
"""Runs of edgekit on either side of a peer's."""


@dataclass
class Times:
    """Of one side."""

    seconds: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    """Times the runs of edgekit around it."""


def by_edgekit(frames: list[Frame]) -> Image:
    mosaic = StripMosaic(MosaicSettings())
    columns = [part for frame in frames for part in mosaic.add(frame)] + mosaic.finish()
    return np.concatenate([part.image for part in columns][:: mosaic.direction], axis=1)


def by_motion_alone(frames: list[Frame]) -> None:
    estimator = CanopyDisplacement(DisplacementSettings())
    for frame in frames:
        estimator.measure(frame)


def by_opencv(frames: list[Frame]) -> Image | None:
    _, panorama = cv2.Stitcher.create(cv2.Stitcher_SCANS).stitch([bgr(frame.image) for frame in frames])
    return None if panorama is None else bgr(panorama)


def by_stitching(frames: list[Frame]) -> Image:
    from stitching import AffineStitcher

    stitcher = AffineStitcher(crop=False, confidence_threshold=0.1)
    return bgr(np.uint8(stitcher.stitch([bgr(frame.image) for frame in frames])))


def bgr(image: Image) -> Image:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2BGR), np.uint8)


def peers() -> dict[str, Side]:
    found: dict[str, Side] = {f"OpenCV {cv2.__version__} Stitcher SCANS": by_opencv}
    if find_spec("stitching") is None:
        print("left out: stitching (pip install stitching)")
    else:
        found[f"stitching {version('stitching')} affine"] = by_stitching
    return found


def timed(side: Side, frames: list[Frame]) -> tuple[float, Image | None]:
    start = time.process_time()
    picture = side(frames)
    return time.process_time() - start, picture


def measure(frames: list[Frame], turns: int, *, only: str) -> tuple[dict[str, Times], dict[str, Image]]:
    """Times and panoramas of all sides."""
    own, motion = Times(), Times()
    times, pictures = {"edgekit": own, "edgekit, motion alone": motion}, {"edgekit": by_edgekit(frames)}
    for turn in range(turns):
        for name, side in peers().items():
            if only not in name:
                continue
            before = [timed(by_edgekit, frames)[0] for _ in range(RUNS)]
            motion.seconds += [timed(by_motion_alone, frames)[0] for _ in range(RUNS)]
            try:
                seconds, picture = timed(side, frames)
            except Exception as error:  # what a peer raises is its own affair, and part of the result
                print(f"{name}: {type(error).__name__}: {error}", flush=True)
                continue
            around = before + [timed(by_edgekit, frames)[0] for _ in range(RUNS)]
            own.seconds += around
            times.setdefault(name, Times()).seconds.append(seconds)
            times[name].ratios.append(seconds / statistics.median(around))
            print(f"turn {turn + 1}: {name}: {seconds:.2f} s, edgekit {statistics.median(around):.3f} s", flush=True)
            if picture is not None:
                pictures[name] = picture
    return times, pictures


def figures(times: dict[str, Times], pictures: dict[str, Image], frames: int) -> dict[str, dict[str, object]]:
    rows: dict[str, dict[str, object]] = {}
    for name, taken in times.items():
        median, ratios = statistics.median(taken.seconds), taken.ratios
        quarter = statistics.quantiles(taken.seconds, n=4) if len(taken.seconds) > 1 else [median] * 3
        picture = pictures.get(name)
        rows[name] = {
            "runs": len(taken.seconds), "median_s": round(median, 3),
            "ms_a_frame": round(1000 * median / frames, 2),
            "ms_a_frame_quartiles": [round(1000 * quarter[n] / frames, 2) for n in (0, 2)],
            "frames_per_s": round(frames / median, 1),
            "times_edgekit": [round(f, 1) for f in (statistics.median(ratios), min(ratios), max(ratios))]
            if ratios else None,
            "panorama": None if picture is None else f"{picture.shape[1]} x {picture.shape[0]}",
        }  # fmt: skip
    return rows


def tell(rows: dict[str, dict[str, object]]) -> None:
    print(f"{'':34} {'ms/frame':>9} {'frames/s':>9} {'times edgekit (least to most)':>30}  panorama")
    for name, row in rows.items():
        ratio = "{:.1f} ({:.1f} to {:.1f})".format(*np.ravel(row["times_edgekit"])) if row["times_edgekit"] else "-"
        print(f"{name:34} {row['ms_a_frame']:>9} {row['frames_per_s']:>9} {ratio:>30}  {row['panorama'] or '-'}")


def side_by_side(pictures: dict[str, Image]) -> Image:
    """The panoramas below each other, each scaled to one width, with its name."""
    parts = []
    for name, picture in pictures.items():
        height_px = round(picture.shape[0] * PICTURE_WIDTH_PX / picture.shape[1])
        caption = np.full((CAPTION_PX, PICTURE_WIDTH_PX, 3), 255, np.uint8)
        text = f"{name}: {picture.shape[1]} x {picture.shape[0]}"
        cv2.putText(caption, text, (8, 25), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (0, 0, 0), 2, cv2.LINE_AA)
        parts += [caption, cv2.resize(picture, (PICTURE_WIDTH_PX, height_px), interpolation=cv2.INTER_AREA)]
    return np.concatenate(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frames", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", default="", help="peers whose name holds this")
    parser.add_argument("--out", type=Path, help="a picture of all panoramas")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    frames = list(open_source(options.frames))
    times, pictures = measure(frames, options.turns, only=options.only)
    rows = figures(times, pictures, len(frames))
    tell(rows)
    if options.out:
        cv2.imwrite(str(options.out), bgr(side_by_side(pictures)))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
