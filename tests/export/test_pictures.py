"""Real tiles out of folders that hold whatever people keep in folders."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from edgekit.errors import SourceError

pytest.importorskip("onnx")
from edgekit.export.pictures import cut, read_picture, read_tiles, spread


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(4):
        cv2.imwrite(str(tmp_path / f"{number}.jpg"), rng.integers(0, 256, (130, 200, 3), np.uint8))
    return tmp_path


def test_bad_pictures_are_skipped_and_counted(folder):
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "text.jpg").write_text("no picture")
    whole = (folder / "0.jpg").read_bytes()
    (folder / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "notes.txt").write_text("not looked at")
    tiles = read_tiles(folder, size_px=64, limit=50, at_least=4)
    assert tiles.pictures == 4
    assert sorted(line.split(":")[0] for line in tiles.skipped) == ["cut.jpg", "empty.jpg", "text.jpg"]
    assert tiles.tiles.shape[1:] == (64, 64, 3)


def test_a_bad_picture_does_not_cost_a_tile_while_there_are_others(folder):
    (folder / "00.jpg").write_bytes(b"")
    assert len(read_tiles(folder, size_px=64, limit=2, at_least=2).tiles) == 2


def test_too_few_are_refused_with_the_numbers(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    with pytest.raises(SourceError, match=r"0 tiles, 8 are needed \(1 of 1 files skipped\)"):
        read_tiles(tmp_path, size_px=64, limit=10, at_least=8)
    with pytest.raises(SourceError, match="no folder"):
        read_tiles(tmp_path / "nowhere", size_px=64, limit=10, at_least=1)


def test_tiles_are_rgb_and_turned_as_the_file_says(tmp_path):
    red = np.zeros((64, 64, 3), np.uint8)
    red[..., 2] = 255
    cv2.imwrite(str(tmp_path / "red.png"), red)
    picture = read_picture(tmp_path / "red.png")
    assert picture[0, 0].tolist() == [255, 0, 0]


@pytest.mark.parametrize(
    ("height", "width", "number"), [(64, 64, 1), (63, 64, 1), (10, 10, 1), (128, 200, 6), (64, 127, 1)]
)
def test_pictures_are_cut_into_a_grid_and_small_ones_get_a_black_border(height, width, number):
    tiles = list(cut(np.full((height, width, 3), 9, np.uint8), 64))
    assert len(tiles) == number
    assert all(tile.shape == (64, 64, 3) for tile in tiles)
    assert sum(int((tile == 9).all(axis=2).sum()) for tile in tiles) <= height * width


def test_spread_keeps_the_ends():
    assert spread(range(10), 3) == [0, 4, 9]
    assert spread(range(2), 5) == [0, 1]
