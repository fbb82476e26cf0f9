"""Extra tiles for fruit that no tile saw whole."""

import numpy as np
from tile_scene import PerfectSegmenter, block, disc, instances_of, paint, same, segment_all

from edgekit.contracts import TileSpec
from edgekit.tiles import MergeSettings, TileSettings, merge, plan_tiles, second_look

TILES = TileSettings(size_px=128, overlap_px=16)


def look_twice(masks, scores, size_wh, phase_px):
    picture, segmenter = paint(masks, size_wh), PerfectSegmenter(scores, [0] * len(masks))
    specs = plan_tiles(size_wh, TILES, phase_px=phase_px)
    results = segment_all(segmenter, picture, specs, 4)
    first = merge(specs, results, size_wh, MergeSettings())
    extra = second_look(first, specs, size_wh, TILES)
    looks = list(zip(extra, segment_all(segmenter, picture, extra, 4), strict=True))
    return first, extra, merge(specs, results, size_wh, MergeSettings(), looks=looks)


def test_fruit_larger_than_the_overlap_are_seen_whole_at_the_second_look():
    masks = [disc(120, 60, 30), disc(40, 40, 10), disc(228, 60, 25)]
    first, extra, second = look_twice(masks, [0.9] * 3, (400, 128), (0, 0))
    assert first.whole.tolist() == [True, False, False]
    assert extra == (TileSpec(4, 64, 0, 128), TileSpec(5, 160, 0, 128))
    assert second.whole.all()
    assert same(second.instances, first.instances)
    assert {members[0][0] for members in second.members[1:]} == {4, 5}


def test_the_extra_tile_does_not_depend_on_the_grid():
    extras = {look_twice([disc(342, 60, 30)], [0.9], (600, 128), (phase, 0))[1] for phase in (0, 8, 20)}
    assert {spec[1:] for extra in extras for spec in extra} == {(288, 0, 128)}


def test_nobody_looks_twice_at_weak_fruit_whole_fruit_and_fruit_larger_than_a_tile():
    assert look_twice([disc(120, 60, 30)], [0.1], (400, 128), (0, 0))[1] == ()
    assert look_twice([disc(60, 60, 30)], [0.9], (400, 128), (0, 0))[1] == ()
    assert look_twice([block(50, 10, 200, 60)], [0.9], (400, 128), (0, 0))[1] == ()
    assert second_look(merge((), (), (0, 0), MergeSettings()), (), (0, 0), TILES) == ()


def test_a_tile_is_never_asked_for_twice():
    specs = (TileSpec(7, 0, 0, 128),)
    fruit = instances_of([block(100, 10, 128, 40)])
    merged = merge(specs, [fruit], (400, 128), MergeSettings())
    extra = second_look(merged, specs, (400, 128), TILES)
    assert [spec.number for spec in extra] == [8]
    assert second_look(merged, (*specs, *extra), (400, 128), TILES) == ()
    assert np.array_equal(merged.cut, [True])


def test_what_the_extra_tile_cuts_is_left_out():
    specs = (TileSpec(0, 0, 0, 128),)
    look = (TileSpec(1, 64, 0, 128), instances_of([block(0, 10, 30, 40), block(40, 50, 60, 60)]))
    merged = merge(specs, [instances_of([])], (400, 128), MergeSettings(), looks=[look])
    assert merged.members == (((1, 1),),)
    assert merged.unconfirmed == ()
