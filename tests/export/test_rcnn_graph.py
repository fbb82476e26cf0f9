"""The static two-stage graph against torchvision's own forward, and its export."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rcnn_models import RECIPE, sized, tiny_model  # noqa: E402
from rcnn_rows import assert_same, rows_of  # noqa: E402

from edgekit.contracts import ModelInfo, ResultFlag  # noqa: E402
from edgekit.errors import SettingsError  # noqa: E402
from edgekit.export import rcnn  # noqa: E402
from edgekit.export.builder import CONTRACT_OUTPUTS, Weights  # noqa: E402
from edgekit.export.fp16 import to_fp16  # noqa: E402
from edgekit.export.graphs.two_stage import TwoStageGraph, TwoStageSettings  # noqa: E402
from edgekit.export.models.lively import synthetic_pictures  # noqa: E402
from edgekit.export.onnx_writer import annotate, trace  # noqa: E402
from edgekit.export.preflight import preflight  # noqa: E402
from edgekit.export.rcnn_reference import reference_rows  # noqa: E402
from edgekit.export.recipe import Recipe  # noqa: E402

pytestmark = pytest.mark.torch
TARGETS = ("cpu", "tensorrt")


def tiles_of(recipe: Recipe, number: int, seed: int = 7) -> np.ndarray:
    pictures = synthetic_pictures(number, recipe.tile_size_px, torch.Generator().manual_seed(seed))
    return (pictures.permute(0, 2, 3, 1) * 255).round().to(torch.uint8).numpy()


def special_tiles(size: int) -> np.ndarray:
    noise = np.random.default_rng(0).integers(0, 256, (size, size, 3), dtype=np.uint8)
    return np.stack([np.zeros_like(noise), np.full_like(noise, 255), noise])


def graph_of(model, recipe: Recipe, target: str) -> TwoStageGraph:
    return TwoStageGraph(model, model.backbone, TwoStageSettings(target, recipe.tile_size_px, recipe.batch)).eval()


def run(graph: TwoStageGraph, tiles: np.ndarray) -> list[np.ndarray]:
    with torch.no_grad():
        return [value.numpy() for value in graph(torch.from_numpy(tiles))]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rescoring", [False, True])
@pytest.mark.parametrize(
    "recipe",
    [RECIPE, sized(96, inner_px=128), sized(128, classes=("red", "green", "stem")), sized(64, max_detections=200,
     nms_candidates=200, proposals=300)],
    ids=["plain", "inner resize", "three classes", "fewer boxes than rows"],
)  # fmt: skip
def test_rows_are_torchvisions(recipe: Recipe, rescoring: bool, target: str) -> None:
    model = tiny_model(recipe, seed=1, rescoring=rescoring)
    graph = graph_of(model, recipe, target)
    tiles = tiles_of(recipe, 2)
    found = 0
    for tile in tiles:
        rows = rows_of(run(graph, tile[None]), 0)
        wanted = reference_rows(model, tile)
        assert_same(rows, wanted, floor=recipe.score_floor, size_px=recipe.tile_size_px)
        found += len(wanted.scores)
    assert found >= 4


@pytest.mark.parametrize("target", TARGETS)
def test_uniform_and_noisy_tiles(target: str) -> None:
    """Ties in the score leave open which anchors enter; the rows must still be sound, and the flag tell the truth."""
    model = tiny_model(seed=1)
    graph = graph_of(model, RECIPE, target)
    for tile in special_tiles(RECIPE.tile_size_px):
        outputs = run(graph, tile[None])
        rows = rows_of(outputs, 0)
        assert np.isfinite(rows.boxes).all()
        assert (np.diff(rows.scores) <= 0).all()
        assert (rows.scores >= RECIPE.score_floor).all()
        assert outputs[6][0] & ~int(ResultFlag.NMS_NOT_CONVERGED | ResultFlag.PROPOSALS_CUT) == 0
    noise = special_tiles(RECIPE.tile_size_px)[2]
    assert_same(
        rows_of(run(graph, noise[None]), 0), reference_rows(model, noise),
        floor=RECIPE.score_floor, size_px=RECIPE.tile_size_px,
    )  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rescoring", [False, True])
def test_a_batch_gives_the_rows_of_single_tiles(target: str, rescoring: bool) -> None:
    recipe = replace(RECIPE, batch=4)
    model = tiny_model(recipe, seed=1, rescoring=rescoring)
    first, second = tiles_of(recipe, 2)
    black = np.zeros_like(first)
    together = run(graph_of(model, recipe, target), np.stack([black, first, second, first]))
    single = graph_of(model, RECIPE, target)
    for index, tile in enumerate((black, first, second, first)):
        alone = run(single, tile[None])
        for name, many, one in zip(CONTRACT_OUTPUTS, together, alone, strict=False):
            if name == "masks":
                assert np.abs(many[index].astype(int) - one[0]).max() <= 1, name
            else:
                assert np.allclose(many[index], one[0], atol=1e-3), name


def test_a_batch_through_the_swin_backbone_gives_the_rows_of_single_tiles() -> None:
    recipe = replace(RECIPE, model="mask_rcnn_sw", batch=2)
    model = rcnn.eager_model(recipe, Weights(untrained_seed=1))
    tiles = tiles_of(recipe, 2)
    together = run(rcnn.static_graph(model, recipe, target="cpu"), tiles)
    assert together[0].min() > 0
    single = rcnn.static_graph(model, replace(recipe, batch=1), target="cpu")
    for index, tile in enumerate(tiles):
        for many, one in zip(together[:4], run(single, tile[None]), strict=False):
            assert np.allclose(many[index], one[0], atol=1e-3)


@pytest.mark.parametrize("target", TARGETS)
def test_limits_are_told(target: str) -> None:
    recipe = sized(128, max_detections=2, proposals=5, nms_candidates=60)
    model = tiny_model(recipe, seed=1)
    tile = tiles_of(recipe, 1)
    outputs = run(graph_of(model, recipe, target), tile)
    assert outputs[6][0] & ResultFlag.PROPOSALS_CUT
    plenty = sized(128, max_detections=2, proposals=1000, nms_candidates=60)
    free = tiny_model(plenty, seed=1)
    outputs = run(graph_of(free, plenty, target), tile)
    assert not outputs[6][0] & ResultFlag.PROPOSALS_CUT
    assert outputs[0][0] == 2
    assert outputs[5][0] > 2


def test_unfinished_nms_sets_the_flag() -> None:
    model = tiny_model(seed=1)
    graph = graph_of(model, RECIPE, "tensorrt")
    tile = tiles_of(RECIPE, 1)
    assert not run(graph, tile)[6][0] & ResultFlag.NMS_NOT_CONVERGED
    graph.proposals.suppressor.steps = 1
    assert run(graph, tile)[6][0] & ResultFlag.NMS_NOT_CONVERGED


def test_rows_past_the_count_are_zero() -> None:
    recipe = sized(128, max_detections=24)
    for rescoring in (False, True):
        model = tiny_model(recipe, seed=1, rescoring=rescoring)
        for target in TARGETS:
            outputs = run(graph_of(model, recipe, target), tiles_of(recipe, 1, seed=11))
            count = int(outputs[0][0])
            assert 0 < count < recipe.max_detections
            for column in (*outputs[1:5], *outputs[7:]):
                assert not column[0, count:].any()


@pytest.fixture
def tiny_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """The builder with tiny models in place of the full ones."""
    families = {
        "mask_rcnn": rcnn.Family(lambda recipe: tiny_model(recipe)),
        "ms_rcnn": rcnn.Family(lambda recipe: tiny_model(recipe, rescoring=True), ("class_scores",)),
    }
    monkeypatch.setattr(rcnn, "FAMILIES", families)


@pytest.mark.usefixtures("tiny_family")
class TestExport:
    @pytest.mark.parametrize("target", TARGETS)
    @pytest.mark.parametrize("family", ["mask_rcnn", "ms_rcnn"])
    def test_onnx_runtime_gives_torchvisions_rows(self, family: str, target: str, tmp_path: Path) -> None:
        import onnxruntime

        recipe = replace(RECIPE, model=family, batch=2)
        built = rcnn.build(recipe, Weights(untrained_seed=1), target=target)
        assert built.output_names[:7] == CONTRACT_OUTPUTS
        graph = trace(built)
        annotate(graph, built.info)
        info = ModelInfo.from_metadata({entry.key: entry.value for entry in graph.metadata_props})
        assert (info.mask_frame, info.mask_size_px, info.proposals, info.untrained) == ("box", 28, 40, True)
        assert info.optional_outputs == built.output_names[7:]
        if target == "tensorrt":
            assert preflight(graph) == []
        session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        tiles = tiles_of(recipe, 2)
        model = rcnn.eager_model(recipe, Weights(untrained_seed=1))
        black = np.zeros_like(tiles)
        before = session.run(None, {"tiles": tiles})
        session.run(None, {"tiles": black})
        after = session.run(None, {"tiles": tiles})
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
        for index, tile in enumerate(tiles):
            wanted = reference_rows(model, tile)
            assert_same(rows_of(before, index), wanted, floor=recipe.score_floor, size_px=recipe.tile_size_px)

    def test_half_precision_keeps_boxes_scores_and_nms_in_float32(self) -> None:
        from onnx import TensorProto

        built = rcnn.build(RECIPE, Weights(untrained_seed=1), target="tensorrt")
        reduced = to_fp16(trace(built), scopes=built.reduced).model
        half = {
            item.name for item in reduced.graph.value_info if item.type.tensor_type.elem_type == TensorProto.FLOAT16
        }
        outputs = {name: node for node in reduced.graph.node for name in node.output}
        wrong = [
            outputs[name].name
            for name in half
            if name in outputs
            and outputs[name].op_type != "Cast"
            and not any(outputs[name].name.startswith(scope) for scope in built.reduced)
        ]
        assert not wrong
        convolutions = [node for node in reduced.graph.node if node.op_type in ("Conv", "ConvTranspose", "Gemm")]
        assert convolutions
        assert all(node.output[0] in half for node in convolutions)
        assert all(node.output[0] not in half for node in reduced.graph.node if node.op_type in ("Softmax", "TopK"))


class TestBadRecipes:
    def test_no_classes(self) -> None:
        with pytest.raises(SettingsError, match="no class names"):
            rcnn.build(replace(RECIPE, classes=()), Weights(untrained_seed=1), target="cpu")

    @pytest.mark.parametrize("size", [32, 2048])
    def test_sizes_that_the_pyramid_does_not_take(self, size: int) -> None:
        with pytest.raises(SettingsError, match=r"inner_size_px.*from 64 to 1536"):
            rcnn.build(replace(RECIPE, inner_size_px=size), Weights(untrained_seed=1), target="cpu")

    def test_a_variant(self) -> None:
        with pytest.raises(SettingsError, match="one size"):
            rcnn.build(replace(RECIPE, variant="n"), Weights(untrained_seed=1), target="cpu")

    @pytest.mark.parametrize("name", ["mask_rcnn", "ms_rcnn", "mask_rcnn_sw"])
    def test_recipes_that_ship_can_be_read(self, name: str, repository: Path) -> None:
        from edgekit.export.recipe import read_recipe

        recipe = read_recipe(repository / "export" / f"{name}.toml")
        assert (recipe.model, recipe.max_detections, recipe.proposals, recipe.score_floor) == (name, 100, 1000, 0.05)
        assert json.dumps(recipe.classes) == '["fruit"]'
