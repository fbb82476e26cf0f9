"""Merging, case by case."""

import numpy as np
import pytest
from tile_scene import PerfectSegmenter, block, disc, instances_of, paint, same_mask, segment_all

from edgekit.contracts import Instances, MaskCrop, TileSpec
from edgekit.masks import clip, decode, encode, trim, union
from edgekit.tiles import MergeSettings, TileSettings, merge, plan_tiles

LEFT, RIGHT = TileSpec(0, 0, 0, 100), TileSpec(1, 80, 0, 100)
"""Two tiles that share the columns 80 to 99 of a panorama of 180 x 100."""
PAIR_WH = (180, 100)


def merge_scene(masks, size_wh, tiles, scores=None):
    scores = [0.9] * len(masks) if scores is None else scores
    specs = plan_tiles(size_wh, tiles)
    results = segment_all(PerfectSegmenter(scores, [0] * len(masks)), paint(masks, size_wh), specs, 4)
    return merge(specs, results, size_wh, MergeSettings())


def seen_by(spec, masks, scores=None, labels=None) -> Instances:
    """Masks in panorama pixels as one tile's result; what the tile does not see is cut off."""
    end = (spec.x_px + spec.size_px, spec.y_px + spec.size_px)
    parts = [trim(clip(mask, spec.x_px, spec.y_px, *end)) for mask in masks]
    return instances_of(parts, scores, labels).shifted(-spec.x_px, -spec.y_px)


def merge_pair(left, right, settings=MergeSettings()):  # noqa: B008 - frozen
    return merge((LEFT, RIGHT), (left, right), PAIR_WH, settings)


def test_the_last_tile_is_shifted_inwards_and_masks_move_with_boxes():
    fruit = disc(880, 650, 30)
    merged = merge_scene([fruit], (900, 700), TileSettings(512, 96))
    assert len(merged) == 1
    shown = clip(fruit, 0, 0, 900, 700)
    assert same_mask(merged.instances.masks[0], shown)
    assert merged.instances.boxes_xyxy[0].tolist() == [850, 620, 900, 680]
    assert not merged.cut[0]


@pytest.mark.parametrize("size_wh", [(100, 60), (1, 1)])
def test_what_lies_in_the_padding_is_clipped_and_dropped(size_wh):
    width, height = size_wh
    across, beyond = block(0, 0, 200, 200), block(width, 0, width + 50, 50)
    specs = plan_tiles(size_wh, TileSettings(512, 96))
    merged = merge(specs, [instances_of([across, beyond])], size_wh, MergeSettings())
    assert len(merged) == 1
    assert same_mask(merged.instances.masks[0], block(0, 0, width, height))
    assert merged.instances.boxes_xyxy[0].tolist() == [0, 0, width, height]
    assert merged.members == (((0, 0),),)


def test_no_tiles_and_no_detections():
    assert len(merge((), (), (0, 0), MergeSettings())) == 0
    merged = merge_pair(Instances.empty(), Instances.empty())
    assert (len(merged), merged.members, merged.cut.tolist()) == (0, (), [])


def test_specs_and_results_must_go_together():
    with pytest.raises(ValueError, match="shorter"):
        merge((LEFT, RIGHT), (Instances.empty(),), PAIR_WH, MergeSettings())


@pytest.mark.parametrize(
    ("radius", "overlap", "width"), [(100, 64, 1000), (300, 64, 1400), (100, 0, 1024), (300, 0, 1536)]
)
def test_a_fruit_larger_than_the_overlap_is_joined(radius, overlap, width):
    first_cut = 512 - overlap // 2
    fruit = disc(first_cut if radius == 100 else width / 2, 256, radius)
    shown = clip(fruit, 0, 0, width, 512)
    merged = merge_scene([fruit], (width, 512), TileSettings(512, overlap))
    assert len(merged) == 1
    assert same_mask(merged.instances.masks[0], shown)
    assert not merged.cut[0]


def test_two_fruit_that_touch_at_a_seam_without_overlap_stay_two():
    upper, lower = block(60, 10, 100, 40), block(100, 38, 140, 70)
    specs = (TileSpec(0, 0, 0, 100), TileSpec(1, 100, 0, 100))
    merged = merge(specs, (seen_by(specs[0], [upper]), seen_by(specs[1], [lower])), (200, 100), MergeSettings())
    assert len(merged) == 2
    assert merged.cut.all()


def test_a_complete_piece_beats_a_cut_one_of_similar_score():
    fruit = disc(95, 50, 12)
    merged = merge_pair(seen_by(LEFT, [fruit], [0.9]), seen_by(RIGHT, [fruit], [0.7]))
    assert merged.members == (((1, 0), (0, 0)),)
    assert merged.instances.scores[0] == np.float32(0.7)
    assert same_mask(merged.instances.masks[0], fruit)
    assert not merged.cut[0]


def test_a_weak_complete_piece_does_not_beat_a_strong_cut_one():
    fruit = disc(95, 50, 12)
    merged = merge_pair(seen_by(LEFT, [fruit], [0.9]), seen_by(RIGHT, [fruit], [0.1]))
    assert merged.members == (((0, 0), (1, 0)),)
    assert merged.instances.scores[0] == np.float32(0.9)
    assert same_mask(merged.instances.masks[0], clip(fruit, 0, 0, 100, 100))


def test_a_joined_fruit_has_score_and_class_of_its_largest_piece():
    fruit = block(60, 40, 170, 60)
    merged = merge_pair(seen_by(LEFT, [fruit], [0.9], [1]), seen_by(RIGHT, [fruit], [0.6], [2]))
    assert merged.members == (((1, 0), (0, 0)),)
    assert (merged.instances.scores[0], merged.instances.labels[0]) == (np.float32(0.6), 2)
    assert same_mask(merged.instances.masks[0], fruit)


def test_detections_of_one_tile_are_never_merged():
    fruit = disc(40, 50, 12)
    merged = merge_pair(seen_by(LEFT, [fruit, fruit], [0.9, 0.8]), Instances.empty())
    assert len(merged) == 2
    shared = disc(90, 50, 8)
    merged = merge_pair(seen_by(LEFT, [shared, shared], [0.9, 0.8]), seen_by(RIGHT, [shared], [0.9]))
    assert len(merged) == 2


def test_a_weak_piece_never_joins_two_fruit():
    """A weak blob of the middle tile agrees with a fruit at each of its ends; no other tile sees both."""
    specs = (TileSpec(0, 0, 0, 100), TileSpec(1, 80, 0, 100), TileSpec(2, 160, 0, 100))
    left, right = block(60, 40, 95, 60), block(165, 40, 200, 60)
    blob = block(80, 40, 180, 60)

    def count(score: float) -> int:
        results = (seen_by(specs[0], [left]), seen_by(specs[1], [blob], [score]), seen_by(specs[2], [right]))
        return len(merge(specs, results, (260, 100), MergeSettings()))

    assert count(0.1) == 2
    assert count(0.9) == 1


def test_two_views_that_contradict_each_other_are_not_joined_through_a_third():
    """Tile 2 sees both fruit apart; the blob of tile 1 must not make them one."""
    upper, lower = block(85, 20, 99, 40), block(85, 44, 99, 62)
    blob = union([upper, lower, block(85, 20, 99, 62)])
    merged = merge_pair(seen_by(LEFT, [blob], [0.9]), seen_by(RIGHT, [upper, lower], [0.8, 0.8]))
    assert len(merged) == 2


def test_classes():
    """Neighbouring tiles may call one fruit differently: it is still one fruit, with the class of the kept piece."""
    fruit = disc(90, 50, 8)
    left, right = seen_by(LEFT, [fruit], [0.6], [1]), seen_by(RIGHT, [fruit], [0.8], [2])
    merged = merge_pair(left, right)
    assert merged.instances.labels.tolist() == [2]
    assert len(merge_pair(left, right, MergeSettings(across_classes=False))) == 2


def test_pieces_of_one_class_find_each_other_first():
    fruit = disc(90, 50, 8)
    left = seen_by(LEFT, [fruit, fruit], [0.9, 0.8], [1, 2])
    right = seen_by(RIGHT, [fruit, fruit], [0.9, 0.8], [2, 1])
    merged = merge_pair(left, right)
    assert sorted(merged.members) == [((0, 0), (1, 1)), ((1, 0), (0, 1))]


def figure_of_eight() -> MaskCrop:
    return union([disc(90, 40, 6), disc(90, 52, 6)])


def ring() -> MaskCrop:
    outer, inner = disc(90, 50, 9), disc(90, 50, 4)
    plane = outer.plane.copy()
    rows, columns = inner.y_px - outer.y_px, inner.x_px - outer.x_px
    plane[rows : rows + inner.plane.shape[0], columns : columns + inner.plane.shape[1]] &= ~inner.plane
    return MaskCrop(plane, outer.x_px, outer.y_px)


@pytest.mark.parametrize(
    "fruit",
    [block(90, 50, 91, 51), block(70, 50, 120, 51), block(90, 10, 91, 90), figure_of_eight(), ring()],
    ids=["one pixel", "line across the strip", "upright line", "figure of eight", "ring"],
)
def test_masks_that_are_no_polygon(fruit):
    merged = merge_pair(seen_by(LEFT, [fruit]), seen_by(RIGHT, [fruit]))
    assert len(merged) == 1
    assert decode(encode(merged.instances.masks[0], PAIR_WH)).area_px == fruit.area_px


def test_a_fruit_that_the_next_tile_missed_is_told_as_cut():
    fruit = disc(95, 50, 30)
    merged = merge_pair(seen_by(LEFT, [fruit]), Instances.empty())
    assert (merged.cut.tolist(), merged.whole.tolist()) == ([True], [False])
    at_the_edge = disc(2, 50, 12)
    merged = merge_pair(seen_by(LEFT, [clip(at_the_edge, 0, 0, 100, 100)]), Instances.empty())
    assert (merged.cut.tolist(), merged.whole.tolist()) == ([False], [True])


def test_a_sliver_that_the_tile_with_the_better_view_denies_is_no_fruit():
    sliver = disc(99, 50, 12)
    merged = merge_pair(seen_by(LEFT, [sliver]), seen_by(RIGHT, [disc(150, 50, 12)]))
    assert merged.members == (((1, 0),),)
    assert merged.unconfirmed == ((0, 0),)
    confirmed = merge_pair(seen_by(LEFT, [sliver]), seen_by(RIGHT, [sliver], [0.06]))
    assert confirmed.members == (((0, 0), (1, 0)),)


def test_fragments_of_one_tile_go_into_the_fruit_that_another_tile_saw():
    fruit = block(60, 30, 97, 70)
    fragments = [block(80, 30, 97, 70), block(80, 45, 95, 70), block(80, 30, 90, 50)]
    merged = merge_pair(seen_by(LEFT, [fruit], [0.9]), seen_by(RIGHT, fragments, [0.8, 0.7, 0.6]))
    assert merged.members == (((0, 0), (1, 0), (1, 1), (1, 2)),)
    assert same_mask(merged.instances.masks[0], fruit)


def test_a_weak_detection_takes_no_fragments_in():
    fruit = block(60, 30, 97, 70)
    halves = [block(80, 30, 95, 49), block(80, 51, 95, 70)]
    left = seen_by(LEFT, [fruit], [0.1])
    assert len(merge_pair(left, seen_by(RIGHT, halves, [0.8, 0.8]))) == 2
    assert len(merge_pair(seen_by(LEFT, [fruit], [0.8]), seen_by(RIGHT, halves, [0.8, 0.8]))) == 1
    nested = [block(80, 30, 97, 70), block(80, 45, 95, 65)]
    assert len(merge_pair(left, seen_by(RIGHT, nested, [0.8, 0.7]))) == 2
    assert len(merge_pair(seen_by(LEFT, [fruit], [0.8]), seen_by(RIGHT, nested, [0.8, 0.7]))) == 1


def test_fruit_leave_from_left_to_right():
    masks = [disc(x, 50, 5) for x in (150, 20, 90)]
    merged = merge_pair(seen_by(LEFT, masks[1:]), seen_by(RIGHT, [masks[0], masks[2]]))
    assert merged.instances.boxes_xyxy[:, 0].tolist() == [15, 85, 145]
