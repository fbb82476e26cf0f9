"""The R-CNN models: their size, their names, their heads against the definitions."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from rcnn_models import RECIPE, sized, tiny_model  # noqa: E402
from torch import nn  # noqa: E402
from torchvision.models import swin_v2_t  # noqa: E402
from torchvision.models.detection import MaskRCNN  # noqa: E402
from torchvision.models.detection.backbone_utils import resnet_fpn_backbone  # noqa: E402
from torchvision.models.feature_extraction import create_feature_extractor  # noqa: E402

from edgekit.errors import CheckpointError  # noqa: E402
from edgekit.export.graphs.swin import StaticSwinFpn  # noqa: E402
from edgekit.export.models import enliven, mask_rcnn, mask_rcnn_sw, ms_rcnn, trainable_parameters  # noqa: E402
from edgekit.export.models.lively import synthetic_pictures  # noqa: E402
from edgekit.export.models.loading import load_by_name  # noqa: E402
from edgekit.export.models.mask_iou import MaskIouHead, mask_iou_targets  # noqa: E402
from edgekit.export.models.mask_rcnn_sw import SwinFpnBackbone  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    ("family", "millions"), [(mask_rcnn, 62.6), (ms_rcnn, 78.9), (mask_rcnn_sw, 45.9)], ids=lambda value: str(value)
)
def test_trainable_parameters_of_the_paper(family, millions: float) -> None:
    with torch.device("meta"):
        model = family(RECIPE)
    assert trainable_parameters(model) / 1e6 == pytest.approx(millions, abs=0.1)


def test_mask_iou_head_has_16_3_million_parameters() -> None:
    with torch.device("meta"):
        head = MaskIouHead(2)
    assert sum(parameter.numel() for parameter in head.parameters()) / 1e6 == pytest.approx(16.3, abs=0.1)


@pytest.mark.parametrize("norm", [nn.BatchNorm2d, None], ids=["batch norm", "frozen"])
def test_keys_are_torchvisions(norm) -> None:
    options = {} if norm is None else {"norm_layer": norm}
    with torch.device("meta"):
        theirs = MaskRCNN(resnet_fpn_backbone(backbone_name="resnet101", weights=None, **options), num_classes=2)
        ours = mask_rcnn(RECIPE)
    keys = [key for key in theirs.state_dict() if not key.endswith("num_batches_tracked")]
    assert list(ours.state_dict()) == keys


def test_swin_body_takes_a_classifiers_keys() -> None:
    with torch.device("meta"):
        theirs = [key for key in swin_v2_t().state_dict() if key.startswith("features.")]
        assert list(SwinFpnBackbone().body.state_dict()) == theirs


class Plain(nn.Module):
    def __init__(self, classes: int = 2) -> None:
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.head = nn.Linear(4, classes)


class TestLoading:
    @pytest.mark.parametrize("wrap", [lambda s: s, lambda s: {"model": s, "epoch": 3}, lambda s: {"state_dict": s}])
    def test_state_dicts_in_their_usual_wrappings(self, wrap) -> None:
        source, model = Plain(), Plain()
        load_by_name(model, wrap(source.state_dict()), Path("w.pth"))
        assert torch.equal(model.head.weight, source.head.weight)

    def test_data_parallel_prefix_and_batch_norm_counters(self) -> None:
        source, model = Plain(), Plain()
        state = {f"module.{key}": value for key, value in source.state_dict().items()}
        state["module.body.num_batches_tracked"] = torch.tensor(7)
        load_by_name(model, state, Path("w.pth"))
        assert torch.equal(model.body.weight, source.body.weight)

    def test_another_class_count_names_the_keys_and_shapes(self) -> None:
        with pytest.raises(CheckpointError, match=r"head\.weight \(3, 4\) for \(2, 4\).*name as many classes"):
            load_by_name(Plain(2), Plain(3).state_dict(), Path("w.pth"))

    def test_another_model_names_the_first_keys_that_differ(self) -> None:
        state = {"stem.weight": torch.zeros(1), "body.weight": torch.zeros(4, 3)}
        with pytest.raises(CheckpointError, match=r"3 missing: body\.bias, head\.weight.*1 unknown: stem\.weight"):
            load_by_name(Plain(), state, Path("w.pth"))

    @pytest.mark.parametrize("held", [[], {}, 3, {"model": {"a": "text"}}, {"epoch": 1}], ids=str)
    def test_no_state_dict(self, held) -> None:
        with pytest.raises(CheckpointError, match="no state dict"):
            load_by_name(Plain(), held, Path("w.pth"))

    def test_not_finite(self) -> None:
        state = Plain().state_dict()
        state["head.bias"][0] = float("nan")
        with pytest.raises(CheckpointError, match=r"not finite in head\.bias"):
            load_by_name(Plain(), state, Path("w.pth"))

    @pytest.mark.filterwarnings("ignore:Detected pickle protocol")
    def test_a_pickle_of_code_is_refused(self, tmp_path: Path) -> None:
        from edgekit.export.builder import Weights
        from edgekit.export.rcnn import FAMILIES, eager_model

        path = tmp_path / "evil.pth"
        path.write_bytes(pickle.dumps(print))
        assert "mask_rcnn" in FAMILIES
        with torch.device("meta"), pytest.raises(CheckpointError):
            eager_model(RECIPE, Weights(path=path))


class TestMaskIou:
    def test_shapes_and_max_pooling(self) -> None:
        """The mask enters max-pooled: shifting its pixels within 2 x 2 cells changes nothing."""
        torch.manual_seed(0)
        head = MaskIouHead(3)
        features, mask = torch.rand(2, 256, 14, 14), torch.zeros(2, 1, 28, 28)
        mask[:, :, 8:12:2, 6:20:2] = 0.9
        moved = torch.roll(mask, shifts=(1, 1), dims=(2, 3))
        first = head(features, mask)
        assert first.shape == (2, 3)
        assert torch.equal(first, head(features, moved))
        assert not torch.equal(first, head(features, torch.zeros_like(mask)))

    def test_layers_of_the_paper(self) -> None:
        with torch.device("meta"):
            head = MaskIouHead(2)
        convs = [layer for layer in head.convs if isinstance(layer, nn.Conv2d)]
        assert [(conv.in_channels, conv.out_channels, conv.stride[0]) for conv in convs] == [
            (257, 256, 1), (256, 256, 1), (256, 256, 1), (256, 256, 2),
        ]  # fmt: skip
        linear = [head.fc1, head.fc2, head.mask_iou]
        assert [(layer.in_features, layer.out_features) for layer in linear] == [(12544, 1024), (1024, 1024), (1024, 2)]

    def test_target_of_a_perfect_mask_is_one(self) -> None:
        true = torch.zeros(1, 40, 40)
        true[:, 10:30, 10:30] = 1.0
        crop = torch.ones(1, 28, 28)
        box = torch.tensor([[10.0, 10.0, 30.0, 30.0]])
        assert mask_iou_targets(crop, box, crop, true).item() == pytest.approx(1.0)

    def test_target_counts_what_the_box_misses(self) -> None:
        """Half of the object lies outside the box: a mask that fills the box has IoU one half with the object."""
        true = torch.zeros(1, 40, 40)
        true[:, 10:30, 10:30] = 1.0
        full = torch.ones(1, 28, 28)
        box = torch.tensor([[10.0, 10.0, 20.0, 30.0]])
        assert mask_iou_targets(full, box, full, true).item() == pytest.approx(0.5)

    def test_target_of_a_partly_wrong_mask(self) -> None:
        true = torch.zeros(1, 40, 40)
        true[:, 10:30, 10:30] = 1.0
        inside, predicted = torch.ones(1, 28, 28), torch.zeros(1, 28, 28)
        predicted[:, :14] = 0.8
        box = torch.tensor([[10.0, 10.0, 30.0, 30.0]])
        assert mask_iou_targets(predicted, box, inside, true).item() == pytest.approx(0.5)

    def test_target_without_object_in_the_box_is_zero(self) -> None:
        true = torch.zeros(1, 40, 40)
        true[:, 30:, 30:] = 1.0
        box = torch.tensor([[0.0, 0.0, 10.0, 10.0]])
        assert mask_iou_targets(torch.ones(1, 28, 28), box, torch.zeros(1, 28, 28), true).item() == 0.0


class StubHead(nn.Module):
    """A MaskIoU head that has made up its mind."""

    def __init__(self, answer: list[list[float]]) -> None:
        super().__init__()
        self.answer = torch.tensor(answer)

    def forward(self, features: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        return self.answer


class TestMaskScoring:
    def test_scores_are_class_times_mask_iou_sorted_above_the_floor(self) -> None:
        model = tiny_model(rescoring=True, seed=2)
        picture = synthetic_pictures(1, RECIPE.tile_size_px, torch.Generator().manual_seed(5))
        with torch.no_grad():
            found = model(list(picture))[0]
        assert len(found["scores"]) > 2
        assert (found["scores"] <= found["class_scores"]).all()
        assert (found["scores"] >= RECIPE.score_floor).all()
        assert (found["scores"].diff() <= 0).all()

    def test_a_poor_mask_falls_behind_and_out(self) -> None:
        """Class scores .9, .6, .2 with predicted mask IoU .3, .9, .1: the order turns, the last one goes."""
        heads = tiny_model(rescoring=True).roi_heads
        heads.mask_iou_head = StubHead([[0.0, 0.3], [0.0, 0.9], [0.0, 0.1]])
        found = {
            "boxes": torch.arange(12.0).reshape(3, 4), "labels": torch.tensor([1, 1, 1]),
            "scores": torch.tensor([0.9, 0.6, 0.2]), "masks": torch.zeros(3, 1, 28, 28),
        }  # fmt: skip
        rescored = heads._rescored(found, torch.zeros(3, 256, 14, 14))
        assert rescored["scores"].tolist() == pytest.approx([0.54, 0.27])
        assert rescored["class_scores"].tolist() == pytest.approx([0.6, 0.9])
        assert rescored["boxes"][:, 0].tolist() == [4.0, 0.0]

    def test_predictions_beyond_0_to_1_are_clamped(self) -> None:
        heads = tiny_model(rescoring=True).roi_heads
        heads.mask_iou_head = StubHead([[0.0, 1.7]])
        found = {
            "boxes": torch.zeros(1, 4), "labels": torch.tensor([1]), "scores": torch.tensor([0.8]),
            "masks": torch.zeros(1, 1, 28, 28),
        }  # fmt: skip
        assert heads._rescored(found, torch.zeros(1, 256, 14, 14))["scores"].tolist() == pytest.approx([0.8])

    def test_training_gives_every_loss_and_moves_the_new_head(self) -> None:
        model = tiny_model(rescoring=True, seed=2).requires_grad_(True).train()
        mask = torch.zeros(1, 128, 128)
        mask[:, 30:90, 40:80] = 1.0
        target = {"boxes": torch.tensor([[40.0, 30.0, 80.0, 90.0]]), "labels": torch.tensor([1]), "masks": mask}
        torch.manual_seed(0)
        losses = model([torch.rand(3, 128, 128)], [target])
        names = {"loss_classifier", "loss_box_reg", "loss_mask", "loss_mask_iou", "loss_objectness", "loss_rpn_box_reg"}
        assert set(losses) == names
        losses["loss_mask_iou"].backward()
        assert model.roi_heads.mask_iou_head.fc1.weight.grad.abs().sum() > 0


class TestSwin:
    def test_body_gives_torchvisions_maps(self) -> None:
        torch.manual_seed(0)
        swin = swin_v2_t().eval()
        backbone = SwinFpnBackbone().eval()
        backbone.body.features.load_state_dict(swin.features.state_dict())
        names = {f"features.{number}": str(index) for index, number in enumerate((1, 3, 5, 7))}
        picture = torch.rand(1, 3, 64, 64)
        with torch.no_grad():
            wanted = create_feature_extractor(swin, names)(picture)
            got = backbone.body(picture)
        for name, value in wanted.items():
            assert torch.equal(got[name], value.permute(0, 3, 1, 2))

    @pytest.mark.parametrize("size", [64, 160, 224])
    def test_static_twin_gives_the_same_maps(self, size: int) -> None:
        """Sides that fill the windows, that must be padded, and that merge from an odd number of cells."""
        torch.manual_seed(0)
        backbone = SwinFpnBackbone().eval()
        for block in backbone.body.features.modules():
            if isinstance(block, nn.LayerNorm):
                nn.init.normal_(block.weight, 1.0, 0.2)
                nn.init.normal_(block.bias, 0.0, 0.2)
        pictures = torch.rand(2, 3, size, size)
        with torch.no_grad():
            wanted = backbone(pictures)
            got = StaticSwinFpn(backbone, size_px=size, batch=2)(pictures)
        assert list(got) == list(wanted)
        for name, value in wanted.items():
            assert torch.allclose(got[name], value, atol=1e-4 * float(value.abs().max()))


def test_enlivened_models_find_varied_objects_and_repeat() -> None:
    recipe = sized(128, max_detections=100, proposals=100, nms_candidates=100)
    model, again = tiny_model(recipe, seed=4), tiny_model(recipe, seed=4)
    state, other = model.state_dict(), again.state_dict()
    assert all(torch.equal(state[key], other[key]) for key in state)
    pictures = synthetic_pictures(3, 128, torch.Generator().manual_seed(9))
    with torch.no_grad():
        found = model(list(pictures))
    assert sum(len(one["scores"]) for one in found) >= 10
    scores = torch.cat([one["scores"] for one in found])
    assert scores.max() - scores.min() > 0.2


def test_enliven_calibrates_frozen_batch_norms() -> None:
    backbone = resnet_fpn_backbone(backbone_name="resnet50", weights=None, trainable_layers=3)
    from edgekit.export.models.mask_rcnn import two_stage

    model = two_stage(backbone, sized(64))
    enliven(model, 0)
    first = model.backbone.body.bn1
    assert float(first.running_var.std()) > 0
    with torch.no_grad():
        maps = model.backbone(torch.rand(1, 3, 64, 64))
    assert all(torch.isfinite(value).all() for value in maps.values())
