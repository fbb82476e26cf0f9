"""Any marker, whatever somebody printed on it: no crash, and no row outside the run's folder."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgekit.runtime.control import row_name
from edgekit.runtime.markers.detect import MarkerDetector
from edgekit.runtime.markers.payload import parse_payload
from edgekit.runtime.markers.settings import MarkerSettings

WORDS = st.sampled_from(
    ["row", "ROW", ":", "::", "left", "right", "start", "end", "../", "/", "\0", " ", "12", "é", "=1"]
)
PAYLOADS = st.text(max_size=60) | st.lists(WORDS, max_size=8).map("".join) | st.text(max_size=30).map("row:{}".format)


def stays_inside(row: str) -> bool:
    folder = Path("/rides/2026-11-30")
    return Path(os.path.normpath(folder / row)).parent == folder and row_name(row) == row


@settings(max_examples=500, deadline=None)
@given(PAYLOADS)
@example("row:../../etc/passwd")
@example("row:12:left:end")
@example("row:" + "9" * 10_000)
@example("row:\udcff")
def test_any_text_on_a_marker(text) -> None:
    mark = parse_payload(text)
    assert mark is None or stays_inside(mark.row)


@pytest.fixture(scope="module")
def detector() -> MarkerDetector:
    return MarkerDetector(MarkerSettings())


@settings(max_examples=60, deadline=None)
@given(PAYLOADS.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=60))
@example(b"row:\xff\xfe12")
@example(b"row:../x")
def test_any_bytes_in_a_qr_code(detector, payload) -> None:
    try:
        code = cv2.QRCodeEncoder.create().encode(payload)
    except cv2.error:  # nothing to print
        return
    if code is None or code.size == 0:
        return
    picture = cv2.resize(code, None, fx=6, fy=6, interpolation=cv2.INTER_NEAREST)
    picture = cv2.copyMakeBorder(picture, 40, 40, 40, 40, cv2.BORDER_CONSTANT, value=255)
    assert all(stays_inside(found.mark.row) for found in detector.find(np.dstack([picture] * 3)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(8, 700), st.integers(8, 400), st.integers(1, 40))
def test_any_picture(detector, seed, width, height, grain) -> None:
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 2, (height // grain + 1, width // grain + 1, 3), np.uint8) * 255
    picture = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_NEAREST)
    assert all(stays_inside(found.mark.row) for found in detector.find(picture))


def test_a_good_marker_is_read_by_the_detector_of_these_tests(detector) -> None:
    code = cv2.QRCodeEncoder.create().encode("row:12:left")
    picture = cv2.copyMakeBorder(
        cv2.resize(code, None, fx=6, fy=6, interpolation=cv2.INTER_NEAREST), *[40] * 4, 0, value=255
    )
    (found,) = detector.find(np.dstack([picture] * 3))
    assert (found.mark.row, found.mark.side) == ("12", "left")
