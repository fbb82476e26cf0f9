"""Folders of pictures as frames: order, broken pictures, odd sizes, EXIF."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile

from edgekit.errors import SettingsError, SourceError
from edgekit.runtime.row_source import panorama_columns, panorama_doubts
from edgekit.runtime.row_view import open_row
from edgekit.runtime.settings import RunSettings
from edgekit.runtime.sources import open_source
from edgekit.runtime.sources.decoder_words import decoder_words
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


def test_the_size_of_most_of_the_first_pictures_counts(tmp_path: Path) -> None:
    """The first one is of another size: a snapshot, or one that was taken before the camera was set up."""
    sizes = [(32, 48), (64, 48), (64, 48), (64, 40), (64, 48)]
    for number, size_wh in enumerate(sizes):
        cv2.imwrite(str(tmp_path / f"{number}.png"), picture(number, size_wh))
    source = open_source(tmp_path)
    assert [frame.sequence for frame in source] == [1, 2, 4]
    assert source.faults == ("2 frames left out, of another size than 64 x 48: 0.png, 3.png",)


def test_a_jpeg_whose_middle_is_damaged_is_left_out_and_named(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    """The decoder fills what is lost with grey and only says so on standard error, without a name."""
    whole = jpeg(picture(1, (320, 240)))
    rng = np.random.default_rng(0)
    torn = bytearray(whole)
    torn[len(torn) // 2 : len(torn) // 2 + 400] = bytes(rng.integers(0, 255, 400).tolist())
    spliced = whole[: len(whole) // 2] + b"\xff\xd9"
    padded = whole[:-2] + bytes(20) + whole[-2:]
    for number, data in enumerate((whole, spliced, bytes(torn), padded)):
        (tmp_path / f"{number}.jpg").write_bytes(data)
    source = open_source(tmp_path)
    assert [frame.sequence for frame in source] == [0, 3]
    assert source.faults == ("2 frames left out, damaged: 1.jpg, 2.jpg",)
    assert capfd.readouterr().err == ""


def test_what_others_say_while_a_picture_is_decoded_is_not_lost(capfd: pytest.CaptureFixture) -> None:
    with decoder_words() as damage:
        os.write(2, b"libpng warning: iCCP: known incorrect sRGB profile\n")
        os.write(2, b"Corrupt JPEG data: premature end of data segment\nthe disk is on fire\n")
    assert damage == ["Corrupt JPEG data: premature end of data segment"]
    assert capfd.readouterr().err == "the disk is on fire\n"


def test_a_picture_beyond_what_opencv_reads_is_left_out(tmp_path: Path) -> None:
    """The header says 40,000 x 40,000; no pixels are needed for the refusal."""
    cv2.imwrite(str(tmp_path / "0.png"), picture(0))
    chunk = b"IHDR" + struct.pack(">IIBBBBB", 40_000, 40_000, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    packed = zlib.compress(bytes(100))
    for kind, body in ((b"IDAT", packed), (b"IEND", b"")):
        data += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    (tmp_path / "1.png").write_bytes(data)
    source = open_source(tmp_path)
    assert [frame.sequence for frame in source] == [0]
    assert source.faults == ("1 frame left out, too large to be read: 1.png",)
    with pytest.raises(SourceError, match="too large"):
        list(panorama_columns(tmp_path / "1.png"))


def test_of_a_file_with_several_pictures_the_first_is_used_and_that_is_told(tmp_path: Path) -> None:
    pages = [picture(number) for number in range(3)]
    tifffile.imwrite(tmp_path / "0.tif", np.stack(pages), photometric="rgb")
    cv2.imwrite(str(tmp_path / "1.tif"), pages[1])
    source = open_source(tmp_path)
    assert len(list(source)) == 2
    assert source.faults == ("1 frame with several pictures, of which the first alone is used: 0.tif",)
    (doubt,) = panorama_doubts([tmp_path / "0.tif"])
    assert "0.tif: several pictures" in doubt


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
