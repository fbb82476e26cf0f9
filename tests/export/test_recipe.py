"""Recipes: those that ship are valid, and what cannot be is refused with a way out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgekit.errors import SettingsError
from edgekit.export.recipe import Recipe, find_recipe, read_recipe


def test_the_recipes_that_ship_are_found_by_name_and_are_valid(repository):
    for path in sorted((repository / "export").glob("*.toml")):
        assert find_recipe(path.stem) == find_recipe(path.name)
        assert read_recipe(path).model == path.stem


def test_a_recipe_is_found_by_its_path(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('model = "yolo11"\n')
    assert find_recipe(str(path)) == path


def test_an_unknown_name_is_refused_with_those_that_exist():
    with pytest.raises(SettingsError, match="yolo11"):
        find_recipe("yolo99")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("tile_size = 512", "tile_size_px"),
        ("tile_size_px = 500", "multiple of 32"),
        ("tile_size_px = 0", "32"),
        ("batch = 0", "from 1"),
        ("batch = 1.5", "whole number"),
        ("score_floor = 1.5", "from 0.0 to 1.0"),
        ("max_detections = 2000", "nms_candidates"),
        ('precision = "fp8"', "fp16"),
        ('targets = ["gpu"]', "tensorrt"),
        ("targets = []", "one or more"),
        ('targets = ["cpu", "cpu"]', "each once"),
        ("std_rgb = [0.0, 1.0, 1.0]", "above 0"),
        ("mean_rgb = [0.0]", "three"),
        ('classes = ["a", "a"]', "once"),
        ("classes = 3", "list"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, line, told):
    path = tmp_path / "r.toml"
    path.write_text(f'model = "yolo11"\n{line}\n')
    with pytest.raises(SettingsError, match=told):
        read_recipe(path)


def test_a_recipe_without_a_model_is_refused(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text("batch = 2\n")
    with pytest.raises(SettingsError, match="model"):
        read_recipe(path)


def test_a_proposal_count_of_zero_is_refused():
    with pytest.raises(SettingsError, match="proposals"):
        replace(Recipe(model="mask_rcnn"), proposals=0)


def test_an_unknown_family_is_refused_with_the_nearest():
    pytest.importorskip("torch")
    from edgekit.export.registry import find_builder

    with pytest.raises(SettingsError, match="yolo11"):
        find_builder("yolo12")
