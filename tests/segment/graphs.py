"""Small graphs of the contract, made by hand: they return what the metadata of a test says, and cost nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgekit.contracts import CONTRACT_VERSION, ModelInfo

onnx = pytest.importorskip("onnx")

INFO = ModelInfo(
    contract_version=CONTRACT_VERSION,
    model="yolo11",
    class_names=("fruit",),
    tile_size_px=64,
    inner_size_px=64,
    batch=2,
    max_detections=5,
    proposals=None,
    mask_frame="tile",
    mask_size_px=16,
    score_floor=0.05,
    nms_iou=0.7,
    precision="fp32",
    weights_digest="0" * 64,
    weights_licence="AGPL-3.0",
    exporter={"edgekit": "test"},
)
OUTPUTS = ("count", "boxes", "scores", "labels", "masks", "candidates", "flags")


def echo_graph(
    path: Path,
    info: ModelInfo = INFO,
    *,
    metadata: dict[str, str] | None = None,
    drop: str = "",
    best_score: float = 0.9,
) -> Path:
    """A graph whose count is the red value of the first pixel of each tile, with 5 fixed rows behind it.

    The rows past the count are not zero on purpose: a careful reader never looks at them.
    """
    from onnx import TensorProto, helper

    b, k, m, s = info.batch, info.max_detections, info.mask_size_px, info.tile_size_px
    boxes = np.tile(np.array([8, 8, 40, 40], np.float32), (b, k, 1))
    masks = np.full((b, k, m, m), 255, np.uint8)
    scores = np.tile(np.linspace(0.9, 0.5, k).astype(np.float32), (b, 1))
    scores[:, 0] = best_score
    fixed = {"boxes": boxes, "scores": scores, "labels": np.zeros((b, k), np.int32), "masks": masks}
    nodes = [
        helper.make_node("Slice", ["tiles", "starts", "ends", "axes"], ["corner"]),
        helper.make_node("Reshape", ["corner", "flat"], ["red"]),
        helper.make_node("Cast", ["red"], ["candidates"], to=TensorProto.INT32),
        helper.make_node("Min", ["candidates", "limit"], ["count"]),
        helper.make_node("Sub", ["candidates", "candidates"], ["flags"]),
    ]
    tensors = [
        onnx.numpy_helper.from_array(np.array(value, np.int64), name)
        for name, value in (("starts", [0, 0, 0]), ("ends", [1, 1, 1]), ("axes", [1, 2, 3]), ("flat", [b]))
    ]
    tensors.append(onnx.numpy_helper.from_array(np.array([k], np.int32), "limit"))
    for name, value in fixed.items():
        nodes.append(helper.make_node("Identity", [f"{name}_fixed"], [name]))
        tensors.append(onnx.numpy_helper.from_array(value, f"{name}_fixed"))
    shapes = {"count": [b], "candidates": [b], "flags": [b], "boxes": [b, k, 4], "scores": [b, k], "labels": [b, k]}
    shapes["masks"] = [b, k, m, m]
    types = {"boxes": TensorProto.FLOAT, "scores": TensorProto.FLOAT, "masks": TensorProto.UINT8}
    outputs = [
        helper.make_tensor_value_info(name, types.get(name, TensorProto.INT32), shapes[name])
        for name in OUTPUTS
        if name != drop
    ]
    tiles = helper.make_tensor_value_info("tiles", TensorProto.UINT8, [b, s, s, 3])
    graph = helper.make_graph(nodes, "echo", [tiles], outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    for key, value in (info.to_metadata() if metadata is None else metadata).items():
        model.metadata_props.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())
    return path


def tiles_with_counts(*counts: int, size_px: int = 64) -> np.ndarray:
    """Tiles for which `echo_graph` finds these numbers of objects."""
    tiles = np.zeros((len(counts), size_px, size_px, 3), np.uint8)
    tiles[:, 0, 0, 0] = counts
    return tiles


def with_batch(batch: int) -> ModelInfo:
    return replace(INFO, batch=batch)
