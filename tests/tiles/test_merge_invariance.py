"""The count must not depend on where the grid starts, on the order of tiles, or on the batch size."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_scene import PerfectSegmenter, disc, instances_of, left_to_right, paint, same, segment_all

from edgekit.contracts import Instances
from edgekit.masks import clip
from edgekit.tiles import MergeSettings, TileSettings, merge, plan_tiles

TILES = TileSettings(size_px=64, overlap_px=24)
LARGEST_RADIUS = 11.4
"""The disc then is 22 or 23 pixels wide: smaller than the overlap, by as little as can be."""

scenes = st.lists(
    st.tuples(st.integers(0, 2400), st.integers(0, 1100), st.floats(0.6, LARGEST_RADIUS), st.floats(0.06, 1)),
    max_size=45,
)
sizes = st.tuples(st.integers(1, 240), st.integers(1, 110))
phases = st.tuples(st.integers(0, 39), st.integers(0, 39))


@settings(max_examples=80, deadline=None)
@given(scenes, sizes, phases, st.randoms(use_true_random=False), st.integers(1, 9))
def test_fruit_smaller_than_the_overlap_are_found_once(scene, size_wh, phase_px, random, batch):
    picture = paint([disc(x / 10, y / 10, radius) for x, y, radius, _ in scene], size_wh)
    segmenter = PerfectSegmenter([score for *_, score in scene], [number % 3 for number in range(len(scene))])
    specs = list(plan_tiles(size_wh, TILES, phase_px=phase_px))
    random.shuffle(specs)
    merged = merge(specs, segment_all(segmenter, picture, specs, batch), size_wh, MergeSettings())
    assert same(left_to_right(merged.instances), left_to_right(segmenter.see(picture)))
    assert not merged.cut.any()
    assert merged.unconfirmed == ()


def noisy_results(seed: int, specs) -> dict[int, Instances]:
    """What a bad model might say: jittered, cut, doubled, swollen and missed detections of the same discs."""
    rng = np.random.default_rng(seed)
    fruit = rng.uniform((0, 0, 2), (240, 110, 30), (40, 3))
    results = {}
    for spec in specs:
        views = fruit[np.repeat(np.arange(40), rng.choice([0, 1, 1, 1, 2], 40))]
        views = views - (spec.x_px, spec.y_px, 0) + rng.normal(0, 2, (len(views), 3))
        masks = [clip(disc(x, y, max(radius, 1)), 0, 0, 64, 64) for x, y, radius in views]
        masks = [mask for mask in masks if mask.plane.any()]
        scores = rng.choice([0.06, 0.3, 0.5, 0.5, 0.9], len(masks))
        results[spec.number] = instances_of(masks, scores, rng.integers(0, 2, len(masks)))
    return results


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), phases, st.randoms(use_true_random=False), st.booleans())
def test_noise_is_merged_alike_whatever_the_order_of_tiles(seed, phase_px, random, across_classes):
    size_wh = (240, 110)
    specs = list(plan_tiles(size_wh, TILES, phase_px=phase_px))
    results = noisy_results(seed, specs)
    chosen = MergeSettings(across_classes=across_classes)
    expected = merge(specs, [results[spec.number] for spec in specs], size_wh, chosen)
    random.shuffle(specs)
    merged = merge(specs, [results[spec.number] for spec in specs], size_wh, chosen)
    assert same(merged.instances, expected.instances)
    assert merged.members == expected.members
    assert np.array_equal(merged.cut, expected.cut)
    assert merged.unconfirmed == expected.unconfirmed


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_every_detection_ends_in_one_place_and_no_fruit_is_made_within_one_tile(seed):
    size_wh = (240, 110)
    specs = plan_tiles(size_wh, TILES)
    results = noisy_results(seed, specs)
    merged = merge(specs, [results[spec.number] for spec in specs], size_wh, MergeSettings())
    everything = [(spec.number, row) for spec in specs for row in range(len(results[spec.number]))]
    assert sorted([member for members in merged.members for member in members] + [*merged.unconfirmed]) == everything
    for members in merged.members:
        assert len(members) == 1 or len({tile for tile, _ in members}) > 1
    scores = [results[tile].scores[row] for (tile, row), *_ in merged.members]
    labels = [results[tile].labels[row] for (tile, row), *_ in merged.members]
    assert np.array_equal(merged.instances.scores, np.array(scores, np.float32))
    assert np.array_equal(merged.instances.labels, np.array(labels, np.int32))
    counts = [merged.count(threshold) for threshold in np.linspace(0, 1, 50)]
    assert counts == sorted(counts, reverse=True)
