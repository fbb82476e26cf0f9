"""Markers in frames that move: rows begin and end, once each; no text of a marker becomes a path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekit.contracts import Frame
from edgekit.errors import SettingsError
from edgekit.runtime.markers import MarkerSettings, RowMark, parse_payload
from edgekit.runtime.markers.cutting import row_stretches
from edgekit.runtime.markers.detect import MarkerDetector
from edgekit.runtime.markers.row_marks import RowMarks
from edgekit.runtime.row_source import fingerprint, panorama_doubts, plan_sources
from edgekit.runtime.sources import open_source
from edgekit.runtime.sources.stretch import Stretch, parse_stretch

RATE_HZ = 15.0
WIDTH, HEIGHT = 640, 480


def qr(text: str, side_px: int = 160) -> np.ndarray:
    code = cv2.QRCodeEncoder.create().encode(text)
    return cv2.resize(code, (side_px, side_px), interpolation=cv2.INTER_NEAREST)


def aruco(number: int, side_px: int = 120) -> np.ndarray:
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_5X5_100)
    return cv2.copyMakeBorder(
        cv2.aruco.generateImageMarker(dictionary, number, side_px), 20, 20, 20, 20, cv2.BORDER_CONSTANT, value=255
    )


def leaves(seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).integers(0, 255, (HEIGHT // 8, WIDTH // 8, 3), np.uint8)
    return cv2.GaussianBlur(cv2.resize(noise, (WIDTH, HEIGHT)), (0, 0), 2)


def with_marker(marker: np.ndarray, x_px: int) -> np.ndarray:
    image = leaves()
    height, width = marker.shape
    left, right = max(x_px, 0), min(x_px + width, WIDTH)
    if left < right:
        image[100 : 100 + height, left:right] = marker[:, left - x_px : right - x_px, None]
    return image


class Ride:
    """Frames in which markers pass, 40 px a frame, at given frames."""

    def __init__(self, markers: dict[int, np.ndarray], frames: int) -> None:
        self._markers, self._frames = markers, frames
        self.name, self.length, self.faults = "ride", frames, ()

    def __iter__(self) -> Iterator[Frame]:
        for number in range(self._frames):
            image = leaves()
            for begin, marker in self._markers.items():
                if 0 <= number - begin < 20:
                    image = with_marker(marker, WIDTH - 40 * (number - begin))
            yield Frame(image, number, number / RATE_HZ)

    def close(self) -> None:
        pass


def events(markers: dict[int, np.ndarray], frames: int, **settings: object) -> list[tuple[str, str]]:
    marks = RowMarks(MarkerSettings(**{"gone_s": 2.0, **settings}))  # type: ignore[arg-type]
    found = [marks.look(frame) for frame in Ride(markers, frames)]
    return [(event.kind, event.row) for event in found if event is not None]


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("row:12", RowMark("12")),
        ("ROW:12:Left", RowMark("12", "left")),
        ("row:12:right:end", RowMark("12", "right", "end")),
        ("row:A 3:start", RowMark("A_3", None, "start")),
        ("row:", None),
        ("row:../../etc/passwd", None),
        ("row:/etc", None),
        ("row:12:left:right", None),
        ("row:12:up", None),
        ("https://example.org/12", None),
        ("12", None),
        ("row:CON", None),
    ],
)
def test_what_a_marker_says(text: str, mark: RowMark | None) -> None:
    assert parse_payload(text) == mark


@given(st.text(max_size=80))
def test_no_text_gets_out_of_its_folder(text: str) -> None:
    for payload in (text, f"row:{text}", f"row:{text}:left"):
        mark = parse_payload(payload)
        if mark is not None:
            assert Path("runs", mark.row).parent == Path("runs")
            assert mark.row not in ("", ".", "..")
            assert mark.row.isprintable()


def test_a_marker_opens_its_row_and_closes_it_at_the_next_sight() -> None:
    assert events({5: qr("row:12:left"), 90: qr("row:12:left")}, 120) == [("open", "12"), ("close", "12")]


def test_aruco_numbers_are_rows_and_another_row_ends_the_first() -> None:
    assert events({5: aruco(7), 60: aruco(8), 110: aruco(8)}, 140) == [("open", "7"), ("open", "8"), ("close", "8")]


def test_start_and_end_are_heeded_in_their_places_only() -> None:
    end, start = qr("row:4:end"), qr("row:4:start")
    assert events({5: end, 50: start, 95: start, 140: end}, 170) == [("open", "4"), ("close", "4")]


def test_a_marker_that_stays_in_sight_is_heeded_once() -> None:
    marks = RowMarks(MarkerSettings(gone_s=1.0))
    image = with_marker(aruco(3), 250)
    found = [marks.look(Frame(image, number, number / RATE_HZ)) for number in range(150)]
    assert [event.kind for event in found if event] == ["open"]


def test_one_look_is_not_enough_and_leaves_are_no_markers() -> None:
    marks = RowMarks(MarkerSettings(every_s=0.0))
    shown = with_marker(aruco(3), 250)
    found = [marks.look(Frame(shown if number == 4 else leaves(number), number, float(number))) for number in range(9)]
    assert found == [None] * 9


def test_markers_for_the_other_side_are_passed_over() -> None:
    marks = RowMarks(MarkerSettings(every_s=0.0), side="right")
    frames = [Frame(with_marker(qr("row:12:left"), 200), number, float(number)) for number in range(4)]
    assert [marks.look(frame) for frame in frames] == [None] * 4


def test_scale_of_a_marker_of_known_size() -> None:
    marks = RowMarks(MarkerSettings(every_s=0.0, size_mm=60.0))
    for number in range(5):
        marks.look(Frame(with_marker(aruco(3, 120), 250), number, float(number)))
    assert marks.px_per_metre == pytest.approx(2000, rel=0.01)


def test_corners_are_those_of_the_whole_picture() -> None:
    image = cv2.resize(with_marker(aruco(3, 120), 250), None, fx=3, fy=3, interpolation=cv2.INTER_NEAREST)
    (sighting,) = MarkerDetector(MarkerSettings()).find(image)
    assert sighting.side_px == pytest.approx(360, rel=0.01)
    assert sighting.corners_xy[0] == pytest.approx([(250 + 20) * 3 - 0.5, (100 + 20) * 3 - 0.5], abs=2)


def test_a_recording_is_cut_into_rows(tmp_path: Path) -> None:
    rows = row_stretches(Ride({5: aruco(7), 60: aruco(8)}, 110), MarkerSettings(gone_s=2.0), progress=lambda *_: None)
    (seven, eight) = rows.stretches
    assert (seven.row, eight.row) == ("7", "8")
    assert 5 < seven.first < 20
    assert seven.stop == eight.first
    assert eight.stop == 110
    assert "no marker at its end" in rows.remarks[0]
    frames = tmp_path / "ride"
    frames.mkdir()
    for frame in Ride({}, 12):
        cv2.imwrite(str(frames / f"{frame.sequence}.png"), frame.image)
    stretch = Stretch(frames, "row-7", 4, 9)
    assert parse_stretch(stretch.path) == stretch
    assert [frame.sequence for frame in open_source(stretch.path)] == [4, 5, 6, 7, 8]
    assert fingerprint(stretch.path) == fingerprint(frames)
    assert plan_sources([stretch.path], panorama=False)[0].path.endswith("#row-7:4-9")


def test_frames_under_the_option_panorama_are_told(tmp_path: Path) -> None:
    for number in range(5):
        cv2.imwrite(str(tmp_path / f"frame_{number}.png"), leaves())
    assert "leave out --panorama" in panorama_doubts([tmp_path])[0]
    for number in range(5):
        cv2.imwrite(str(tmp_path / f"frame_{number}.png"), np.zeros((100, 900 + number, 3), np.uint8))
    assert panorama_doubts([tmp_path]) == []


@pytest.mark.parametrize("wrong", [{"kinds": ()}, {"confirm": 0}, {"size_mm": 1.0}, {"gone_s": 0.0}])
def test_settings_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        MarkerSettings(**wrong)  # type: ignore[arg-type]
