"""Where tiles lie, streaming and whole, and what is cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekit.contracts import Columns, TileSpec
from edgekit.errors import SettingsError
from edgekit.tiles import MergeSettings, TileCutter, TileSettings, cut_tile, plan_tiles

tile_settings = st.integers(3, 24).flatmap(
    lambda size: st.builds(TileSettings, st.just(size), st.integers(0, size - 1))
)
sizes = st.tuples(st.integers(1, 80), st.integers(1, 60))
phases = st.tuples(st.integers(0, 50), st.integers(0, 50))


def origins(specs, axis: int) -> list[int]:
    return sorted({spec[1 + axis] for spec in specs})


@settings(deadline=None)
@given(sizes, tile_settings, phases)
def test_tiles_cover_the_panorama_and_neighbours_share_the_overlap(size_wh, chosen, phase_px):
    specs = plan_tiles(size_wh, chosen, phase_px=phase_px)
    assert [spec.number for spec in specs] == list(range(len(specs)))
    assert specs == tuple(sorted(specs, key=lambda spec: (spec.x_px, spec.y_px)))
    for axis in (0, 1):
        starts = origins(specs, axis)
        assert starts[0] == 0
        assert starts[-1] == max(size_wh[axis] - chosen.size_px, 0)
        assert all(0 < gap <= chosen.stride_px for gap in np.diff(starts))
    assert len(specs) == len(origins(specs, 0)) * len(origins(specs, 1))


def test_phase_moves_the_interior_cuts_to_the_left():
    tiles = TileSettings(512, 96)
    assert origins(plan_tiles((1512, 512), tiles), 0) == [0, 416, 832, 1000]
    assert origins(plan_tiles((1512, 512), tiles, phase_px=(64, 0)), 0) == [0, 352, 768, 1000]
    assert origins(plan_tiles((1512, 512), tiles, phase_px=(256, 0)), 0) == [0, 160, 576, 992, 1000]
    assert plan_tiles((1512, 900), tiles, phase_px=(416, 832)) == plan_tiles((1512, 900), tiles)


def test_a_panorama_without_pixels_has_no_tiles():
    assert plan_tiles((0, 400), TileSettings()) == plan_tiles((400, 0), TileSettings()) == ()
    with pytest.raises(ValueError, match="-3 px"):
        plan_tiles((-3, 400), TileSettings())


@pytest.mark.parametrize("size_wh", [(100, 60), (1, 1)])
def test_a_small_picture_is_padded_with_black_and_keeps_its_scale(size_wh):
    picture = np.full((size_wh[1], size_wh[0], 3), 200, np.uint8)
    (spec,) = plan_tiles(size_wh, TileSettings())
    tile = cut_tile(picture, spec)
    assert spec == TileSpec(0, 0, 0, 512)
    assert tile.shape == (512, 512, 3)
    assert np.array_equal(tile[: size_wh[1], : size_wh[0]], picture)
    assert np.count_nonzero(tile) == picture.size


def test_a_tile_owns_its_pixels():
    picture = np.zeros((64, 64, 3), np.uint8)
    tile = cut_tile(picture, TileSpec(0, 0, 0, 64))
    tile[:] = 1
    assert not picture.any()


@settings(deadline=None, max_examples=60)
@given(sizes, tile_settings, st.lists(st.integers(0, 70), max_size=6), st.integers(0, 2**32 - 1))
def test_streaming_cuts_what_the_plan_cuts(size_wh, chosen, widths, seed):
    width, height = size_wh
    picture = np.random.default_rng(seed).integers(1, 256, (height, width, 3)).astype(np.uint8)
    cutter = TileCutter(height, chosen)
    tiles, x = [], 0
    for step in [*widths, width]:
        chunk = picture[:, x : x + step]
        arrived = cutter.add(Columns(chunk, x))
        x += chunk.shape[1]
        assert all(spec.x_px + spec.size_px <= x for spec, _ in arrived)
        tiles += arrived
    waiting = [spec for spec in plan_tiles(size_wh, chosen) if spec.x_px + spec.size_px <= x]
    assert {spec.number for spec in waiting[: len(tiles)]} == {spec.number for spec, _ in tiles}
    tiles += cutter.finish()
    assert tuple(spec for spec, _ in tiles) == plan_tiles(size_wh, chosen)
    assert all(np.array_equal(tile, cut_tile(picture, spec)) for spec, tile in tiles)


def test_streaming_keeps_constant_memory():
    cutter = TileCutter(64, TileSettings(64, 16))
    held = []
    for step in range(400):
        cutter.add(Columns(np.zeros((64, 10, 3), np.uint8), step * 10))
        held.append(sum(value.nbytes for value in vars(cutter).values() if isinstance(value, np.ndarray)))
    assert set(held) == {64 * 3 * 64 * 3}


@pytest.mark.parametrize(
    "columns", [Columns(np.zeros((64, 5, 3), np.uint8), 1), Columns(np.zeros((63, 5, 3), np.uint8), 0)]
)
def test_columns_that_do_not_follow_are_a_bug(columns):
    with pytest.raises(ValueError, match="expected from 0 with height 64"):
        TileCutter(64, TileSettings(64, 16)).add(columns)


def test_a_row_without_columns_has_no_tiles():
    assert TileCutter(64, TileSettings(64, 16)).finish() == []


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: TileSettings(0), "size_px is 0"),
        (lambda: TileSettings(512, 512), "overlap_px is 512"),
        (lambda: TileSettings(512, -1), "overlap_px is -1"),
        (lambda: TileSettings(512.0), "size_px is 512.0"),
        (lambda: TileSettings(512, True), "overlap_px is True"),
        (lambda: MergeSettings(min_agreement=0.0), "min_agreement is 0.0"),
        (lambda: MergeSettings(similar_score=float("nan")), "similar_score is nan"),
        (lambda: MergeSettings(min_containment="0.5"), "min_containment is '0.5'"),
        (lambda: MergeSettings(border_px=0), "border_px is 0"),
        (lambda: MergeSettings(across_classes=1), "across_classes is 1"),
    ],
)
def test_settings_refuse_what_cannot_be_used(build, named):
    with pytest.raises(SettingsError, match=named):
        build()
