"""The panorama on disk: any length, either direction, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekit.contracts import Columns
from edgekit.errors import RunDamagedError, SettingsError
from edgekit.runtime.orientation import rising
from edgekit.runtime.panorama.export import export_panorama, write_preview
from edgekit.runtime.panorama.segments import INDEX_NAME, SegmentReader, SegmentWriter


def blocks(panorama: np.ndarray, widths: list[int], direction: int) -> list[Columns]:
    """The panorama in blocks as a builder would finish them."""
    parts, done = [], 0
    for width in widths:
        width = min(width, panorama.shape[1] - done)
        start = done if direction > 0 else panorama.shape[1] - done - width
        x_px = start if direction > 0 else start - panorama.shape[1]
        parts.append(Columns(panorama[:, start : start + width], x_px))
        done += width
    assert done == panorama.shape[1]
    return parts


@given(st.lists(st.integers(0, 90), min_size=1, max_size=12), st.sampled_from([1, -1]), st.integers(16, 64))
@settings(max_examples=40, deadline=None)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, widths: list[int], direction: int, segment: int
) -> None:
    folder = tmp_path_factory.mktemp("segments")
    panorama = np.random.default_rng(0).integers(0, 255, (5, sum(widths), 3), np.uint8)
    writer = SegmentWriter(folder, width_px=segment)
    for columns in blocks(panorama, widths, direction):
        writer.add(columns)
    index = writer.finish()
    assert index.width_px == writer.width_px == panorama.shape[1]
    if not panorama.size:
        return
    reader = SegmentReader(folder)
    assert np.array_equal(reader.window(0, index.width_px), panorama)
    assert np.array_equal(reader.window(3, 10)[:, : max(0, index.width_px - 3)], panorama[:, 3:10])


def test_longer_than_any_picture_format(tmp_path: Path) -> None:
    panorama = np.random.default_rng(0).integers(0, 255, (8, 70_000, 3), np.uint8)
    writer = SegmentWriter(tmp_path, width_px=65_500)
    writer.add(Columns(panorama, 0))
    writer.finish()
    assert np.array_equal(SegmentReader(tmp_path).window(65_000, 70_000), panorama[:, 65_000:])


def test_the_same_columns_give_the_same_bytes_and_a_cut_run_can_be_done_again(tmp_path: Path) -> None:
    panorama = np.random.default_rng(0).integers(0, 255, (8, 500, 3), np.uint8)
    parts = blocks(panorama, [100] * 5, -1)
    writer = SegmentWriter(tmp_path, width_px=128)
    for columns in parts[:3]:
        writer.add(columns)
    with pytest.raises(RunDamagedError, match="unfinished"):
        SegmentReader(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    again = SegmentWriter(tmp_path, width_px=128)
    for columns in parts:
        again.add(columns)
    again.finish()
    assert before
    assert all((tmp_path / name).read_bytes() == data for name, data in before.items())
    assert np.array_equal(SegmentReader(tmp_path).window(0, 500), panorama)


def test_columns_that_do_not_adjoin_are_a_bug(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path)
    writer.add(Columns(np.zeros((4, 10, 3), np.uint8), 0))
    with pytest.raises(ValueError, match="adjoin"):
        writer.add(Columns(np.zeros((4, 10, 3), np.uint8), 11))


def test_damage_is_told(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path)
    writer.add(Columns(np.zeros((4, 10, 3), np.uint8), 0))
    index = writer.finish()
    (tmp_path / index.files[0]).write_bytes(b"damaged")
    with pytest.raises(RunDamagedError, match="not a picture"):
        SegmentReader(tmp_path).window(0, 10)
    (tmp_path / INDEX_NAME).write_text("{}")
    with pytest.raises(RunDamagedError, match="cannot be read"):
        SegmentReader(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"files": []}, {"files": ["/etc/passwd"]}, {"files": ["../segment_00000.png"]}, {"files": [5]}, {"files": "a"},
        {"width_px": -5}, {"width_px": 0}, {"width_px": 10**12}, {"width_px": "10"}, {"width_px": None},
        {"width_px": 5000}, {"segment_px": 0}, {"direction": 0}, {"height_px": -1}, {"more": 1},
    ],
)  # fmt: skip
def test_an_index_that_cannot_be_right_is_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    writer = SegmentWriter(tmp_path)
    writer.add(Columns(np.zeros((4, 10, 3), np.uint8), 0))
    writer.finish()
    path = tmp_path / INDEX_NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **wrong}))
    with pytest.raises(RunDamagedError):
        SegmentReader(tmp_path)
    path.write_text("[]")
    with pytest.raises(RunDamagedError):
        SegmentReader(tmp_path)


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="webp"):
        SegmentWriter(tmp_path, kind="webp")
    with pytest.raises(SettingsError, match="70000"):
        SegmentWriter(tmp_path, width_px=70_000)


@pytest.mark.parametrize("direction", [1, -1])
def test_rising_columns_lead_back_to_the_scene(direction: int) -> None:
    panorama = np.random.default_rng(0).integers(0, 255, (4, 300, 3), np.uint8)
    end = 0
    for columns in blocks(panorama, [70, 130, 100], direction):
        turned = rising(columns, direction)
        assert turned.x_px == end
        end += turned.image.shape[1]
        x_px = turned.x_px if direction > 0 else 300 - end
        assert np.array_equal(panorama[:, x_px : x_px + columns.image.shape[1]], columns.image)


@pytest.mark.parametrize("shrink", [1, 2, 4, 8])
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("kind", ["png", "jpg"])
def test_an_overview_is_the_panorama_at_a_smaller_size(tmp_path: Path, direction: int, kind: str, shrink: int) -> None:
    ramp = np.linspace(0, 250, 413).astype(np.uint8)
    panorama = np.broadcast_to(ramp[None, :, None], (64, 413, 3)).copy()
    writer = SegmentWriter(tmp_path, width_px=100, kind=kind)
    for columns in blocks(panorama, [300, 113], direction):
        writer.add(columns)
    writer.finish()
    seen = SegmentReader(tmp_path).overview(shrink)
    assert seen.shape == (64 // shrink, 413 // shrink, 3)
    wanted = ramp[: seen.shape[1] * shrink].reshape(-1, shrink).mean(axis=1)
    assert np.abs(seen[seen.shape[0] // 2, :, 0] - wanted).max() < 4 + shrink


def test_a_panorama_beyond_what_jpeg_holds_is_given_out_whole(tmp_path: Path) -> None:
    """Wider than JPEG (65,500 px), remap (32,767) and WebP (16,383) can."""
    ramp = (np.arange(70_000) // 300).astype(np.uint8)
    panorama = np.repeat(np.repeat(ramp[None, :, None], 16, axis=0), 3, axis=2)
    writer = SegmentWriter(tmp_path / "row", kind="png")
    writer.add(Columns(panorama, 0))
    writer.finish()
    export_panorama(tmp_path / "row", tmp_path / "row.tif")
    assert np.array_equal(tifffile.imread(tmp_path / "row.tif"), panorama)
    export_panorama(tmp_path / "row", tmp_path / "row.dzi")
    last = cv2.imread(str(tmp_path / "row_files" / "17" / f"{70_000 // 256}_0.jpg"))
    assert last.shape == (16, 70_000 % 256, 3)
    assert abs(int(last[8, -1, 0]) - int(ramp[-1])) < 4
    write_preview(tmp_path / "row", tmp_path / "row.png")
    small = cv2.imread(str(tmp_path / "row.png"))
    assert small.shape == (1, 4000, 3)
    assert np.abs(small[0, :, 0].astype(int) - ramp[:: 70_000 // 4000][:4000]).max() < 12
