"""The static pieces of a two-stage detector against torchvision's operators."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import nn  # noqa: E402
from torchvision.models.detection._utils import BoxCoder  # noqa: E402
from torchvision.models.resnet import Bottleneck  # noqa: E402
from torchvision.ops import FrozenBatchNorm2d, MultiScaleRoIAlign, box_iou, nms  # noqa: E402

from edgekit.export.graphs.atlas import Layout, pack, places  # noqa: E402
from edgekit.export.graphs.boxes import decode, pairwise_iou, probability  # noqa: E402
from edgekit.export.graphs.fold import fold_batch_norms  # noqa: E402
from edgekit.export.graphs.roi_align import AtlasRoiAlign  # noqa: E402
from edgekit.export.graphs.suppress import Suppressor, keep_fixed_point  # noqa: E402

pytestmark = pytest.mark.torch
SIZE_PX = 96


def random_boxes(number: int, seed: int, *, size: float = SIZE_PX) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    corners = torch.rand(number, 4, generator=generator) * size
    low, high = torch.minimum(corners[:, :2], corners[:, 2:]), torch.maximum(corners[:, :2], corners[:, 2:])
    return torch.cat([low, high], dim=1)


class TestNms:
    @given(seed=st.integers(0, 10_000), number=st.integers(1, 60), iou=st.floats(0.1, 0.9))
    @settings(max_examples=60, deadline=None)
    def test_fixed_point_is_the_greedy_result(self, seed: int, number: int, iou: float) -> None:
        boxes = random_boxes(number, seed, size=20.0)
        valid = torch.rand(number, generator=torch.Generator().manual_seed(seed)) > 0.2
        keep, settled = keep_fixed_point(boxes[None], valid[None], iou=iou, steps=number + 1)
        rows = torch.nonzero(valid)[:, 0]
        greedy = rows[nms(boxes[rows], torch.arange(len(rows), 0, -1.0), iou)]
        assert torch.nonzero(keep[0])[:, 0].tolist() == sorted(greedy.tolist())
        assert bool(settled[0])

    @pytest.mark.parametrize("target", ["cpu", "tensorrt"])
    def test_groups_do_not_touch_each_other(self, target: str) -> None:
        boxes = torch.stack([random_boxes(20, seed, size=10.0) for seed in (1, 2, 3)])
        valid = torch.ones(3, 20, dtype=torch.bool)
        suppressor = Suppressor(0.4, target)
        together, _ = suppressor(boxes, valid)
        alone = [suppressor(boxes[group : group + 1], valid[:1])[0][0] for group in range(3)]
        assert torch.equal(together, torch.stack(alone))

    def test_a_chain_longer_than_the_steps_is_told(self) -> None:
        shift = torch.arange(30.0)[:, None] * 3.0
        chain = torch.cat([shift, torch.zeros(30, 1), shift + 10.0, torch.full((30, 1), 10.0)], dim=1)[None]
        valid = torch.ones(1, 30, dtype=torch.bool)
        keep, settled = keep_fixed_point(chain, valid, iou=0.5, steps=8)
        assert not bool(settled[0])
        keep, settled = keep_fixed_point(chain, valid, iou=0.5, steps=31)
        assert bool(settled[0])
        assert keep[0].tolist() == [row % 2 == 0 for row in range(30)]

    def test_empty_boxes_neither_suppress_nor_vanish(self) -> None:
        boxes = torch.zeros(1, 3, 4)
        keep, settled = keep_fixed_point(boxes, torch.ones(1, 3, dtype=torch.bool), iou=0.5, steps=4)
        assert keep.all()
        assert settled.all()


class TestBoxes:
    def test_iou(self) -> None:
        boxes = random_boxes(12, 5)
        assert torch.allclose(pairwise_iou(boxes[None])[0], box_iou(boxes, boxes), atol=1e-6)

    def test_decode_is_torchvisions(self) -> None:
        boxes = random_boxes(30, 6)
        deltas = torch.randn(30, 4, generator=torch.Generator().manual_seed(0)) * torch.tensor([1.0, 1.0, 1.0, 40.0])
        weights = (10.0, 10.0, 5.0, 5.0)
        assert torch.allclose(decode(deltas, boxes, weights), BoxCoder(weights).decode_single(deltas, boxes))


class TestAtlas:
    @pytest.mark.parametrize("size", [64, 96, 160, 512, 800])
    def test_levels_do_not_overlap_and_p2_ends_the_canvas(self, size: int) -> None:
        sides = [-(-size // stride) for stride in (4, 8, 16, 32)]
        layout = Layout.of(sides)
        cells = np.zeros((layout.height, layout.width), int)
        for level, side in enumerate(sides):
            repeated = 0 if level == 0 else 1
            top, left = layout.tops[level], layout.lefts[level]
            cells[top : top + side + repeated, left : left + side + repeated] += 1
        assert cells.max() == 1
        assert cells.sum() == sides[0] ** 2 + sum((side + 1) ** 2 for side in sides[1:])
        assert (layout.tops[0] + sides[0], layout.lefts[0] + sides[0]) == (layout.height, layout.width)

    def test_levels_at_the_limits(self) -> None:
        layout = Layout.of([128, 64, 32, 16])
        sides = torch.tensor([0.0, 111.9, 112.0, 223.9, 224.0, 447.9, 448.0, 512.0])
        boxes = torch.stack([torch.zeros(8), torch.zeros(8), sides, sides], dim=1)
        assert places(boxes, layout).scale.reciprocal().tolist() == [4, 4, 8, 8, 16, 16, 32, 32]


class TestRoiAlign:
    @pytest.mark.parametrize("target", ["cpu", "tensorrt"])
    @pytest.mark.parametrize("cells", [7, 14])
    @pytest.mark.parametrize("size", [SIZE_PX, 512])
    def test_equals_torchvision(self, target: str, cells: int, size: int) -> None:
        """Ordinary RoIs, RoIs under one cell wide at the right and lower edge, empty ones, and the whole picture."""
        generator = torch.Generator().manual_seed(3)
        maps = [torch.randn(2, 3, size // stride, size // stride, generator=generator) for stride in (4, 8, 16, 32)]
        end = float(size)
        special = [
            [0.0, 0.0, end, end], [end - 1, 3.0, end, 40.0], [5.0, end - 0.5, 60.0, end], [end, end, end, end],
            [end - 3.9, end - 3.9, end, end], [0.0, 0.0, 0.0, 0.0], [end - 2, 0.0, end, end], [0.0, end - 7, end, end],
        ]  # fmt: skip
        rois = torch.cat([random_boxes(40, 1, size=end), torch.tensor(special)]).repeat(2, 1)
        per_image = len(rois) // 2
        pool = MultiScaleRoIAlign(["0", "1", "2", "3"], cells, 2)
        wanted = pool(dict(zip("0123", maps, strict=True)), [rois[:per_image], rois[per_image:]], [(size, size)] * 2)
        layout = Layout.of([level.shape[-1] for level in maps])
        image = torch.arange(2).repeat_interleave(per_image)
        got = AtlasRoiAlign(cells, layout, target)(pack(maps, layout), rois, image)
        assert torch.allclose(got, wanted, atol=2e-4), (got - wanted).abs().amax(dim=(1, 2, 3))


def test_folding_changes_nothing_but_the_rounding() -> None:
    torch.manual_seed(0)
    down = nn.Sequential(nn.Conv2d(8, 16, 1, bias=False), FrozenBatchNorm2d(16))
    block = Bottleneck(8, 4, downsample=down, norm_layer=FrozenBatchNorm2d)
    for norm in [module for module in block.modules() if isinstance(module, FrozenBatchNorm2d)]:
        norm.weight.uniform_(0.5, 2.0)
        norm.bias.normal_()
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.1, 3.0)
    picture = torch.randn(1, 8, 6, 6)
    before = block(picture)
    fold_batch_norms(block)
    assert not [module for module in block.modules() if isinstance(module, FrozenBatchNorm2d)]
    assert torch.allclose(block(picture), before, atol=1e-5)


def test_a_probability_never_falls_where_the_logit_rises_under_onnx_runtime(tmp_path) -> None:
    """ONNX Runtime's own Sigmoid does, so that neighbours of almost equal score would change places."""
    import onnxruntime

    class Scores(torch.nn.Module):
        def forward(self, logits: torch.Tensor) -> torch.Tensor:
            return probability(logits)

    logits = torch.linspace(-20.0, 20.0, 100_001)
    path = tmp_path / "p.onnx"
    torch.onnx.export(Scores(), (logits,), path, dynamo=False, opset_version=17, input_names=["logits"])
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"logits": logits.numpy()})
    assert (np.diff(found) >= 0).all()
    assert np.array_equal(found[logits > 8], logits.sigmoid()[logits > 8].numpy())
    assert np.abs(found - logits.sigmoid().numpy()).max() < 2e-7


def test_rois_are_read_band_by_band_and_image_by_image() -> None:
    layout = Layout.of([32, 16, 8, 4])
    pool = AtlasRoiAlign(7, layout, "cpu")
    corners = torch.tensor([[100.0, 100.0], [0.0, 100.0], [100.0, 0.0], [0.0, 0.0]])
    rois = torch.cat([corners, corners + 28.0], dim=1)
    assert pool.reading_order(rois, torch.zeros(4, dtype=torch.int64)).tolist() == [3, 2, 1, 0]
    assert pool.reading_order(rois, torch.tensor([0, 0, 0, 1])).tolist() == [2, 1, 0, 3]
