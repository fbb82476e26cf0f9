"""ONNX Runtime's RoiAlign over RoIs in random order and in the order in which the exported R-CNNs give them to it.

    python bench/export/roi_order.py [--rounds 5]

1000 RoIs of 7 to 28 cells on the pyramid of a 512 px tile, pooled to 7 x 7 on one thread; processor seconds, medians.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import onnxruntime
import torch
from onnx import TensorProto, helper

from edgekit.export.graphs.atlas import Layout
from edgekit.export.graphs.roi_align import SAMPLES, AtlasRoiAlign

CHANNELS = 256
NUMBER = 1000
CELLS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    layout = Layout.of([128, 64, 32, 16])
    rng = np.random.default_rng(0)
    atlas = rng.normal(size=(1, CHANNELS, layout.height, layout.width)).astype(np.float32)
    rois = random_rois(rng)
    image = np.zeros(NUMBER, np.int64)
    pool = AtlasRoiAlign(CELLS, layout, "cpu")
    order = pool.reading_order(torch.from_numpy(rois * 4.0), torch.from_numpy(image)).numpy()
    shift = np.array([layout.lefts[0], layout.tops[0]] * 2, np.float32)
    session = session_of(atlas.shape)
    for name, rows in (("random order", rois + shift), ("reading order", (rois + shift)[order])):
        seconds = []
        for _ in range(rounds + 1):
            start = time.process_time()
            session.run(None, {"map": atlas, "rois": rows, "image": image})
            seconds.append(time.process_time() - start)
        print(f"{name:14} {np.median(seconds[1:]):.3f} s")


def random_rois(rng: np.random.Generator) -> np.ndarray:
    """RoIs anywhere on P2, in cells of it; all are small enough to belong there."""
    sides = rng.uniform(CELLS, 4 * CELLS, (NUMBER, 2))
    corners = rng.uniform(0.0, 128.0 - sides)
    return np.concatenate([corners, corners + sides], axis=1).astype(np.float32)


def session_of(shape: tuple[int, ...]) -> onnxruntime.InferenceSession:
    node = helper.make_node(
        "RoiAlign", ["map", "rois", "image"], ["pooled"], output_height=CELLS, output_width=CELLS,
        sampling_ratio=SAMPLES, spatial_scale=1.0, coordinate_transformation_mode="output_half_pixel",
    )  # fmt: skip
    inputs = [
        helper.make_tensor_value_info("map", TensorProto.FLOAT, shape),
        helper.make_tensor_value_info("rois", TensorProto.FLOAT, [NUMBER, 4]),
        helper.make_tensor_value_info("image", TensorProto.INT64, [NUMBER]),
    ]
    outputs = [helper.make_tensor_value_info("pooled", TensorProto.FLOAT, [NUMBER, CHANNELS, CELLS, CELLS])]
    model = helper.make_model(
        helper.make_graph([node], "pool", inputs, outputs),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
    )  # fmt: skip
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    main()
