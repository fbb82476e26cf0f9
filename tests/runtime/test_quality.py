"""Figures and warnings that a person can act on."""

from __future__ import annotations

import cv2
import numpy as np
from made_rows import SIZE_WH, made_strip

from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.panorama.quality import Quality, QualityWatch
from edgekit.runtime.rowmaker import Look, Motion, SlidingCamera

STRIP = made_strip(2400)


def watched(motion: Motion, look: Look | None = None, strip: np.ndarray = STRIP) -> Quality:
    watch, mosaic = QualityWatch(), StripMosaic(MosaicSettings())
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


def test_the_roll_has_its_sign_and_size() -> None:
    assert abs(watched(Motion(frames=60, speed_px=7.0, roll_deg=2.0)).roll_deg - 2.0) < 0.3
    assert abs(watched(Motion(frames=60, speed_px=-7.0, roll_deg=2.0)).roll_deg - 2.0) < 0.3


def test_a_jump_of_the_exposure_is_told_with_its_frame() -> None:
    quality = watched(Motion(frames=40, speed_px=6.0), Look(exposure=((25, 0.5),)))
    ((frame, ratio),) = quality.exposure_steps
    assert frame == 25
    assert abs(ratio - 0.5) < 0.05
