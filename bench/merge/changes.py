"""What moving the grid changes: counts by picture, fruit that cross the threshold, fruit that come and go."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from edgekit.contracts import MaskCrop
from edgekit.masks import bounds_xyxy, iou

PHASES_PX = (0, 64, 128, 256)
"""How far the grid is moved to the left and up; the others are compared with the first."""
SAME_FRUIT_IOU = 0.5


@dataclass(frozen=True)
class Counted:
    """What one grid says of one picture: every fruit above the floor, and which of them are counted."""

    masks: tuple[MaskCrop, ...]
    counted: np.ndarray
    tiles: int

    @property
    def count(self) -> int:
        return int(self.counted.sum())

    def hits(self, labels: tuple[MaskCrop, ...]) -> int:
        """Counted fruit that are labelled."""
        return len(matched(tuple(self.masks[row] for row in np.flatnonzero(self.counted)), labels))


@dataclass
class Change:
    """What moving the grid changed, summed over pictures."""

    phase_px: int
    total: int = 0
    pictures: int = 0
    largest: int = 0
    """Largest change of one picture's count."""
    absolute: int = 0
    """Sum of the changes of each picture's count."""
    crossed_up: int = 0
    """Fruit found on both grids whose score passed the threshold on this one only."""
    crossed_down: int = 0
    new: int = 0
    """Counted fruit that have no counterpart on the first grid, whatever its score."""
    lost: int = 0

    def add(self, base: Counted, moved: Counted) -> None:
        change = abs(moved.count - base.count)
        self.total += moved.count
        self.pictures += change > 0
        self.largest = max(self.largest, change)
        self.absolute += change
        pairs = matched(base.masks, moved.masks)
        self.crossed_down += sum(bool(base.counted[i] and not moved.counted[j]) for i, j in pairs)
        self.crossed_up += sum(bool(moved.counted[j] and not base.counted[i]) for i, j in pairs)
        self.lost += base.count - sum(bool(base.counted[i]) for i, _ in pairs)
        self.new += moved.count - sum(bool(moved.counted[j]) for _, j in pairs)


def matched(one: tuple[MaskCrop, ...], other: tuple[MaskCrop, ...]) -> list[tuple[int, int]]:
    """Pairs of masks that are the same fruit, best IoU first."""
    boxes, others = (np.array([bounds_xyxy(mask) for mask in masks]).reshape(-1, 4) for masks in (one, other))
    touch = (boxes[:, None, :2] < others[None, :, 2:]).all(2) & (others[None, :, :2] < boxes[:, None, 2:]).all(2)
    found = [(iou(one[i], other[j]), i, j) for i, j in np.argwhere(touch).tolist()]
    pairs: list[tuple[int, int]] = []
    for overlap, i, j in sorted(found, key=lambda pair: (-pair[0], pair[1:])):
        if overlap >= SAME_FRUIT_IOU and all(i != first and j != second for first, second in pairs):
            pairs.append((i, j))
    return pairs


def changes(rows: list[list[Counted]]) -> list[Change]:
    """One change for each phase; the first is the grid that the others are compared with."""
    found = [Change(phase) for phase in PHASES_PX]
    for row in rows:
        for change, moved in zip(found, row, strict=True):
            change.add(row[0], moved)
    return found


def summary(method: str, overlap_px: int, rows: list[list[Counted]], labels: list[tuple[MaskCrop, ...]]) -> dict:
    """One line of the table: percentages are of the first grid's count, means over the moved grids."""
    found = changes(rows)
    base, moved = found[0].total, found[1:]
    totals = [change.total for change in found]

    def percent(values: list[int]) -> float:
        return 100 * float(np.mean(values)) / base

    return {
        "method": method, "overlap_px": overlap_px, "tiles": sum(row[0].tiles for row in rows), "totals": totals,
        "worst_total_pct": 100 * max(abs(total - base) for total in totals) / base,
        "mean_total_pct": percent([abs(change.total - base) for change in moved]),
        "per_picture_pct": percent([change.absolute for change in moved]),
        "pictures_changed": float(np.mean([change.pictures for change in moved])),
        "largest": max(change.largest for change in moved),
        "crossed_pct": percent([change.crossed_up + change.crossed_down for change in moved]),
        "crossed_net_pct": percent([abs(change.crossed_up - change.crossed_down) for change in moved]),
        "new_or_lost_pct": percent([change.new + change.lost for change in moved]),
        "f1": f1(rows, labels),
        "changes": [asdict(change) for change in found],
        "counts": [[counted.count for counted in row] for row in rows],
    }  # fmt: skip


def f1(rows: list[list[Counted]], labels: list[tuple[MaskCrop, ...]]) -> float:
    """F1 against the labels at mask IoU 0.5, over all grids."""
    hits = sum(counted.hits(truth) for row, truth in zip(rows, labels, strict=True) for counted in row)
    counted = sum(counted.count for row in rows for counted in row)
    labelled = sum(len(row) * len(truth) for row, truth in zip(rows, labels, strict=True))
    return 2 * hits / (counted + labelled)


COLUMNS = (
    ("method", "method", "s"), ("overlap", "overlap_px", "d"), ("tiles", "tiles", "d"),
    ("worst total %", "worst_total_pct", ".2f"), ("mean total %", "mean_total_pct", ".2f"),
    ("per picture %", "per_picture_pct", ".2f"), ("pictures changed", "pictures_changed", ".1f"),
    ("largest", "largest", "d"), ("crossed %", "crossed_pct", ".2f"), ("net %", "crossed_net_pct", ".2f"),
    ("new or lost %", "new_or_lost_pct", ".2f"), ("F1", "f1", ".3f"),
)  # fmt: skip


def table(rows: list[dict]) -> str:
    lines = [[title for title, _, _ in COLUMNS] + ["totals"]]
    lines += [
        [format(row[key], form) for _, key, form in COLUMNS] + [" ".join(map(str, row["totals"]))] for row in rows
    ]
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
