"""From models to a report: sections on a fake model, comparison, advice, the web page and the command."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from edgekit.bench.accuracy.evaluate import AccuracySettings
from edgekit.bench.accuracy_section import accuracy_section
from edgekit.bench.advice import advise
from edgekit.bench.artifacts import distinct_names
from edgekit.bench.compare import compare
from edgekit.bench.cost import latency_and_device
from edgekit.bench.latency.measure import MeasureSettings
from edgekit.bench.latency.trolley import TrolleySettings
from edgekit.bench.paper import table_1, table_2
from edgekit.bench.predict import predict_pictures, sample_tiles
from edgekit.bench.report.html import html_report
from edgekit.bench.report.markdown import markdown_report
from edgekit.bench.report_file import check_document, document, read_report
from edgekit.bench.run import ModelRun
from edgekit.bench.settings import BenchSettings
from edgekit.contracts import Instances, TileResult
from edgekit.device.reading import Reading
from edgekit.errors import LabelsError, MeasurementError, SettingsError
from edgekit.labels import LabelledInstance, LabelledPicture, LabelSet, write_coco
from edgekit.masks import encode
from tests.bench.scenes import scene
from tests.damage import edited

pytest.importorskip("hotcoco")
pytest.importorskip("matplotlib")


class FakeSegmenter:
    """Finds nothing, in a millisecond."""

    def __init__(self) -> None:
        self.info = SimpleNamespace(batch=2, tile_size_px=128, max_detections=10)
        self.calls: list[int] = []

    def segment(self, tiles):
        self.calls.append(len(tiles))
        return [TileResult(Instances.empty(), 0) for _ in tiles]

    def close(self) -> None: ...


class FakeProbe:
    name, source, power_mode, period_s = "Jetson Test", "sysfs", "15W", 0.01

    def __init__(self) -> None:
        self.missing = {"device memory": "shared"}

    def read(self) -> Reading:
        import time

        return Reading(time.monotonic(), 7.0, None, 120.0, 50.0, 900.0, 0.5)

    def close(self) -> None: ...


QUICK = BenchSettings(measure=MeasureSettings(0.05, 0.2, 30, 1.0), pipeline=False)


def model(name: str, seed: int = 3, *, spoil: float = 0.0, slow: float = 1.0):
    truth, predictions = scene(seed, pictures=60, ties=False)
    rng = np.random.default_rng(1)
    kept = rng.random(len(predictions)) >= spoil
    predictions = replace(
        predictions, picture=predictions.picture[kept], label=predictions.label[kept],
        boxes_xyxy=predictions.boxes_xyxy[kept], scores=predictions.scores[kept],
        masks=tuple(mask for mask, keep in zip(predictions.masks, kept, strict=True) if keep),
    )  # fmt: skip
    samples = (20 * slow + rng.normal(0, 0.3, 120)).tolist()
    section = {
        "name": name, "provider": {"requested": "cpu", "effective": "cpu", "reason": "asked for"},
        "info": {"model": "yolo11", "untrained": False},
        "accuracy": accuracy_section(truth, predictions, AccuracySettings(draws=200)),
        "latency": fake_latency(samples),
        "device": None,
        "model": {"macs": 3e9, "macs_per_image": 3e9, "parameters": 2.8e6, "macs_by_part": {"stem": 3e9},
                  "macs_per_proposal": None, "macs_per_mask": None, "macs_fixed": 3e9, "not_counted": {"Relu": 4}},
    }  # fmt: skip
    return ModelRun(section, truth, predictions)


def fake_latency(samples):
    latency, _ = latency_and_device(FakeSegmenter(), np.zeros((3, 128, 128, 3), np.uint8), 5.0, FakeProbe(), QUICK)
    median = float(np.median(samples))
    latency |= {"samples_ms": samples, "tiles_per_call": 1, "tile_ms_median": median}
    latency["trolley"] |= {"highest_speed_m_s": 8 / median, "real_time_factor": 0.25 / (8 / median)}
    return latency


def test_latency_and_device_sections_on_fakes() -> None:
    segmenter = FakeSegmenter()
    tiles = np.zeros((3, 128, 128, 3), np.uint8)
    latency, device = latency_and_device(segmenter, tiles, 12.0, FakeProbe(), QUICK)
    assert latency["call_ms"]["n"] >= 30
    assert latency["tiles_per_call"] == 2
    assert latency["first_result_ms"] > 12
    assert latency["stages_ms_per_tile"] is None
    assert "overlaps" in latency["stages_reason"]
    assert set(latency["tiles_per_s_by_call_size"]) == {"1", "4"}
    assert set(segmenter.calls) == {1, 2, 4}
    assert device["mean_w"] == pytest.approx(7, rel=0.05)
    assert device["energy_above_idle_j_per_tile"] == pytest.approx(0, abs=1e-3)
    assert device["energy_j_per_tile"] * device["tiles"] == pytest.approx(device["energy_j"])
    json.dumps([latency, device], allow_nan=False)


def verdicts_of(comparison):
    """Of the only pair of models."""
    (pair,) = comparison.pairs
    return {item.name: item.verdict for item in pair.differences}


def test_compare_says_better_worse_and_no_evidence() -> None:
    good, bad = model("good"), model("bad", spoil=0.4, slow=2.0)
    a, b = (document([run.section], None) for run in (good, bad))
    verdicts = verdicts_of(compare(a, b))
    assert verdicts["mask_f1"] == "worse"
    assert verdicts["tile_ms_median"] == "worse"
    back = verdicts_of(compare(b, a))
    assert back["mask_f1"] == "better"
    assert set(verdicts_of(compare(a, a)).values()) == {"no evidence"}


def test_compare_refuses_other_data_and_boards() -> None:
    a, b = document([model("a").section], None), document([model("b", seed=4).section], None)
    with pytest.raises(MeasurementError, match="data"):
        compare(a, b)
    assert compare(a, b, force=True).mismatches
    elsewhere = json.loads(json.dumps(a))
    elsewhere["environment"]["board"] = "Jetson Orin NX"
    with pytest.raises(MeasurementError, match="board"):
        compare(a, elsewhere)


def test_advice_takes_the_better_then_the_faster_then_what_keeps_up() -> None:
    good, bad, slow = model("good"), model("bad", spoil=0.4, slow=0.5), model("slow", slow=1.5)
    advice = advise([bad.section, good.section])
    assert advice.model == "good"
    assert "labelled fruit" in advice.reasons[0]
    assert advise([slow.section, good.section]).model == "good"  # as accurate and faster
    crawling = model("crawling", slow=20)
    advice = advise([crawling.section, bad.section])
    assert advice.model == "bad"
    assert "too slow" in advice.reasons[0]
    assert advise([]).model is None
    assert advise([{"name": "x", "latency": good.section["latency"]}]).model == "x"


def test_web_page_stands_alone_and_names_the_choice_first(tmp_path: Path) -> None:
    runs = [model("alpha"), model("beta", spoil=0.4)]
    for name in runs[0].truth.picture_names:
        cv2.imwrite(str(tmp_path / name), np.full((48, 48, 3), 90, np.uint8))
    page = html_report(document([run.section for run in runs], None), runs, tmp_path)
    assert not re.search(r"<(script|link|iframe)", page)
    assert not re.search(r"(src|href)=['\"]?https?:", page)
    assert page.index("<strong>alpha</strong>") < page.index("<svg")
    assert page.count("data:image/jpeg;base64,") >= 8
    assert "width=device-width" in page
    for title in ("Accuracy against cost", "F1 against threshold", "AJI against threshold", "Precision against recall",
                  "Segmentation reliability: alpha", "Latency"):  # fmt: skip
        assert title in page
    assert html_report(document([], None)).count("Undecided") == 1


def test_names_are_escaped() -> None:
    run = model("<b>&")
    page = html_report(document([run.section], None))
    assert "<b>&</b>" not in page
    assert "&lt;b&gt;&amp;" in page


def test_markdown_and_the_papers_tables() -> None:
    whole = document([model("alpha").section], None)
    text = markdown_report(whole)
    assert "**Deploy: alpha**" in text
    assert "| ultralytics mask map50 |" in text
    second = table_2(whole["models"])
    assert second[1][:5] == ["alpha", "2.8", "3.00", "2.8", "10.4"]
    assert table_1(whole["models"])[1][3].startswith("0.")


def test_report_is_plain_json_with_a_version(tmp_path: Path) -> None:
    whole = document([model("alpha").section], None)
    again = json.loads(json.dumps(whole, allow_nan=False))
    assert check_document(again, "x")["format_version"] == 1
    with pytest.raises(MeasurementError, match="format version"):
        check_document({**again, "format_version": 99}, "x")
    with pytest.raises(MeasurementError, match="no report"):
        check_document([], "x")


def test_pictures_are_checked_against_their_labels(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((40, 70, 3), np.uint8))
    labels = LabelSet((LabelledPicture("a.png", (70, 40)),), ("fruit",))
    segmenter = FakeSegmenter()
    wrong = LabelSet((LabelledPicture("a.png", (71, 40)),), ("fruit",))
    with pytest.raises(LabelsError, match="70 x 40, its labels say 71 x 40"):
        predict_pictures(segmenter, wrong, tmp_path, progress=lambda *_: None)
    found, tiles, remarks = predict_pictures(segmenter, labels, tmp_path, progress=lambda *_: None)
    assert (len(found), tiles, remarks) == (1, 1, [])
    assert sample_tiles(64, images=[tmp_path / "a.png"]).shape[1:] == (64, 64, 3)


def test_settings_are_checked() -> None:
    with pytest.raises(SettingsError, match="speed"):
        BenchSettings(sections=("speed",))
    for batches in ((0,), (100_000_000_000,), ()):
        with pytest.raises(SettingsError, match="tiles a call"):
            BenchSettings(batches=batches)
    for seconds in (-1.0, float("nan"), float("inf")):
        with pytest.raises(MeasurementError, match="times of a measurement"):
            MeasureSettings(1.0, seconds)
    for scale in (0.0, float("nan"), float("inf")):
        with pytest.raises(MeasurementError, match="scale"):
            TrolleySettings(px_per_metre=scale)


def test_commands_score_compare_and_table(tmp_path: Path) -> None:
    from edgekit.cli.bench import app

    truth, predictions = scene(3, pictures=12, crowds=False)
    pictures = tuple(
        LabelledPicture(name, truth.sizes_wh[n], tuple(
            LabelledInstance(str(n), "class0", truth.masks[row], truth.boxes_xyxy[row], area_px=truth.areas_px[row])
            for row in np.flatnonzero(truth.picture == n)
        )) for n, name in enumerate(truth.picture_names)
    )  # fmt: skip
    write_coco(LabelSet(pictures, ("class0",)), tmp_path / "labels.json")
    results = [
        {"image_id": int(predictions.picture[n]) + 1, "category_id": 1, "score": float(predictions.scores[n]),
         "segmentation": encode(predictions.masks[n], (48, 48))} for n in range(len(predictions))
    ]  # fmt: skip
    (tmp_path / "results.json").write_text(json.dumps(results))
    runner = CliRunner()
    scored = runner.invoke(app, [
        "score", str(tmp_path / "results.json"), "--data", str(tmp_path / "labels.json"),
        "--out", str(tmp_path / "a.json"), "--report", str(tmp_path / "a.md"),
    ])  # fmt: skip
    assert scored.exit_code == 0, scored.output
    assert "Scored: results" in scored.output
    assert "Deploy" not in scored.output
    assert "**Scored: results**" in (tmp_path / "a.md").read_text()
    compared = runner.invoke(app, ["compare", str(tmp_path / "a.json"), str(tmp_path / "a.json"), "--json"])
    (pair,) = json.loads(compared.output)["pairs"]
    assert {item["verdict"] for item in pair["differences"]} == {"no evidence"}
    shown = runner.invoke(app, ["table", str(tmp_path / "a.json"), "--json"])
    assert json.loads(shown.output)["table_1"][1][0] == "results"


def test_what_only_one_side_measured_is_named_and_nothing_in_common_is_refused() -> None:
    whole = model("whole").section
    a, b = {**whole, "latency": None}, {**whole, "accuracy": None}
    verdicts = verdicts_of(compare(document([a], None), document([b], None)))
    assert verdicts["mask_f1"] == "not measured in B"
    assert verdicts["tile_ms_median"] == "not measured in A"
    assert verdicts["macs_per_image"] == "no evidence"
    with pytest.raises(MeasurementError, match="A has accuracy, B has latency"):
        compare(document([{**a, "model": None}], None), document([{**b, "model": None}], None))
    lighter = {**whole, "model": {**whole["model"], "macs_per_image": 1e9}}
    told = verdicts_of(compare(document([whole], None), document([lighter], None)))
    assert told["macs_per_image"] == "better"


def test_models_of_two_reports_are_matched_by_name_and_those_without_counterpart_named() -> None:
    good, bad, alone = model("good").section, model("bad", spoil=0.4).section, model("alone").section
    result = compare(document([alone, bad, good], None), document([good, bad], None))
    assert [(pair.a, pair.b) for pair in result.pairs] == [("bad", "bad"), ("good", "good")]
    assert {item.verdict for pair in result.pairs for item in pair.differences} == {"no evidence"}
    assert (result.only_in_a, result.only_in_b) == (("alone",), ())
    assert result.remarks == ("alone is in A alone, and not compared",)
    with pytest.raises(MeasurementError, match="no model in common: A has alone, bad; B has good"):
        compare(document([alone, bad], None), document([good], None))
    elsewhere = json.loads(json.dumps(good)) | {"provider": {"effective": "cuda"}}
    with pytest.raises(MeasurementError, match="alike: good: provider cpu and cuda"):
        compare(document([good, bad], None), document([elsewhere, bad], None))
    timed = {**good, "accuracy": None, "model": None}
    one_empty = compare(document([{**good, "latency": None, "model": None}, bad], None), document([timed, bad], None))
    assert one_empty.remarks == ("good: no figure in common, A has accuracy, B has latency",)


def short(section):
    """A model with what is read of a report again, and little of it, so that thousands of edits take seconds."""
    accuracy, latency = section["accuracy"], section["latency"]
    kept = {name: accuracy[name] for name in ("data", "figures", "reliability", "draws")}
    kept["figures"] = {name: kept["figures"][name] for name in ("mask_f1", "r")}
    kept["draws"] = {**kept["draws"], "values": {"mask_f1": kept["draws"]["values"]["mask_f1"][:5]}}
    timed = {name: latency[name] for name in ("tile_ms_median", "tiles_per_call")}
    return {**section, "accuracy": kept, "latency": {**timed, "samples_ms": latency["samples_ms"][:5]}}


def test_hand_edited_reports_are_refused_in_one_line_or_read(tmp_path: Path) -> None:
    from edgekit.cli.bench import app

    whole = json.loads(json.dumps(document([short(model("alpha").section)], None)))
    first, path = tmp_path / "whole.json", tmp_path / "edited.json"
    first.write_text(json.dumps(whole))
    refused = 0
    for _, wrong in edited(whole, items=1):
        path.write_text(json.dumps(wrong))
        with contextlib.suppress(MeasurementError):
            refused += 1
            read = read_report(path)
            compare(whole, read, force=True)
            table_1(read["models"]), table_2(read["models"])
            refused -= 1
    assert refused > 100
    whole["models"][0]["latency"]["samples_ms"][3] = "20 ms"
    path.write_text(json.dumps(whole))
    told = CliRunner().invoke(app, ["compare", str(first), str(path)]).exception
    assert isinstance(told, MeasurementError)
    mend = "write a number, or measure again"
    assert str(told) == f"{path}: models[0].latency.samples_ms[3] = '20 ms' - {mend}"


def test_models_of_one_name_are_told_apart(tmp_path: Path) -> None:
    from edgekit.cli.bench import app

    paths = [tmp_path / name for name in ("a/best.onnx", "b/best.onnx", "b/best.engine", "other.onnx")]
    assert distinct_names(paths) == ["a/best.onnx", "b/best.onnx", "best.engine", "other"]
    assert distinct_names([]) == []
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(document([model("best").section], None)))
    files = [str(tmp_path / name) for name in ("a.json", "b.json")]
    rows = json.loads(CliRunner().invoke(app, ["table", *files, "--json"]).stdout)["table_2"]
    assert [row[0] for row in rows[1:]] == [f"{file}: best" for file in files]
    shown = CliRunner().invoke(app, ["compare", *files]).stdout
    assert "A: best" in shown
    assert "B: best" in shown


def test_models_with_boxes_alone_are_told_apart_by_their_boxes() -> None:
    def boxes_only(name: str, **changes: float):
        section = json.loads(json.dumps(model(name, **changes).section))
        for side in (section["accuracy"]["figures"], section["accuracy"]["draws"]["values"]):
            del side["mask_f1"]
        return section

    advice = advise([boxes_only("bad", spoil=0.4, slow=0.5), boxes_only("good")])
    assert advice.model == "good"
    assert "is less accurate" in advice.reasons[1]


def test_damaged_reports_are_refused(tmp_path: Path) -> None:
    whole = {"format": "edgekit-bench", "format_version": 1, "models": []}
    twice = {**whole, "models": [{"name": "a"}, {"name": "a"}]}
    for broken, told in ((whole, "holds no model"), ({**whole, "models": [3]}, r"models\[0\] = 3"),
                         (twice, "two models named a"), ({}, "no report")):  # fmt: skip
        with pytest.raises(MeasurementError, match=told):
            check_document(broken, "x")


@pytest.mark.shared
def test_foreign_results_are_refused(shared: Path) -> None:
    from edgekit.cli.bench import app

    folder = shared / "data" / "coco_val100"
    labels = shared / "data" / "tomato_val_tiles" / "instances.json"
    results = folder / "instances_val2014_fakebbox100_results.json"
    command = ["score", str(results), "--data", str(labels)]
    with pytest.raises(LabelsError, match="does not belong to"):
        CliRunner().invoke(app, command, catch_exceptions=False)
