"""A run with an encoder, and one whose rows are told by markers, up to the count."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from run_scene import MagentaSegmenter, job, settings, silent, spread, strip, write_frames

from edgekit.cli.rows_by_markers import rows_by_markers
from edgekit.runtime.encoder import EncoderSettings
from edgekit.runtime.markers import MarkerSettings
from edgekit.runtime.pipeline import run_job
from edgekit.runtime.settings import RunSettings
from edgekit.store.summary import Summary

FRAME_PX, STEP_PX, HEIGHT_PX = 320, 12, 200
PX_PER_METRE = 500.0


def run(out: Path, sources: list[Path], run_settings: RunSettings) -> Summary:
    return run_job(job(*sources, panorama=False, run_settings=run_settings), out, [MagentaSegmenter()], progress=silent)


def test_fruit_per_metre_follows_from_the_encoder(tmp_path: Path) -> None:
    discs = spread(14, (1200, HEIGHT_PX))
    frames = write_frames(tmp_path / "row12", strip((1200, HEIGHT_PX), discs), step_px=STEP_PX, width_px=FRAME_PX)
    lines = [f"{number / 30:.4f},{number * STEP_PX / PX_PER_METRE * 1000:.2f}" for number in range(90)]
    (tmp_path / "row12.csv").write_text("\n".join(["time_s,position_mm", *lines]))
    encoder = EncoderSettings(file=str(tmp_path))
    summary = run(tmp_path / "out", [frames], settings(encoder=encoder))
    (row,) = summary["rows"]
    assert row["px_per_metre"] == pytest.approx(PX_PER_METRE, rel=0.01)
    assert row["fruit"] == len(discs)
    width_px = row["panorama"]["width_px"] if row["panorama"] else 0
    assert row["length_m"] == pytest.approx(width_px / PX_PER_METRE, rel=0.01)
    assert summary["fruit_per_metre"] == pytest.approx(len(discs) / width_px * PX_PER_METRE, rel=0.01)


def test_markers_cut_a_recording_into_rows_that_are_counted(tmp_path: Path) -> None:
    discs = [(x, 160, 8) for x in (60, 500, 640, 780, 1500, 1640)]
    scene = strip((2000, HEIGHT_PX), discs)
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_5X5_100)
    for x, number in ((360, 7), (1300, 8)):
        marker = np.pad(cv2.aruco.generateImageMarker(dictionary, number, 70), 14, constant_values=255)
        scene[20 : 20 + len(marker), x : x + len(marker)] = marker[:, :, None]
    frames = write_frames(tmp_path / "long", scene, step_px=STEP_PX, width_px=FRAME_PX)
    markers = MarkerSettings(kinds=("aruco",), every_s=0.1, gone_s=1.0, size_mm=140.0)
    sources, found = rows_by_markers([frames], settings(markers=markers), tmp_path / "run", quiet=True)
    assert [source.name.split("#")[1].split(":")[0] for source in sources] == ["7", "8"]
    assert found.px_per_metre == pytest.approx(500, rel=0.03)
    summary = run(tmp_path / "out", sources, found)
    counts = [row["fruit"] for row in summary["rows"]]
    assert counts[0] in (3, 4)  # the disc at 500 may lie before the frame in which the marker is confirmed
    assert counts[1] == 2
    assert summary["rows"][0]["source"].endswith(sources[0].name)
