"""From masks to outlines along the edges between pixels, which pycocotools rasterises back to the very same mask."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from edgekit.contracts import BoolPlane, MaskCrop
from edgekit.labels.outline import Points

Ring = list[tuple[int, int]]


def outlines(mask: MaskCrop, *, tolerance_px: float = 0.0) -> list[Points]:
    """One polygon for each connected part of a mask, holes joined to the outline by a slit without width.

    Args:
        mask: in picture pixels.
        tolerance_px: how far an outline may deviate (Douglas-Peucker), so that a person gets few points to drag; 0
            keeps the mask pixel for pixel.

    Returns:
        Polygons in picture pixels, the largest part first; none for an empty mask.
    """
    if not mask.plane.any():
        return []
    parts, count = ndimage.label(mask.plane)
    polygons: list[Points] = []
    for number, place in enumerate(ndimage.find_objects(parts), 1):
        rings = [np.array(ring, np.float64) for ring in _rings(parts[place] == number)]
        rings = [simple for ring in rings if len(simple := _simplified(ring, tolerance_px)) >= 3]
        if rings:
            rings.sort(key=lambda ring: -np.prod(np.ptp(ring, axis=0)))
            shift = (mask.x_px + place[1].start, mask.y_px + place[0].start)
            polygons.append(joined(rings) + shift)
    assert count == len(polygons) or tolerance_px > 0
    return sorted(polygons, key=lambda points: -np.prod(np.ptp(points, axis=0)))


def joined(rings: list[Points]) -> Points:
    """One closed outline through all rings: each is tied to those before it by a line that is walked both ways.

    Since pycocotools toggles at every crossing, the two ways cancel; formats with one outline an object keep holes and
    split fruit in this manner.
    """
    whole = rings[0]
    for ring in rings[1:]:
        distance = ((whole[:, None, :] - ring[None, :, :]) ** 2).sum(axis=2)
        at, start = (int(index) for index in np.unravel_index(distance.argmin(), distance.shape))
        loop = np.concatenate([ring[start:], ring[: start + 1]])
        whole = np.concatenate([whole[: at + 1], loop, whole[at:]])
    return whole


def _rings(plane: BoolPlane) -> list[Ring]:
    """Closed walks along the pixel edges of a plane, the object on the right hand; only the corners are kept."""
    onward = _edges(plane)
    rings: list[Ring] = []
    while onward:
        start = next(iter(onward))
        ring: Ring = []
        here, heading = start, (0, 0)
        while True:
            ways = onward[here]
            way = ways[0] if len(ways) == 1 else max(ways, key=lambda step: _turn(heading, step))
            ways.remove(way)
            if not ways:
                del onward[here]
            if way != heading:
                ring.append(here)
            heading = way
            here = (here[0] + way[0], here[1] + way[1])
            if here == start:
                break
        rings.append(ring)
    return rings


def _turn(heading: tuple[int, int], step: tuple[int, int]) -> int:
    """Positive for a turn to the right on the screen: where pixels touch at a corner, stay at the same pixel."""
    return heading[0] * step[1] - heading[1] * step[0]


def _edges(plane: BoolPlane) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Steps that leave each corner (x, y), the object on their right hand."""
    padded = np.pad(plane, 1)
    inner = padded[1:-1, 1:-1]
    sides: tuple[tuple[npt.NDArray[np.bool_], tuple[int, int], tuple[int, int]], ...] = (
        (inner & ~padded[:-2, 1:-1], (0, 0), (1, 0)),
        (inner & ~padded[1:-1, 2:], (1, 0), (0, 1)),
        (inner & ~padded[2:, 1:-1], (1, 1), (-1, 0)),
        (inner & ~padded[1:-1, :-2], (0, 1), (0, -1)),
    )
    onward: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for edge, (dx, dy), step in sides:
        rows, columns = np.nonzero(edge)
        for corner in zip((columns + dx).tolist(), (rows + dy).tolist(), strict=True):
            onward[corner].append(step)
    return dict(onward)


def _simplified(ring: Points, tolerance_px: float) -> Points:
    if tolerance_px <= 0:
        return ring
    import cv2

    simple = cv2.approxPolyDP(ring.astype(np.float32)[:, None, :], tolerance_px, closed=True)
    return np.asarray(simple[:, 0, :], np.float64)
