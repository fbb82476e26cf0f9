"""A field session from a run to a fit, in every form of labels."""

from __future__ import annotations

import contextlib
import json

import cv2
import numpy as np
import pytest
from calibration_run import SIZE_PX, Field, label_all, label_marks, make_run

from edgekit.calibration import fit_threshold
from edgekit.calibration.choose import choose_predictions, choose_tiles
from edgekit.calibration.inputs import InputRequest, load_inputs
from edgekit.calibration.session import SampleRequest, Session, corrected_labels, read_session, sample_run
from edgekit.calibration.session.run_tiles import TilePixels
from edgekit.contracts import Instances
from edgekit.errors import LabelsError, RunFolderError
from edgekit.labels import read_labels, write_coco, write_cvat, write_labelme, write_yolo
from tests.damage import edited


def silent(stage: str, done: int, total: int | None = None) -> None:
    pass


@pytest.fixture(scope="module")
def field(tmp_path_factory) -> Field:
    return make_run(tmp_path_factory.mktemp("field") / "run")


def sampled(field: Field, folder, **request: object) -> Session:
    return sample_run(field.run, folder, SampleRequest(**{"n": 50, **request}), progress=silent)


def marks_of(session: Session) -> dict[str, Instances]:
    return {tile.name: tile.checked for tile in session.tiles}


def test_a_session_holds_the_runs_pixels_and_predictions(field, tmp_path):
    session = sampled(field, tmp_path / "s")
    back = read_session(tmp_path / "s")
    assert [tile.name for tile in back.tiles] == [tile.name for tile in session.tiles]
    assert sum(len(tile.checked) for tile in back.tiles) == 50
    for mine, theirs in zip(session.tiles, back.tiles, strict=True):
        assert theirs.marks == mine.marks
        assert theirs.spec == mine.spec
        np.testing.assert_array_equal(theirs.instances.scores, mine.instances.scores)
        for a, b in zip(theirs.instances.masks, mine.instances.masks, strict=True):
            assert a.area_px == b.area_px
        picture = cv2.cvtColor(cv2.imread(str(tmp_path / "s" / "images" / mine.name)), cv2.COLOR_BGR2RGB)
        np.testing.assert_array_equal(picture, TilePixels(field.run).read(mine))


def test_the_same_seed_chooses_the_same(field, tmp_path):
    first, again, other = (sampled(field, tmp_path / name, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    assert [tile.marks for tile in first.tiles] == [tile.marks for tile in again.tiles]
    assert [tile.name for tile in first.tiles] != [tile.name for tile in other.tiles]


def test_a_folder_with_labels_is_never_written_over(field, tmp_path):
    sampled(field, tmp_path / "s")
    with pytest.raises(RunFolderError, match="not empty"):
        sampled(field, tmp_path / "s")


@pytest.mark.parametrize("form", ["coco", "labelme", "cvat", "yolo"])
def test_every_form_gives_the_same_fit(field, tmp_path, form):
    session = sampled(field, tmp_path / "s")
    labels = label_marks(field, marks_of(session))
    if form == "coco":
        write_coco(labels, tmp_path / "s" / "coco" / "labels.json")
    elif form == "labelme":
        write_labelme(labels, tmp_path / "s" / "labelme", images=tmp_path / "s" / "images", tolerance_px=0)
    elif form == "cvat":
        write_cvat(labels, tmp_path / "s" / "cvat" / "annotations.xml", tolerance_px=0)
    else:
        write_yolo(labels, tmp_path / "yolo")
    where = tmp_path / "yolo" if form == "yolo" else None
    inputs = load_inputs(InputRequest(tmp_path / "s", labels=where))
    assert inputs.skipped == ()
    assert inputs.labelled_tiles == len(session.tiles)
    assert inputs.model.model_id == session.model_id
    direct = tmp_path / "direct.json"
    write_coco(labels, direct)
    expected = load_inputs(InputRequest(tmp_path / "s", labels=direct))
    fit, wanted = fit_threshold(inputs.pairs, 0.5), fit_threshold(expected.pairs, 0.5)
    exact = 2e-3 if form == "yolo" else 1e-12  # YOLO writes shares of the picture, rounded
    assert fit.threshold == pytest.approx(wanted.threshold, abs=exact)
    assert fit.uncertainty.acted == pytest.approx(wanted.uncertainty.acted, abs=10 * exact)
    assert fit.n == 50


def test_marks_and_whole_tiles_agree_within_their_errors(field, tmp_path):
    marks = sampled(field, tmp_path / "m", n=80)
    write_coco(label_marks(field, marks_of(marks)), tmp_path / "m" / "coco" / "labels.json")
    whole = sampled(field, tmp_path / "w", n=40, mode="tiles")
    write_coco(label_all(field, [tile.name for tile in whole.tiles]), tmp_path / "w" / "coco" / "labels.json")
    by_marks, by_tiles = (load_inputs(InputRequest(tmp_path / name)) for name in "mw")
    assert by_marks.hits is None
    assert by_tiles.hits.sum() > 0
    a, b = (fit_threshold(found.pairs, 0.5) for found in (by_marks, by_tiles))
    error = np.hypot(a.uncertainty.sigma_units, b.uncertainty.sigma_units)
    assert abs(a.threshold - b.threshold) < 3 * error


def test_labels_with_the_run_need_no_session(field, tmp_path):
    names = list(field.truth)[:60]
    write_coco(label_all(field, names), tmp_path / "labels.json")
    inputs = load_inputs(InputRequest(tmp_path / "labels.json", run=field.run))
    assert inputs.labelled_tiles == 60
    assert inputs.pairs.height.min() < 0.3 < 0.7 < inputs.pairs.height.max()
    with pytest.raises(LabelsError, match="say nothing of confidences"):
        load_inputs(InputRequest(tmp_path / "labels.json"))


def test_the_corrected_form_is_found(field, tmp_path):
    session = sampled(field, tmp_path / "s", n=10)
    with pytest.raises(LabelsError, match="nothing was corrected"):
        corrected_labels(session)
    file = next((tmp_path / "s" / "labelme").glob("*.json"))
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "shapes": []}))
    assert corrected_labels(session) == tmp_path / "s" / "labelme"
    write_coco(label_all(field, []), tmp_path / "s" / "coco" / "labels.json")
    with pytest.raises(LabelsError, match="several forms"):
        corrected_labels(session)


def test_what_does_not_match_is_told(field, tmp_path):
    session = sampled(field, tmp_path / "s", n=30, mode="tiles")
    labels = label_all(field, [tile.name for tile in session.tiles])
    first, second, third, *rest = labels.pictures
    odd = type(labels)(
        (
            type(first)("elsewhere.png", first.size_wh, first.instances),
            type(second)(second.name, (SIZE_PX + 1, SIZE_PX), second.instances),
            type(third)("images/" + third.name.removesuffix(".png") + ".jpg", third.size_wh, third.instances),
            *rest,
        ),
        labels.class_names,
    )
    write_coco(odd, tmp_path / "labels.json")
    inputs = load_inputs(InputRequest(tmp_path / "s", labels=tmp_path / "labels.json"))
    assert inputs.labelled_tiles == len(labels.pictures) - 2
    assert any("elsewhere.png" in line and "no tile of that name" in line for line in inputs.skipped)
    assert any(f"{SIZE_PX + 1} x {SIZE_PX} pixels" in line for line in inputs.skipped)
    write_coco(type(labels)(odd.pictures[:1], labels.class_names), tmp_path / "none.json")
    with pytest.raises(LabelsError, match="no labelled picture"):
        load_inputs(InputRequest(tmp_path / "s", labels=tmp_path / "none.json"))


def test_a_box_is_no_outline(field, tmp_path):
    session = sampled(field, tmp_path / "s", n=30, mode="tiles")
    write_coco(label_all(field, [tile.name for tile in session.tiles]), tmp_path / "labels.json")
    data = json.loads((tmp_path / "labels.json").read_text())
    del data["annotations"][0]["segmentation"]
    (tmp_path / "labels.json").write_text(json.dumps(data))
    inputs = load_inputs(InputRequest(tmp_path / "s", labels=tmp_path / "labels.json"))
    assert any("only a box" in line for line in inputs.skipped)
    assert inputs.labels == len(data["annotations"]) - 1


def test_prelabels_of_whole_tiles_are_those_that_would_count(field, tmp_path):
    session = sampled(field, tmp_path / "s", n=10, mode="tiles")
    shown = read_labels(tmp_path / "s" / "coco" / "labels.json")
    expected = sum(int((tile.instances.scores >= 0.5).sum()) for tile in session.tiles)
    assert shown.instance_count == expected


def test_a_damaged_session_is_refused(field, tmp_path):
    sampled(field, tmp_path / "s", n=10)
    path = tmp_path / "s" / "session.json"
    path.write_text(path.read_text()[:100])
    with pytest.raises(LabelsError, match="is no JSON"):
        read_session(tmp_path / "s")


def test_a_hand_edited_session_is_refused_with_its_key_or_read(field, tmp_path):
    folder = tmp_path / "s"
    sampled(field, folder, n=10)
    for name in ("session.json", "predictions.coco.json"):
        before, refused = (folder / name).read_bytes(), 0
        for _, wrong in edited(json.loads(before), items=1):
            (folder / name).write_text(json.dumps(wrong))
            with contextlib.suppress(LabelsError):
                refused += 1
                read_session(folder)
                refused -= 1
        assert refused > 50
        (folder / name).write_bytes(before)
    values = json.loads((folder / "session.json").read_text())
    values["tiles"][1]["x_px"] = "12"
    (folder / "session.json").write_text(json.dumps(values))
    with pytest.raises(
        LabelsError, match=r"session\.json cannot be read: tiles\[1\]\.x_px = '12' - write a whole number"
    ):
        read_session(folder)


def test_a_choice_covers_the_run_and_keeps_the_confidences():
    rng = np.random.default_rng(0)
    place = np.sort(rng.integers(0, 200, 1500))
    confidence = np.where(rng.uniform(size=1500) < 0.5, rng.beta(1, 8, 1500), rng.beta(8, 1, 1500))
    rows = choose_predictions(confidence, place, 60)
    assert len(np.unique(rows)) == 60
    assert len(np.unique(place[rows])) > 45
    stretches = np.bincount(np.searchsorted(np.sort(place), place[rows]) * 10 // 1500, minlength=10)
    assert stretches.min() >= 5  # every tenth of the run is seen
    wanted = np.quantile(confidence, [0.1, 0.25, 0.5, 0.75, 0.9])
    np.testing.assert_allclose(
        (confidence[rows] <= wanted[:, None]).mean(axis=1), [0.1, 0.25, 0.5, 0.75, 0.9], atol=0.04
    )
    tiles = choose_tiles(confidence, place, 20)
    assert len(np.unique(tiles)) == 20
    assert choose_predictions(confidence, place, 5000).tolist() == list(range(1500))
    assert len(choose_tiles(confidence, place, 5000)) == len(np.unique(place))


def test_a_session_that_is_cut_off_leaves_nothing_behind(field, tmp_path):
    def stop(stage, done, total=None):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sample_run(field.run, tmp_path / "s", SampleRequest(20), progress=stop)
    assert list(tmp_path.iterdir()) == []
    assert sample_run(field.run, tmp_path / "s", SampleRequest(20), progress=silent).folder == tmp_path / "s"


def test_of_two_sessions_in_one_folder_the_first_stays(field, tmp_path):
    def meanwhile(stage, done, total=None):
        if done == total:
            sample_run(field.run, tmp_path / "s", SampleRequest(5), progress=silent)

    with pytest.raises(RunFolderError, match="is not empty"):
        sample_run(field.run, tmp_path / "s", SampleRequest(20), progress=meanwhile)
    assert sum(len(tile.checked) for tile in read_session(tmp_path / "s").tiles) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize("change", [{"tiles": 3}, {"tiles": [[]]}, {"marks": [99]}, {"prelabels": 3}])
def test_a_session_file_of_another_structure_is_refused(field, tmp_path, change):
    sample_run(field.run, tmp_path / "s", SampleRequest(5), progress=silent)
    path = tmp_path / "s" / "session.json"
    values = json.loads(path.read_text())
    if "marks" in change:
        values["tiles"][0] |= change
    else:
        values |= change
    path.write_text(json.dumps(values))
    with pytest.raises(LabelsError, match="sample the run again"):
        read_session(tmp_path / "s")
