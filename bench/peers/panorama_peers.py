"""Speed of the panorama beside the `stitching` package and OpenCV's Stitcher, one thread, decoding left out.

    python bench/peers/panorama_peers.py DATA/strawberry_row/images [--pairs 3] [--pictures DIR] [--json F]

Needs `pip install stitching` for that peer; without it, it is left out and said so. The sides take turns; the ratio is
taken turn by turn and its median told. With --pictures, the panoramas are written next to each other.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import cv2
import numpy as np

from edgekit.contracts import Frame
from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.sources import open_source

Result = tuple[float, np.ndarray | None]


def by_edgekit(frames: list[Frame]) -> Result:
    start = time.perf_counter()
    mosaic = StripMosaic(MosaicSettings())
    columns = [part for frame in frames for part in mosaic.add(frame)] + mosaic.finish()
    picture = np.concatenate([part.image for part in columns][:: mosaic.direction], axis=1)
    return time.perf_counter() - start, picture


def by_opencv(frames: list[Frame]) -> Result:
    pictures = [cv2.cvtColor(frame.image, cv2.COLOR_RGB2BGR) for frame in frames]
    start = time.perf_counter()
    _, panorama = cv2.Stitcher.create(cv2.Stitcher_SCANS).stitch(pictures)
    seconds = time.perf_counter() - start
    return seconds, None if panorama is None else cv2.cvtColor(panorama, cv2.COLOR_BGR2RGB)


def by_stitching(frames: list[Frame]) -> Result:
    from stitching import AffineStitcher

    pictures = [cv2.cvtColor(frame.image, cv2.COLOR_RGB2BGR) for frame in frames]
    start = time.perf_counter()
    panorama = AffineStitcher(crop=False, confidence_threshold=0.1).stitch(pictures)
    seconds = time.perf_counter() - start
    return seconds, cv2.cvtColor(np.uint8(panorama), cv2.COLOR_BGR2RGB)


def sides() -> dict[str, Callable[[list[Frame]], Result]]:
    found: dict[str, Callable[[list[Frame]], Result]] = {"edgekit": by_edgekit, "OpenCV Stitcher SCANS": by_opencv}
    try:
        import stitching
    except ImportError as error:
        print(f"left out: stitching ({error})")
    else:
        found[f"stitching {getattr(stitching, '__version__', '')}".strip()] = by_stitching
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frames", type=Path)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    frames = list(open_source(options.frames))
    by_edgekit(frames[:3])
    seconds: dict[str, list[float]] = {name: [] for name in sides()}
    sizes = {}
    for _ in range(options.pairs):
        for name, side in sides().items():
            try:
                taken, picture = side(frames)
            except Exception as error:  # what a peer raises is its own affair, and part of the result
                print(f"{name}: {type(error).__name__}: {error}")
                continue
            seconds[name].append(taken)
            sizes[name] = "none" if picture is None else f"{picture.shape[1]} x {picture.shape[0]}"
            if options.pictures and picture is not None:
                options.pictures.mkdir(parents=True, exist_ok=True)
                small = cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
                file = options.pictures / f"{name.replace(' ', '_')}.jpg"
                cv2.imwrite(str(file), cv2.cvtColor(small, cv2.COLOR_RGB2BGR))
    result = {
        name: {
            "median_s": round(statistics.median(values), 3),
            "frames_per_s": round(len(frames) / statistics.median(values), 1),
            "times_edgekit": round(
                statistics.median(own / ours for own, ours in zip(values, seconds["edgekit"], strict=False)), 1
            ),
            "panorama": sizes[name],
        }
        for name, values in seconds.items()
        if values
    }
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
