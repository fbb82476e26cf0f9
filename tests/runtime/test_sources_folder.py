"""Folders of pictures as frames: order, broken pictures, odd sizes, EXIF."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from edgekit.errors import SettingsError, SourceError
from edgekit.runtime.row_view import open_row
from edgekit.runtime.settings import RunSettings
from edgekit.runtime.sources import open_source
from edgekit.runtime.sources.pictures import is_cut_short


def picture(seed: int, size_wh: tuple[int, int] = (64, 48)) -> np.ndarray:
    noise = np.random.default_rng(seed).integers(0, 255, (size_wh[1], size_wh[0], 3), np.uint8)
    return cv2.GaussianBlur(noise, (5, 5), 1.5)


def jpeg(image: np.ndarray) -> bytes:
    done, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 95])
    assert done
    return data.tobytes()


def test_order_is_natural(tmp_path: Path) -> None:
    for number in (10, 9, 1, 100):
        cv2.imwrite(str(tmp_path / f"f{number}.png"), np.full((8, 8, 3), number, np.uint8))
    values = [int(frame.image[0, 0, 0]) for frame in open_source(tmp_path)]
    assert values == [1, 9, 10, 100]


def test_times_follow_the_rate_of_the_settings_then_of_the_camera(tmp_path: Path) -> None:
    frames = tmp_path / "row"
    frames.mkdir()
    for number in range(4):
        cv2.imwrite(str(frames / f"{number}.png"), picture(number))
    camera = tmp_path / "left.toml"

    def times_s(settings: RunSettings) -> list[float]:
        return [frame.time_s for frame in open_row(frames, settings)]

    assert times_s(RunSettings()) == [number / 30 for number in range(4)]
    camera.write_text('kind = "csi"\naddress = "0"\nrate_hz = 10\n')
    assert times_s(RunSettings(camera=str(camera))) == [0.0, 0.1, 0.2, 0.3]
    assert times_s(RunSettings(camera=str(camera), rate_hz=2.5)) == [0.0, 0.4, 0.8, 1.2]
    camera.write_text('kind = "csi"\naddress = "0"\n')
    assert times_s(RunSettings(camera=str(camera))) == [number / 30 for number in range(4)]
    with pytest.raises(SettingsError, match="rate_hz is 0"):
        RunSettings(rate_hz=0.0)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9, 0.999])
def test_a_jpeg_that_was_cut_is_left_out_and_told(tmp_path: Path, share: float) -> None:
    for number in range(3):
        data = jpeg(picture(number))
        (tmp_path / f"{number}.jpg").write_bytes(data[: int(len(data) * share)] if number == 1 else data)
    source = open_source(tmp_path)
    assert [frame.sequence for frame in source] == [0, 2]
    assert source.faults == ("1 frame left out, cut short: 1.jpg",)


def test_a_trailer_or_a_thumbnail_does_not_fool_the_check() -> None:
    whole = jpeg(picture(0))
    thumbnail = jpeg(picture(1, (16, 16)))
    with_thumbnail = whole[:2] + b"\xff\xe1" + (len(thumbnail) + 2).to_bytes(2, "big") + thumbnail + whole[2:]
    assert not is_cut_short(whole + b"trailer of the camera")
    assert not is_cut_short(with_thumbnail)
    assert is_cut_short(with_thumbnail[: len(with_thumbnail) - 40])


def test_odd_sizes_and_non_pictures_are_left_out(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "0.png"), picture(0))
    cv2.imwrite(str(tmp_path / "1.png"), picture(1, (32, 48)))
    (tmp_path / "2.png").write_text("no picture")
    (tmp_path / "3.png").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("not asked for")
    source = open_source(tmp_path)
    assert [frame.sequence for frame in source] == [0]
    said = " ".join(source.faults)
    assert "of another size than 64 x 48: 1.png" in said
    assert "not a picture: 2.png" in said
    assert "empty file: 3.png" in said


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(tmp_path: Path, orientation: int) -> None:
    """The asymmetric picture comes out upright whatever the orientation it was stored in."""
    upright = np.zeros((32, 64, 3), np.uint8)
    upright[:16, :16] = 255
    stored = {
        1: upright, 2: upright[:, ::-1], 3: upright[::-1, ::-1], 4: upright[::-1], 5: upright.transpose(1, 0, 2),
        6: np.rot90(upright, 1), 7: np.rot90(upright, 2).transpose(1, 0, 2), 8: np.rot90(upright, -1),
    }[orientation]  # fmt: skip
    data = jpeg(np.ascontiguousarray(stored))
    tiff = b"MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01" + bytes(
        [0, orientation, 0, 0, 0, 0, 0, 0]
    )
    segment = b"Exif\x00\x00" + tiff
    data = data[:2] + b"\xff\xe1" + (len(segment) + 2).to_bytes(2, "big") + segment + data[2:]
    (tmp_path / "a.jpg").write_bytes(data)
    (frame,) = open_source(tmp_path)
    assert frame.image.shape == upright.shape
    assert np.abs(frame.image.astype(int) - upright).mean() < 4


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.mp4"
    empty.touch()
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    one = tmp_path / "one.png"
    cv2.imwrite(str(one), picture(0))
    folder = tmp_path / "folder"
    folder.mkdir()
    for path, words in (
        (tmp_path / "missing", "does not exist"), (empty, "is empty"), (text, "as a video"),
        (one, "--panorama"), (folder, "no pictures"),
    ):  # fmt: skip
        with pytest.raises(SourceError, match=words):
            open_source(path)


def test_a_folder_where_nothing_can_be_read_is_an_error(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number}.jpg").write_text("no picture")
    with pytest.raises(SourceError, match="none of the 12 pictures"):
        list(open_source(tmp_path))
