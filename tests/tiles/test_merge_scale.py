"""A long row: what merging adds to the memory, and how the work grows with the length. Times are in bench/merge."""

import tracemalloc

import numpy as np
import pytest
from tile_scene import disc, instances_of

from edgekit.masks import clip
from edgekit.tiles import MergeSettings, TileSettings, merge, plan_tiles
from edgekit.tiles.neighbours import neighbour_pairs
from edgekit.tiles.pieces import gather_pieces


def long_row(discs: int, length_px: int):
    rng = np.random.default_rng(11)
    fruit = sorted(rng.uniform((0, 0, 6), (length_px, 512, 28), (discs, 3)).tolist())
    specs = plan_tiles((length_px, 512), TileSettings(512, 96))
    results = []
    for spec in specs:
        near = [item for item in fruit if spec.x_px - 30 < item[0] < spec.x_px + 542]
        masks = [clip(disc(x - spec.x_px, y, radius), 0, 0, 512, 512) for x, y, radius in near]
        results.append(instances_of([mask for mask in masks if mask.plane.any()]))
    return specs, results, (length_px, 512)


def work(specs, results, size_wh) -> tuple[int, int]:
    """Number of pieces, and of pairs of pieces whose masks are compared."""
    pieces = gather_pieces(specs, results, size_wh, MergeSettings().border_px)
    return len(pieces), len(neighbour_pairs(pieces))


def test_work_grows_with_the_length_and_not_with_its_square():
    short, long = work(*long_row(400, 4800)), work(*long_row(1600, 19200))
    assert long[0] == pytest.approx(4 * short[0], rel=0.1)
    assert long[1] == pytest.approx(4 * short[1], rel=0.25)


@pytest.mark.slow
def test_ten_thousand_discs_need_little_memory():
    specs, results, size_wh = long_row(10_000, 120_000)
    tracemalloc.start()
    merged = merge(specs, results, size_wh, MergeSettings())
    peak_mb = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    assert len(merged) == pytest.approx(10_000, rel=0.01)
    assert peak_mb < 100
