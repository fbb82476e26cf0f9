import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from pycocotools.coco import COCO
from run_scene import MagentaSegmenter, job, settings, silent, spread, strip, write_frames, write_png

from edgekit.runtime.pipeline import run_job
from edgekit.store import RunFolder, RunReader

SIZE_WH = (700, 200)
DISCS = spread(30, SIZE_WH)
KEYS = [
    "edgekit", "model", "source", "frames", "panorama", "tiles", "detections", "fruit", "fruit_per_metre", "threshold",
    "threshold_from", "seconds", "stages_ms", "peak_rss_mb",
]  # fmt: skip


@pytest.fixture
def scene(tmp_path):
    return write_png(tmp_path / "row.png", strip(SIZE_WH, DISCS))


def run(out: Path, *paths: Path, segmenter=None, **options):
    return run_job(job(*paths, **options), out, [segmenter or MagentaSegmenter()], progress=silent)


def test_every_disc_of_a_panorama_is_counted_once(scene, tmp_path):
    summary = run(tmp_path / "out", scene)
    assert summary["fruit"] == len(DISCS) < summary["detections"]
    assert summary["panorama"] == {"width_px": 700, "height_px": 200, "segments": 1}
    assert summary["frames"] is None
    assert summary["fruit_per_metre"] is None


def test_the_summary_on_disk_has_the_keys_that_are_promised(scene, tmp_path):
    summary = run(tmp_path / "out", scene)
    written = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert list(written)[: len(KEYS)] == KEYS
    assert written == json.loads(json.dumps(summary))
    assert written["source"] == str(scene)
    assert written["peak_rss_mb"] > 1
    assert {"capture", "segments", "tile", "infer", "store", "merge", "results"} <= written["stages_ms"].keys()


def test_a_scale_gives_fruit_per_metre(scene, tmp_path):
    summary = run(tmp_path / "out", scene, run_settings=settings(px_per_metre=350.0))
    assert summary["fruit_per_metre"] == pytest.approx(len(DISCS) / 2.0)


def test_rows_are_counted_apart_and_together(scene, tmp_path):
    other = write_png(tmp_path / "other.png", strip((300, 150), DISCS[:0]))
    summary = run(tmp_path / "out", scene, other)
    assert [row["fruit"] for row in summary["rows"]] == [len(DISCS), 0]
    assert summary["fruit"] == len(DISCS)
    assert summary["source"] == [str(scene), str(other)]
    assert summary["panorama"] == {"width_px": 1000, "height_px": 200, "segments": 2}


@pytest.mark.parametrize("step_px", [20, -20])
def test_frames_of_both_directions_give_the_row_the_right_way_round(tmp_path, step_px):
    scene = strip((900, 200), DISCS)
    frames = write_frames(tmp_path / "frames", scene, step_px=step_px, width_px=300)
    summary = run(tmp_path / "out", frames, panorama=False)
    assert summary["frames"] == 31
    assert summary["panorama"]["width_px"] == pytest.approx(900, abs=6)
    reader = RunReader.open(RunFolder(tmp_path / "out").database)
    boxes = reader.fruit(1, threshold=0.5).instances.boxes_xyxy
    reader.close()
    assert len(boxes) == len(DISCS)
    centres = sorted(((boxes[:, 0] + boxes[:, 2]) / 2).tolist())
    assert np.allclose(centres, sorted(x + 0.5 for x, _, _ in DISCS), atol=6)


@pytest.mark.parametrize("panorama", [True, False])
@pytest.mark.parametrize("size_wh", [(100, 60), (128, 128), (60, 400), (1, 1)])
def test_pictures_smaller_than_a_tile(tmp_path, size_wh, panorama):
    if size_wh == (1, 1) and not panorama:
        pytest.skip("a frame of one pixel is no frame of a row")
    discs = [(50, 30, 8)] if size_wh[0] > 58 else []
    source = write_png(tmp_path / "frames" / "a.png", strip(size_wh, discs))
    summary = run(tmp_path / "out", source if panorama else source.parent, panorama=panorama)
    assert summary["fruit"] == len(discs)
    assert (summary["panorama"]["width_px"], summary["panorama"]["height_px"]) == size_wh


@pytest.mark.parametrize("batch", [1, 4, 64])
def test_the_batch_does_not_change_the_result(scene, tmp_path, batch):
    run(tmp_path / "one", scene)
    run(tmp_path / "many", scene, segmenter=MagentaSegmenter(batch=batch))
    assert (tmp_path / "one/fruit.coco.json").read_bytes() == (tmp_path / "many/fruit.coco.json").read_bytes()


def test_copies_of_the_model_give_the_same_whichever_is_faster(scene, tmp_path):
    run(tmp_path / "one", scene)
    copies = [MagentaSegmenter(pause_s=pause_s) for pause_s in (0.0, 0.01, 0.003)]
    run_job(job(scene), tmp_path / "many", copies, progress=silent)
    assert all(copy.seen for copy in copies)
    for name in ("fruit.coco.json", "fruit.csv", "annotated.png"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "many" / name).read_bytes()


def test_pycocotools_loads_the_results(scene, tmp_path):
    run(tmp_path / "out", scene)
    folder = RunFolder(tmp_path / "out")
    found = COCO(str(folder.coco_dataset)).loadRes(str(folder.coco_results))
    assert len(found.anns) == len(DISCS)
    reader = RunReader.open(folder.database)
    masks = reader.fruit(1, threshold=0.5).instances.masks
    reader.close()
    for annotation, mask in zip(found.anns.values(), masks, strict=True):
        assert annotation["area"] == mask.area_px  # from the mask: with a bbox in the file it would be the box's
        assert found.annToMask(annotation).sum() == mask.area_px


def test_only_counted_fruit_are_in_table_and_results_but_all_are_stored(tmp_path):
    weak = [60 if number % 3 == 0 else 240 for number in range(len(DISCS))]
    scene = write_png(tmp_path / "row.png", strip(SIZE_WH, DISCS, brightness=weak))
    summary = run(tmp_path / "out", scene)
    assert summary["fruit"] == 20
    assert len((tmp_path / "out/fruit.csv").read_text().splitlines()) == 21
    assert len(json.loads((tmp_path / "out/fruit.coco.json").read_text())) == 20
    reader = RunReader.open(tmp_path / "out/run.sqlite")
    assert reader.count_fruit(1, 0.05) == 30
    reader.close()


def test_a_limit_that_bit_is_told(scene, tmp_path):
    summary = run(tmp_path / "out", scene, segmenter=MagentaSegmenter(limited=True))
    assert "more objects than it can return" in summary["rows"][0]["remarks"][0]
    assert "limit inside the model" in summary["rows"][0]["remarks"][1]


def test_the_annotated_picture_shows_the_row_with_outlines(scene, tmp_path):
    import cv2

    run(tmp_path / "out", scene)
    picture = cv2.imread(str(tmp_path / "out/annotated.png"))
    assert picture.shape[1] == 700
    assert 200 <= picture.shape[0] <= 260
    yellow = (picture[:, :, 0] < 60) & (picture[:, :, 1] > 180) & (picture[:, :, 2] > 200)
    assert yellow.sum() > 20 * len(DISCS)


def test_a_panorama_of_segments_is_a_source(scene, tmp_path):
    run(tmp_path / "first", scene)
    segments = RunFolder(tmp_path / "first").segments(0)
    summary = run(tmp_path / "second", segments)
    assert summary["fruit"] == len(DISCS)


@pytest.mark.parametrize("step_px", [20, -20])
def test_a_bridged_stretch_is_marked_and_left_out_of_fruit_per_metre(tmp_path, step_px):
    """A sheet covers the row for two widths of a frame; one fruit hangs before it."""
    scene = strip((1700, 200), [(x, 100, 8) for x in (90, 200, 310, 1400, 1500)])
    scene[:, 500:1100] = 120
    cv2.circle(scene, (800, 100), 8, (230, 0, 255), -1)
    frames = write_frames(tmp_path / "frames", scene, step_px=step_px, width_px=300)
    summary = run(tmp_path / "out", frames, panorama=False, run_settings=settings(px_per_metre=100.0))
    (row,) = summary["rows"]
    assert (row["fruit"], row["bridged_fruit"]) == (6, 1)
    assert 200 < row["bridged_px"] < 600
    assert row["length_m"] == pytest.approx((row["panorama"]["width_px"] - row["bridged_px"]) / 100)
    assert row["fruit_per_metre"] == pytest.approx(5 / row["length_m"])
    assert any("bridged" in remark for remark in row["remarks"])
    told = json.loads((RunFolder(tmp_path / "out").segments(0) / "panorama.json").read_text())
    ((start_px, stop_px),) = told["bridged"]
    assert stop_px - start_px == row["bridged_px"]
    assert 500 < start_px < 800 < stop_px < 1100
    page = (RunFolder(tmp_path / "out").segments(0) / "quality.html").read_text()
    assert f"{start_px} to {stop_px} px" in page


def test_a_run_tells_what_became_of_every_frame(tmp_path):
    frames = write_frames(tmp_path / "frames", strip((900, 200), DISCS), step_px=-20, width_px=300)
    summary = run(tmp_path / "out", frames, panorama=False)
    lines = (RunFolder(tmp_path / "out").segments(0) / "offsets.csv").read_text().splitlines()
    assert len(lines) == 1 + summary["frames"]
    first, last = (float(lines[number].split(",")[2]) for number in (1, -1))
    assert first == summary["panorama"]["width_px"] - 300
    assert last == pytest.approx(0, abs=1)
