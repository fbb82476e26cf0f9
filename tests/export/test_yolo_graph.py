"""The YOLO graph: static shapes, batches, limits, and the same rows for both targets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from export.conftest import SMALL, make

from edgekit.contracts import ResultFlag
from edgekit.errors import CheckpointError, SettingsError
from edgekit.segment import SegmenterSettings, open_segmenter

torch = pytest.importorskip("torch")
pytest.importorskip("ultralytics")
Weights = pytest.importorskip("edgekit.export.builder").Weights
build = pytest.importorskip("edgekit.export.yolo").build
pytestmark = pytest.mark.torch

ONE_THREAD = SegmenterSettings(threads=1)


@pytest.fixture(scope="module")
def tiles():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (3, 128, 128, 3), np.uint8)
    black, white = np.zeros((1, 128, 128, 3), np.uint8), np.full((1, 128, 128, 3), 255, np.uint8)
    return np.concatenate([noise, black, white])


def same(a, b, *, iou_px=2):
    assert (len(a.instances), a.candidates, a.flags) == (len(b.instances), b.candidates, b.flags)
    np.testing.assert_allclose(a.instances.scores, b.instances.scores, atol=1e-5)
    np.testing.assert_allclose(a.instances.boxes_xyxy, b.instances.boxes_xyxy, atol=1e-2)
    np.testing.assert_array_equal(a.instances.labels, b.instances.labels)
    for first, second in zip(a.instances.masks, b.instances.masks, strict=True):
        assert abs(first.area_px - second.area_px) <= iou_px


def test_every_output_has_a_fixed_shape(small_graph):
    import onnx

    from edgekit.export.tensors import shape_of

    model = onnx.load(small_graph)
    shapes = {item.name: shape_of(item) for item in model.graph.output}
    assert shapes["masks"] == (1, 20, 32, 32)
    assert shapes["boxes"] == (1, 20, 4)
    assert all(isinstance(size, int) for shape in shapes.values() for size in shape)


def test_the_graph_gives_what_the_module_gives(small_graph, tiles):
    built = build(SMALL, Weights(untrained_seed=3), target="cpu")
    segmenter = open_segmenter(small_graph, settings=ONE_THREAD)
    for tile in tiles:
        with torch.no_grad():
            names = dict(zip(built.output_names, built.module(torch.from_numpy(tile[None])), strict=True))
        (got,) = segmenter.segment(tile[None])
        assert len(got.instances) == int(names["count"]) > 0
        np.testing.assert_allclose(got.instances.scores, names["scores"][0, : len(got.instances)].numpy(), atol=1e-5)
        np.testing.assert_allclose(got.instances.boxes_xyxy, names["boxes"][0, : len(got.instances)].numpy(), atol=1e-2)


def test_both_targets_give_the_same_rows(small_graph, small_graph_for_tensorrt, tiles):
    cpu, static = (open_segmenter(path, settings=ONE_THREAD) for path in (small_graph, small_graph_for_tensorrt))
    for a, b in zip(cpu.segment(tiles), static.segment(tiles), strict=True):
        same(a, b)


def test_a_batch_gives_the_same_rows_as_tile_by_tile(small_graph_of_four, small_graph, tiles):
    four = open_segmenter(small_graph_of_four, settings=ONE_THREAD)
    one = open_segmenter(small_graph, settings=ONE_THREAD)
    for a, b in zip(one.segment(tiles), four.segment(tiles), strict=True):
        same(a, b)


def test_the_same_tile_at_two_places_of_a_batch_gives_the_same(small_graph_of_four, tiles):
    four = open_segmenter(small_graph_of_four, settings=ONE_THREAD)
    results = four.segment(tiles[[3, 0, 3, 0]])
    same(results[1], results[3])
    same(results[0], results[2])


def test_limits_that_bite_are_told(small_graph, tiles):
    (result,) = open_segmenter(small_graph, settings=ONE_THREAD).segment(tiles[:1])
    assert result.cut_to_limit
    assert result.flags & ResultFlag.PROPOSALS_CUT  # 128 px have 336 anchors, 64 enter NMS


def test_scores_fall_and_rows_past_the_count_are_zero(small_graph, tiles):
    import onnxruntime as ort

    session = ort.InferenceSession(str(small_graph), providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_outputs()]
    outputs = dict(zip(names, session.run(None, {"tiles": tiles[:1]}), strict=True))
    count = int(outputs["count"][0])
    assert (np.diff(outputs["scores"][0, :count]) <= 0).all()
    for name in ("boxes", "scores", "labels", "masks"):
        assert not outputs[name][0, count:].any()


def test_a_floor_above_every_score_gives_no_rows_and_a_session_that_goes_on(tmp_path, tiles):
    segmenter = open_segmenter(make(tmp_path, replace(SMALL, score_floor=0.9)), settings=ONE_THREAD)
    for result in (*segmenter.segment(tiles), *segmenter.segment(tiles[:1])):
        assert (len(result.instances), result.candidates, result.flags) == (0, 0, ResultFlag(0))


@pytest.mark.parametrize("seed", [0, 1])
def test_untrained_graphs_depend_on_the_seed_alone_and_say_so(seed):
    first, second = (build(SMALL, Weights(untrained_seed=seed), target="cpu") for _ in range(2))
    assert first.info.untrained
    assert str(seed) in first.info.weights_digest
    for name, value in first.module.state_dict().items():
        torch.testing.assert_close(value, second.module.state_dict()[name])


@pytest.mark.parametrize("name", ["yolov8n-seg", "yolo26n-seg"])
@pytest.mark.parametrize("end2end", [False, True])
def test_the_rest_of_the_family_passes(tmp_path, tiles, name, end2end):
    from ultralytics.nn.tasks import SegmentationModel

    if end2end and "26" not in name:
        pytest.skip("only YOLO26 has a one-to-one head")
    model = SegmentationModel(f"{name}.yaml", nc=2, verbose=False)
    model.names = {0: "fruit", 1: "leaf"}
    model.model[-1].end2end = end2end
    path = tmp_path / "w.pt"
    torch.save({"model": model.half()}, path)
    built = build(replace(SMALL, classes=()), Weights(path), target="cpu")
    assert built.info.class_names == ("fruit", "leaf")
    with torch.no_grad():
        count, boxes, *_ = built.module(torch.from_numpy(tiles[:1]))
    assert int(count) > 0
    assert 0 <= float(boxes.min()) <= float(boxes.max()) <= 128


def test_prototypes_of_another_size_are_read_from_the_model(tmp_path, tiles):
    """Never a quarter of the tile by assumption (Ultralytics' mask ratio leads astray)."""
    from torch import nn
    from ultralytics.nn.tasks import SegmentationModel

    model = SegmentationModel("yolo11n-seg.yaml", nc=1, verbose=False).eval()
    proto = model.model[-1].proto
    proto.cv3 = nn.Sequential(proto.cv3, nn.Upsample(scale_factor=2, mode="nearest"))
    model.model[-1].proto = proto
    path = tmp_path / "w.pt"
    torch.save({"model": model}, path)
    built = build(replace(SMALL, classes=()), Weights(path), target="cpu")
    assert built.info.mask_size_px == 64
    with torch.no_grad():
        masks = built.module(torch.from_numpy(tiles[:1]))[4]
    assert masks.shape == (1, 20, 64, 64)


def test_two_classes_do_not_suppress_each_other_far_from_the_origin():
    """Class offsets must not cost precision: two classes, boxes 4 px apart, class 79."""
    from edgekit.export.graphs.suppress import Suppressor
    from edgekit.export.graphs.yolo import CLASS_SHIFT_TILES

    boxes = torch.tensor([[[10.0, 10, 20, 20], [10, 10, 20, 20], [14, 10, 24, 20]]])
    labels = torch.tensor([[79, 78, 79]])
    shifted = boxes + (labels * float(CLASS_SHIFT_TILES * 512)).unsqueeze(2)
    for target in ("cpu", "tensorrt"):
        keep, settled = Suppressor(0.4, target)(shifted, torch.ones(1, 3, dtype=torch.bool))
        assert keep.tolist() == [[True, True, False]]  # 6 x 10 of 140 px: IoU 0.43
        assert settled.all()


def test_another_class_count_and_another_model_are_refused(tmp_path, tomato_weights):
    with pytest.raises(CheckpointError, match="1 classes, the recipe names 2"):
        build(SMALL, Weights(tomato_weights), target="cpu")
    detector = tmp_path / "detect.pt"
    from ultralytics.nn.tasks import DetectionModel

    torch.save({"model": DetectionModel("yolo11n.yaml", nc=1, verbose=False)}, detector)
    with pytest.raises(CheckpointError, match="DetectionModel"):
        build(SMALL, Weights(detector), target="cpu")
    with pytest.raises(CheckpointError, match="no masks"):
        build(SMALL, Weights(detector, trust_checkpoint=True), target="cpu")


def test_a_state_dict_is_refused_by_what_it_is(shared):
    with pytest.raises(CheckpointError, match="holds no model"):
        build(SMALL, Weights(shared / "weights" / "yolo11n_coco_from_int8.pt"), target="cpu")


def test_what_the_family_cannot_do_is_refused():
    with pytest.raises(SettingsError, match="variant"):
        build(replace(SMALL, variant="q"), Weights(untrained_seed=0), target="cpu")
    with pytest.raises(SettingsError, match="mean_rgb"):
        build(replace(SMALL, mean_rgb=(0.5, 0.5, 0.5)), Weights(untrained_seed=0), target="cpu")


class TestFoldedPrototypes:
    def proto(self, *, bias: bool = True):
        """Ultralytics' module with statistics and biases that matter, its BatchNorms fused."""
        from ultralytics.nn.modules.block import Proto
        from ultralytics.utils.torch_utils import fuse_conv_and_bn

        torch.manual_seed(0)
        proto = Proto(24, 16, 8).eval()
        for layer in (proto.cv1, proto.cv2, proto.cv3):
            layer.bn.running_mean.normal_()
            layer.bn.running_var.uniform_(0.5, 2.0)
            layer.conv = fuse_conv_and_bn(layer.conv, layer.bn)
            layer.forward = layer.forward_fuse
        proto.upsample.bias = torch.nn.Parameter(torch.randn(16)) if bias else None
        return proto.requires_grad_(False)

    @pytest.mark.parametrize("bias", [True, False])
    def test_every_pixel_is_ultralytics_borders_included(self, bias: bool) -> None:
        from edgekit.export.graphs.prototypes import FoldedPrototypes, can_fold, frame_of, interleave

        proto = self.proto(bias=bias)
        maps = torch.randn(2, 24, 5, 7)
        assert can_fold(proto)
        planes, wanted = FoldedPrototypes(proto).eval()(maps), proto(maps)
        assert torch.allclose(interleave(planes.flatten(0, 1)).reshape(wanted.shape), wanted, atol=1e-5)
        assert frame_of(planes) == frame_of(wanted) == (10, 14)

    def test_other_modules_are_left_as_they_are(self) -> None:
        from edgekit.export.graphs.prototypes import can_fold

        proto = self.proto()
        proto.upsample = torch.nn.Upsample(scale_factor=2)
        assert not can_fold(proto)
        assert not can_fold(torch.nn.Identity())


@pytest.mark.parametrize("name", ["C2f", "C3k2", "C3k2 of C3k"])
def test_a_block_of_two_first_convolutions_gives_what_the_block_gives(name):
    from ultralytics.nn.modules.block import C2f, C3k2
    from ultralytics.nn.modules.conv import Conv

    from edgekit.export.graphs.halves import can_halve, halve_blocks

    block = C2f(16, 24, n=2) if name == "C2f" else C3k2(16, 24, n=2, c3k="C3k" in name)
    block.f = -1
    picture = torch.rand(2, 16, 8, 8)
    assert not can_halve(block.eval())  # its BatchNorms are not fused
    for part in block.modules():
        if type(part) is Conv:
            part.conv.bias = torch.nn.Parameter(torch.rand(part.conv.out_channels))
            part.bn = torch.nn.Identity()
    with torch.no_grad():
        torch.testing.assert_close(halve_blocks(torch.nn.Sequential(block))(picture), block(picture))


def test_only_the_graph_for_the_cpu_has_halved_blocks():
    kinds = {
        target: {type(layer).__name__ for layer in build(SMALL, Weights(untrained_seed=3), target=target).module.layers}
        for target in ("cpu", "tensorrt")
    }
    assert "HalvedC2f" in kinds["cpu"]
    assert "C3k2" not in kinds["cpu"]
    assert "HalvedC2f" not in kinds["tensorrt"]


@pytest.mark.parametrize("names", [{}, {0: "a", 1: "b", 2: "c"}, ["a"], {0: "a", 1: "a"}], ids=str)
def test_names_that_are_not_those_of_the_head_are_refused(tmp_path, names):
    from ultralytics.nn.tasks import SegmentationModel

    model = SegmentationModel("yolo11n-seg.yaml", nc=2, verbose=False)
    model.names = names
    torch.save({"model": model}, tmp_path / "w.pt")
    with pytest.raises(CheckpointError, match="2 classes and names"):
        build(replace(SMALL, classes=()), Weights(tmp_path / "w.pt"), target="cpu")
    assert build(SMALL, Weights(tmp_path / "w.pt"), target="cpu").info.class_names == SMALL.classes


def test_weights_that_are_not_finite_are_refused(tmp_path):
    from ultralytics.nn.tasks import SegmentationModel

    model = SegmentationModel("yolo11n-seg.yaml", nc=2, verbose=False)
    model.model[3].conv.weight.data[0, 0] = float("nan")
    torch.save({"model": model}, tmp_path / "w.pt")
    with pytest.raises(CheckpointError, match=r"not finite in model\.3\.conv\.weight"):
        build(SMALL, Weights(tmp_path / "w.pt"), target="cpu")
