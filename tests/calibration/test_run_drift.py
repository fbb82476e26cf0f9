"""A run watches its confidences against the season's."""

from __future__ import annotations

import json
from dataclasses import asdict

import cv2
import numpy as np
import pytest
from calibration_data import draw_session

from edgekit.calibration.drift import reference_of
from edgekit.contracts import Choice, Instances, MaskCrop, ModelInfo, TileResult
from edgekit.runtime.job import Job
from edgekit.runtime.pipeline import run_job
from edgekit.runtime.row_source import plan_sources
from edgekit.runtime.settings import RunSettings
from edgekit.store import RunFolder, RunReader, Season
from edgekit.tiles import TileSettings

INFO = ModelInfo(
    1, "yolo11", ("fruit",), 64, 64, 1, 100, None, "tile", 16, 0.05, 0.7, "fp32", "d" * 64, "AGPL-3.0", {}
)  # fmt: skip
SETTINGS = RunSettings(tiles=TileSettings(size_px=64, overlap_px=0))
REFERENCE = reference_of(draw_session(1, tiles=60))


class DrawnSegmenter:
    """Four predictions a tile, confidences drawn from a range."""

    info = INFO
    provider = Choice("cpu", "cpu", "test")

    def __init__(self, low: float, high: float) -> None:
        self._rng, self._range = np.random.default_rng(0), (low, high)

    def segment(self, tiles: np.ndarray) -> list[TileResult]:
        found = []
        for _ in tiles:
            scores = np.sort(self._rng.uniform(*self._range, 4)).astype(np.float32)[::-1].copy()
            masks = tuple(MaskCrop(np.ones((4, 4), np.bool_), 8 + 12 * i, 30) for i in range(4))
            boxes = np.array([[8 + 12 * i, 30, 12 + 12 * i, 34] for i in range(4)], np.float32)
            found.append(TileResult(Instances(boxes, scores, np.zeros(4, np.int32), masks), 4))
        return found

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("low", "high", "drifted"), [(0.05, 0.98, False), (0.05, 0.5, True)])
def test_drift_is_a_remark_of_the_row(tmp_path, low, high, drifted):
    picture = np.zeros((64, 64 * 200, 3), np.uint8)
    cv2.imwrite(str(tmp_path / "row.png"), picture)
    job = Job(
        plan_sources([tmp_path / "row.png"], panorama=True), "m.onnx", SETTINGS, 0.5, "test",
        Season("now", (), json.loads(json.dumps(asdict(REFERENCE)))),
    )  # fmt: skip
    summary = run_job(job, tmp_path / "run", [DrawnSegmenter(low, high)], progress=lambda *_: None)
    assert any("drifted" in remark for remark in summary["rows"][0]["remarks"]) == drifted
    reader = RunReader.open(RunFolder(tmp_path / "run").database)
    events = [event.message for event in reader.events() if event.kind == "drift"]
    reader.close()
    assert len(events) == 1
    assert ("calibrate again" in events[0]) == drifted
    assert summary["season"] == "now"
    assert summary["drift"]["drifted"] == drifted
    assert summary["drift"]["tiles"] == 200


def test_without_a_season_nothing_is_watched(tmp_path):
    cv2.imwrite(str(tmp_path / "row.png"), np.zeros((64, 256, 3), np.uint8))
    job = Job(plan_sources([tmp_path / "row.png"], panorama=True), "m.onnx", SETTINGS, 0.5, "x")
    run_job(job, tmp_path / "run", [DrawnSegmenter(0.05, 0.1)], progress=lambda *_: None)
    reader = RunReader.open(RunFolder(tmp_path / "run").database)
    assert all(event.kind != "drift" for event in reader.events())
    reader.close()
