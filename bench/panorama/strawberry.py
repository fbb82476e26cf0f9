"""Does the panorama follow the plants? A real row with tracked fruit, against two usual ways to measure motion.

    python bench/panorama/strawberry.py DATA/strawberry_row [--json F] [--picture panorama.png]

DATA/strawberry_row holds `images/` (41 frames) and `tracks_mot.txt` (frame, id, x, y, w, h, ...; frame 1 is the first
picture). Printed for each method: the sum of its displacements beside that of the tracks' medians, and for the tracks
that cross the frame's middle the median of |log(strip width / the fruit's own displacement)|.
"""

import argparse
import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import cv2
import numpy as np

from edgekit.contracts import Frame
from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.motion.displacement import CanopyDisplacement
from edgekit.runtime.motion.settings import DisplacementSettings
from edgekit.runtime.sources import open_source

JUMP_PX = 60.0
"""A track that moves so much more or less than the median of its frame pair has jumped to another fruit."""
Tracks = dict[int, dict[int, float]]


def read_tracks(path: Path) -> Tracks:
    """Track id -> frame -> x of the middle."""
    tracks: Tracks = {}
    for row in np.loadtxt(path, delimiter=","):
        tracks.setdefault(int(row[1]), {})[int(row[0])] = row[2] + row[4] / 2
    return tracks


def pair_movements(tracks: Tracks, frame: int) -> dict[int, float]:
    """Track id -> movement from a frame to the next."""
    return {key: xs[frame + 1] - xs[frame] for key, xs in tracks.items() if frame in xs and frame + 1 in xs}


def by_edgekit(frames: list[Frame]) -> list[float]:
    estimator = CanopyDisplacement(DisplacementSettings(band=MosaicSettings().band))
    measured = [estimator.measure(frame) for frame in frames]
    return [found.dx_px for found in measured if found is not None]


def by_phase_correlation(frames: list[Frame]) -> list[float]:
    planes = [np.float32(cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY)) for frame in frames]
    window = cv2.createHanningWindow(planes[0].shape[::-1], cv2.CV_32F)
    return [cv2.phaseCorrelate(a, b, window)[0][0] for a, b in itertools.pairwise(planes)]


def by_sift(frames: list[Frame]) -> list[float]:
    sift = cv2.SIFT_create(2000)
    found = [sift.detectAndCompute(cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY), None) for frame in frames]
    matcher = cv2.BFMatcher()
    moved = []
    for (points, what), (next_points, next_what) in itertools.pairwise(found):
        pairs = [a for a, b in matcher.knnMatch(what, next_what, k=2) if a.distance < 0.75 * b.distance]
        start = np.float32([points[pair.queryIdx].pt for pair in pairs])
        end = np.float32([next_points[pair.trainIdx].pt for pair in pairs])
        matrix, _ = cv2.estimateAffinePartial2D(start, end, method=cv2.RANSAC, ransacReprojThreshold=3.0)
        middle = np.array([frames[0].image.shape[1] / 2, frames[0].image.shape[0] / 2, 1.0])
        moved.append(float((matrix @ middle)[0] - middle[0]))
    return moved


def crossings(tracks: Tracks, middle_px: float, pairs: Iterable[int]) -> list[tuple[int, float]]:
    """(frame, movement) of each track where it passes the middle of the frame."""
    found = []
    for frame in pairs:
        for key, movement in pair_movements(tracks, frame).items():
            start = tracks[key][frame]
            if start < middle_px <= start + movement:
                found.append((frame, movement))
    return found


def figures(moved: list[float], tracks: Tracks, middle_px: float) -> dict[str, object]:
    """How well displacements follow the tracks; moved[i] leads from frame i + 1 to frame i + 2."""
    pairs = [frame for frame in range(1, len(moved) + 1) if pair_movements(tracks, frame)]
    medians = {frame: float(np.median(list(pair_movements(tracks, frame).values()))) for frame in pairs}
    ratios = [
        abs(np.log(moved[frame - 1] / own)) if moved[frame - 1] > 0 else np.inf
        for frame, own in crossings(tracks, middle_px, pairs)
    ]
    total, wanted = sum(moved[frame - 1] for frame in pairs), sum(medians.values())
    return {
        "sum_px": round(total, 1), "tracks_sum_px": round(wanted, 1), "difference": round(total / wanted - 1, 4),
        "median_pair_difference_px": round(float(np.median([abs(moved[f - 1] - medians[f]) for f in pairs])), 2),
        "crossings": len(ratios), "median_abs_log_ratio": round(float(np.median(ratios)), 4),
    }  # fmt: skip


def jumps(tracks: Tracks, frames: int) -> list[str]:
    """The outliers among the tracks."""
    named = []
    for frame in range(1, frames):
        movements = pair_movements(tracks, frame)
        usual = float(np.median(list(movements.values()))) if movements else 0.0
        far = [(key, moved) for key, moved in movements.items() if abs(moved - usual) > JUMP_PX]
        named += [f"track {key}, frame {frame}: {moved:.0f} px where the median is {usual:.0f}" for key, moved in far]
    return named


def build(frames: list[Frame]) -> np.ndarray:
    mosaic = StripMosaic(MosaicSettings())
    columns = [part for frame in frames for part in mosaic.add(frame)] + mosaic.finish()
    return np.concatenate([part.image for part in columns][:: mosaic.direction], axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    frames = list(open_source(options.data / "images"))
    tracks = read_tracks(options.data / "tracks_mot.txt")
    methods: dict[str, Callable[[list[Frame]], list[float]]] = {
        "edgekit": by_edgekit, "whole-frame phase correlation": by_phase_correlation, "SIFT + RANSAC": by_sift,
    }  # fmt: skip
    middle_px = frames[0].image.shape[1] / 2
    moved = {name: method(frames) for name, method in methods.items()}
    result = {name: figures(values, tracks, middle_px) for name, values in moved.items()}
    for name, row in result.items():
        print(f"{name}: {json.dumps(row)}")
    print("\n".join(jumps(tracks, len(frames))))
    picture = build(frames)
    print(f"panorama {picture.shape[1]} x {picture.shape[0]} px")
    if options.picture:
        cv2.imwrite(str(options.picture), cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))
    if options.json:
        pairs = {name: [round(value, 2) for value in values] for name, values in moved.items()}
        options.json.write_text(json.dumps({"figures": result, "displacements_px": pairs}, indent=2) + "\n")


if __name__ == "__main__":
    main()
