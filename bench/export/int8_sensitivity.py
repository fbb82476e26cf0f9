"""Which part of an int8 graph costs how much: each part in turn is given its float32 values back.

    python bench/export/int8_sensitivity.py FP32.onnx INT8.onnx IMAGES_DIR [--tiles 48] [--parts PART ...]

Prints for each part how the detections differ from the fp32 graph's when the Q/DQ pairs behind its nodes are taken out.
The first line is the int8 graph as it is.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import onnx

from edgekit.export.parity import compare
from edgekit.export.pictures import read_tiles
from edgekit.segment import SegmenterSettings, open_segmenter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fp32", type=Path)
    parser.add_argument("int8", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--tiles", type=int, default=48)
    parser.add_argument("--parts", nargs="*")
    options = parser.parse_args()
    settings = SegmenterSettings(threads=1)
    reference = open_segmenter(options.fp32, settings=settings)
    tiles = read_tiles(options.images, size_px=reference.info.tile_size_px, limit=options.tiles, at_least=4).tiles
    expected = reference.segment(tiles)
    model = onnx.load(options.int8)
    first = {node.name.split("/")[1] for node in model.graph.node if node.name.startswith("/")}
    parts = options.parts or sorted(f"/{name}/" for name in first)
    with tempfile.TemporaryDirectory() as folder:
        for part in ("(none)", *parts):
            path = Path(folder) / "part.onnx"
            pairs = without_pairs(model, part, path)
            got = open_segmenter(path, settings=settings).segment(tiles)
            report = compare(expected, got, info=reference.info, threshold=0.5)
            print(
                f"{part:16} {pairs:4} pairs  unmatched {report.unmatched:4} of {report.reference}"
                f"  median IoU {report.median_iou or 0:.4f}  largest score change {report.score_difference or 0:.3f}"
            )


def without_pairs(model: onnx.ModelProto, part: str, path: Path) -> int:
    """Write a copy without the Q/DQ pairs behind the nodes of a part; return how many there were."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    makers = {name: node for node in graph.node for name in node.output}
    instead: dict[str, str] = {}
    for node in graph.node:
        quantiser = makers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        if quantiser is not None and quantiser.op_type == "QuantizeLinear":
            maker = makers.get(quantiser.input[0])
            if maker is not None and maker.name.startswith(part):
                instead[node.output[0]] = quantiser.input[0]
    for node in graph.node:
        for index, name in enumerate(node.input):
            while name in instead:
                name = instead[name]
            node.input[index] = name
    path.write_bytes(copy.SerializeToString())
    return len(instead)


if __name__ == "__main__":
    main()
