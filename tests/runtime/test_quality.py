"""Figures and warnings that a person can act on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from made_rows import SIZE_WH, made_strip

from edgekit.atomic import write_atomic
from edgekit.contracts import Columns, Frame
from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.panorama.quality import Quality, QualityWatch
from edgekit.runtime.panorama.quality_page import quality_page
from edgekit.runtime.panorama.report import Built, RowReport
from edgekit.runtime.panorama.thumbnail import Thumbnail
from edgekit.runtime.records import FrameRecord
from edgekit.runtime.rowmaker import Look, Motion, SlidingCamera

STRIP = made_strip(2400)


def watched(
    motion: Motion, look: Look | None = None, strip: np.ndarray = STRIP, settings: MosaicSettings | None = None
) -> Quality:
    watch, mosaic = QualityWatch(), StripMosaic(settings or MosaicSettings())
    for frame in SlidingCamera(strip, motion, size_wh=SIZE_WH, look=look):
        mosaic.add(frame)
        watch.see(frame.image)
        for record in mosaic.drain_records():
            watch.note(record)
    return watch.result()


def test_a_good_row_has_figures_and_no_warnings() -> None:
    quality = watched(Motion(frames=250, speed_px=7.5))
    assert quality.warnings == ()
    assert quality.statuses == {"placed": 250}
    assert abs(quality.speed_px - 7.5) < 0.05
    assert quality.median_confidence > 0.8
    assert quality.dirt < 0.002


def test_each_fault_has_its_warning() -> None:
    cases = {
        "clean the lens": watched(Motion(frames=250, speed_px=7.5), Look(dirt=10)),
        "too fast": watched(Motion(frames=20, speed_px=90.0)),
        "too dark": watched(Motion(frames=20, speed_px=6.0), Look(exposure=((0, 0.25),))),
        "out of focus": watched(Motion(frames=20, speed_px=6.0), strip=cv2.GaussianBlur(STRIP, (0, 0), 8)),
        "level it": watched(Motion(frames=60, speed_px=7.0, roll_deg=2.5)),
        "lock it": watched(Motion(frames=40, speed_px=6.0), Look(exposure=((20, 0.6),))),
    }
    for words, quality in cases.items():
        assert any(words in line for line in quality.warnings), (words, quality)


def test_a_row_that_was_not_followed_says_why() -> None:
    watch, mosaic = QualityWatch(), StripMosaic(MosaicSettings())
    for number in range(12):
        image = made_strip(SIZE_WH[0], SIZE_WH[1], seed=number)
        mosaic.add(Frame(image, number, number / 30))
        watch.see(image)
        for record in mosaic.drain_records():
            watch.note(record)
    assert "use --panorama" in watch.result().warnings[0]
    assert "1 of 12 frames could be placed" in watch.result().warnings[0]
    wrong_way = watched(Motion(frames=40, speed_px=7.5), settings=MosaicSettings(travel="left"))
    assert any("travel the other way" in line for line in wrong_way.warnings)
    upwards = watched(Motion(frames=40, speed_px=2.0, roll_deg=60.0), strip=made_strip(400, 900))
    assert any("up or down" in line for line in upwards.warnings), upwards
    assert any("nothing moved" in line for line in watched(Motion(frames=20, speed_px=0.0)).warnings)


def test_the_roll_has_its_sign_and_size() -> None:
    assert abs(watched(Motion(frames=60, speed_px=7.0, roll_deg=2.0)).roll_deg - 2.0) < 0.3
    assert abs(watched(Motion(frames=60, speed_px=-7.0, roll_deg=2.0)).roll_deg - 2.0) < 0.3


def test_a_jump_of_the_exposure_is_told_with_its_frame() -> None:
    quality = watched(Motion(frames=40, speed_px=6.0), Look(exposure=((25, 0.5),)))
    ((frame, ratio),) = quality.exposure_steps
    assert frame == 25
    assert abs(ratio - 0.5) < 0.05


def report(frames: int, folder: Path) -> dict[str, Any]:
    """What is told of a row of so many frames, by a source with an awkward name."""
    told, mosaic = RowReport(), StripMosaic(MosaicSettings())
    width_px = 0
    columns = []
    for frame in SlidingCamera(STRIP, Motion(frames=frames, speed_px=-7.5), size_wh=SIZE_WH):
        told.see(frame)
        columns += mosaic.add(frame)
    columns += mosaic.finish()
    for record in mosaic.drain_records():
        told.note(record)
    for part in columns:
        told.take(part)
        width_px += part.image.shape[1]
    built = Built(
        "row <12> & more", (width_px, SIZE_WH[1]), 1, mosaic.direction, mosaic.origin_px, 250.0, ("one frame left out",)
    )  # fmt: skip
    told.write(folder, built, write_atomic)
    written: dict[str, Any] = json.loads((folder / "panorama.json").read_text())
    return written


@pytest.mark.parametrize("frames", [1, 2, 60])
def test_the_report_of_a_row_of_any_length(frames: int, tmp_path: Path) -> None:
    told = report(frames, tmp_path)
    page = (tmp_path / "quality.html").read_text()
    assert "row &lt;12&gt; &amp; more" in page
    assert "one frame left out" in page
    assert page.count("<svg") == (0 if frames == 1 else 3)
    assert told["length_m"] == told["width_px"] / 250
    assert len((tmp_path / "offsets.csv").read_text().splitlines()) == 1 + frames
    if frames == 60:
        assert told["speed_m_s"] == pytest.approx(7.5 * 30 / 250, rel=0.01)


def test_every_frame_is_drawn_in_the_colour_of_its_fate(tmp_path: Path) -> None:
    fates = ("placed", "bridged", "stopped", "reversed", "dropped", "placed")
    records = [
        FrameRecord(n, n / 30, None if f == "dropped" else 5.0 * n, 0.0, 1.0, f, None) for n, f in enumerate(fates)
    ]
    report(2, tmp_path)
    page = quality_page(json.loads((tmp_path / "panorama.json").read_text()), records).decode()
    assert page.count("<rect") == 3 * 4
    assert "width=device-width" in page  # a phone shows it at its own width


def test_a_step_that_stands_out_is_named_and_a_ride_to_the_left_goes_up(tmp_path: Path) -> None:
    x_px = [-10.0 * number for number in range(30)]
    x_px[20:] = [x - 25 for x in x_px[20:]]
    sure = [0.31 if number == 20 else 0.9 for number in range(30)]
    records = [
        FrameRecord(n, n / 30, x, 0.0, c, "placed", None) for n, (x, c) in enumerate(zip(x_px, sure, strict=True))
    ]
    figures = report(2, tmp_path)
    page = quality_page({**figures, "direction": -1}, records).decode()
    assert "frame 20: 35 px, confidence 0.31" in page
    assert ">35<" in page
    assert ">10<" in page
    assert "<th>good</th>" in page
    assert "above 0.5" in page


@pytest.mark.parametrize("direction", [1, -1])
def test_the_page_shows_the_panorama_however_long_it_is(direction: int) -> None:
    """Grey rises from left to right; memory stays that of the picture."""
    thumbnail = Thumbnail()
    assert thumbnail.jpeg() is None
    width_px, strip_px = 200_000, 400
    starts = range(0, width_px, strip_px)
    for start in starts if direction > 0 else reversed(starts):
        grey = np.full((180, strip_px, 3), 250 * start / width_px, np.uint8)
        thumbnail.take(Columns(grey, start if direction > 0 else start - width_px))
    data = thumbnail.jpeg()
    assert data is not None
    shown = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE)
    assert shown.shape[1] == 1100
    assert shown.shape[0] < 4 * 100
    assert shown[0, 0] < 5
    ends = [int(row[:20].mean()) for row in shown[::1]]
    assert max(value for value in ends if value < 253) > 120
    assert np.all(np.diff(shown[0].astype(int)) > -6)


def test_the_thumbnail_of_a_short_row_is_its_panorama() -> None:
    row = made_strip(600, 360)
    thumbnail = Thumbnail()
    for start in range(0, 600, 16):
        thumbnail.take(Columns(row[:, start : start + 16], start))
    data = thumbnail.jpeg()
    assert data is not None
    shown = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE)
    wanted = cv2.resize(cv2.cvtColor(row, cv2.COLOR_RGB2GRAY), (300, 180), interpolation=cv2.INTER_AREA)
    assert shown.shape == wanted.shape
    assert np.abs(shown.astype(int) - wanted).mean() < 4
