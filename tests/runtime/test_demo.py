import json

import numpy as np
import pytest

from edgekit.contracts import Instances
from edgekit.errors import ModelError
from edgekit.runtime.demo import compare, load_demo
from edgekit.runtime.rowmaker import PhotoRow

HELD_OUT = {"paprika_01.jpg", "paprika_05.jpg"}


@pytest.fixture(scope="module")
def demo():
    return load_demo()


def instances(masks):
    boxes = np.array(
        [[m.x_px, m.y_px, m.x_px + m.plane.shape[1], m.y_px + m.plane.shape[0]] for m in masks], np.float32
    ).reshape(-1, 4)
    return Instances(boxes, np.ones(len(masks), np.float32), np.zeros(len(masks), np.int32), tuple(masks))


def test_the_row_is_real_pictures_with_all_their_labels(demo):
    assert isinstance(demo.row, PhotoRow)
    assert demo.row.image.shape == (720, 7680, 3)
    assert len(demo.row.instances) == 37
    assert demo.row.edges_px == tuple(range(0, 7681, 1280))


def test_the_pictures_that_were_held_out_are_those_of_the_recipe(demo, repository):
    recipe = repository / "export/fruit/train.toml"
    if not recipe.exists():
        pytest.skip("needs the training recipe, which a wheel does not carry")
    text = recipe.read_text()
    for picture in demo.pictures:
        named = f'name = "{picture.name.replace(".jpg", ".png")}"' in text
        assert picture.trained_on != named
    assert {picture.name for picture in demo.pictures if not picture.trained_on} == HELD_OUT


def test_the_camera_sees_the_whole_row(demo):
    path = demo.camera.path
    assert path.x_px[0] == 0
    assert path.x_px[-1] + demo.camera.size_wh[0] == pytest.approx(7680, abs=0.01)
    assert np.diff(path.x_px).std() > 2  # an uneven hand


def test_perfect_fruit_are_all_found(demo):
    counts = compare(demo, instances(demo.truth))
    assert [item.labelled for item in counts] == [12, 14, 4, 1, 1, 5]
    assert all(item.counted == item.found == item.labelled for item in counts)
    assert all(item.missed == item.extra == 0 for item in counts)


def test_misses_and_extras_do_not_cancel_out(demo):
    wrong = [demo.truth[0].shifted(0, 300), *demo.truth[1:]]
    first = compare(demo, instances(wrong))[0]
    assert (first.labelled, first.counted, first.found, first.missed, first.extra) == (12, 12, 11, 1, 1)


def test_one_fruit_finds_one_label_only(demo):
    twice = [*demo.truth, demo.truth[0]]
    first = compare(demo, instances(twice))[0]
    assert (first.counted, first.found, first.extra) == (13, 12, 1)


def test_no_fruit_at_all(demo):
    assert sum(item.missed for item in compare(demo, Instances.empty())) == 37


@pytest.mark.slow
def test_the_command_counts_within_a_tenth_of_the_truth(tmp_path):
    from typer.testing import CliRunner

    from edgekit.cli.main import app
    from edgekit.runtime.default_model import default_model_path

    try:
        default_model_path()
    except ModelError:
        pytest.skip("needs the packaged model")
    told = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo"), "--json"])
    assert told.exit_code == 0, told.exception
    answer = json.loads(told.stdout)
    whole = answer["whole_row"]
    assert whole["labelled"] == 37
    assert abs(whole["counted"] - 37) <= 3.7
    assert answer["in_training"]["labelled"] == 18
    assert (tmp_path / "demo/run/annotated.png").exists()
