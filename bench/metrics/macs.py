"""MACs of four models by edgekit (PyTorch and ONNX) beside fvcore, ptflops, thop and onnx-tool.

    pip install fvcore ptflops ultralytics-thop onnx-tool
    python bench/metrics/macs.py [--only resnet50,yolo11n_seg,swin_v2_t,mask_rcnn] [--json]

Random weights, since MACs do not depend on them. One peer that fails is told and does not stop the others. After each
model come edgekit's MACs by operator and what it lists as not counted: where a peer differs by more than 2 %, the
operators tell why. At the end: trainable parameters of the four models of the paper's Table 2.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torchvision

from edgekit.bench.model.torch_cost import TorchCost, parameter_counts, torch_cost
from edgekit.graph.macs import GraphCost, graph_cost
from edgekit.graph.operators import COUNTED

Inputs = tuple[Any, ...]


def resnet50() -> tuple[torch.nn.Module, Inputs]:
    return torchvision.models.resnet50(weights=None), (torch.zeros(1, 3, 224, 224),)


def yolo11n_seg() -> tuple[torch.nn.Module, Inputs]:
    from ultralytics.nn.tasks import SegmentationModel

    model = SegmentationModel("yolo11n-seg.yaml", nc=1, verbose=False)
    return model.fuse(verbose=False), (torch.zeros(1, 3, 512, 512),)


def swin_v2_t() -> tuple[torch.nn.Module, Inputs]:
    return torchvision.models.swin_v2_t(weights=None), (torch.zeros(1, 3, 256, 256),)


def mask_rcnn() -> tuple[torch.nn.Module, Inputs]:
    """ResNet50-FPN, without its inner resize (512 stays 512), seeded, with 20 masks at most.

    An R-CNN costs what it finds, so every counter gets the same grey picture; it is the one on which edgekit runs a
    graph whose sizes depend on the data."""
    model = torchvision.models.detection.maskrcnn_resnet50_fpn(
        weights=None,
        weights_backbone=None,
        num_classes=2,
        min_size=512,
        max_size=512,
        box_score_thresh=0.0,
        box_detections_per_img=20,
    )
    return model, ([torch.full((3, 512, 512), 0.5)],)


MODELS: dict[str, Callable[[], tuple[torch.nn.Module, Inputs]]] = {
    "resnet50": resnet50, "yolo11n_seg": yolo11n_seg, "swin_v2_t": swin_v2_t, "mask_rcnn": mask_rcnn,
}  # fmt: skip


def made(name: str) -> tuple[torch.nn.Module, Inputs]:
    """A model with the same weights every time: what an R-CNN finds in a picture decides its cost."""
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    return model.eval(), inputs


def by_fvcore(model: torch.nn.Module, inputs: Inputs, path: Path | None) -> float:
    from fvcore.nn import FlopCountAnalysis

    counted = FlopCountAnalysis(model, inputs).unsupported_ops_warnings(False).uncalled_modules_warnings(False)
    return float(counted.total())


def by_ptflops(model: torch.nn.Module, inputs: Inputs, path: Path | None) -> float:
    from ptflops import get_model_complexity_info

    shape = tuple(inputs[0][0].shape) if isinstance(inputs[0], list) else tuple(inputs[0].shape[1:])
    macs, _ = get_model_complexity_info(
        model, shape, as_strings=False, print_per_layer_stat=False, verbose=False, backend="pytorch",
        input_constructor=(lambda _: {"images": inputs[0]}) if isinstance(inputs[0], list) else None,
    )  # fmt: skip
    return float(macs)


def by_thop(model: torch.nn.Module, inputs: Inputs, path: Path | None) -> float:
    from thop import profile

    return float(profile(model, inputs=inputs, verbose=False)[0])


def by_onnx_tool(model: torch.nn.Module, inputs: Inputs, path: Path | None) -> float:
    return sum(onnx_tool_operators(path).values())


def onnx_tool_operators(path: Path | None) -> dict[str, float]:
    """onnx-tool's MACs by operator: it also counts activations, with 32 for an exponential, and element-wise work."""
    import onnx_tool

    if path is None:
        raise ValueError("no ONNX graph to count")
    loaded = onnx_tool.Model(str(path))
    loaded.graph.shape_infer()
    loaded.graph.profile()
    found: Counter[str] = Counter()
    for node in loaded.graph.nodemap.values():
        found[node.op_type] += float(node.macs[0] if isinstance(node.macs, (list, tuple)) else node.macs)
    return dict(found.most_common())


PEERS: dict[str, Callable[[torch.nn.Module, Inputs, Path | None], float]] = {
    "fvcore": by_fvcore, "ptflops": by_ptflops, "thop": by_thop, "onnx-tool": by_onnx_tool,
}  # fmt: skip


def compare(name: str, folder: Path) -> dict[str, Any]:
    """All counts of one model, GMAC; a text where a counter failed."""
    model, inputs = made(name)
    ours: TorchCost = torch_cost(model, *inputs)
    path: Path | None = folder / f"{name}.onnx"
    graph: GraphCost | None = None
    try:
        with quiet():
            torch.onnx.export(model, inputs, str(path), dynamo=False, opset_version=17)
        graph = graph_cost(path)
    except Exception as error:  # an exporter's failure is a result here, whatever its type
        path, problem = None, f"no graph: {str(error)[:60]}"
    counts: dict[str, Any] = {
        "edgekit (PyTorch)": ours.macs / 1e9, "edgekit (ONNX)": graph.macs / 1e9 if graph else problem,
    }  # fmt: skip
    counts |= {peer: count_by(peer, name, path) for peer in PEERS}
    peer_operators: dict[str, float] = {}
    if not isinstance(counts["onnx-tool"], str):
        with quiet():
            peer_operators = {key: value / 1e9 for key, value in onnx_tool_operators(path).items() if value}
        products = sum(value for key, value in peer_operators.items() if key in COUNTED)
        counts["onnx-tool, same operators"] = products
    return {
        "gmac": counts, "gmac_onnx_tool_by_operator": peer_operators, "parameters": ours.parameters,
        "not_counted_pytorch": dict(ours.not_counted),
        "gmac_by_operator": {} if graph is None else {key: v / 1e9 for key, v in graph.macs_by_operator.items()},
        "not_counted_onnx": {} if graph is None else dict(graph.not_counted),
    }  # fmt: skip


def count_by(peer: str, name: str, path: Path | None) -> float | str:
    """GMAC by one peer on a model of its own, since counters leave hooks behind."""
    model, inputs = made(name)
    try:
        with quiet(), torch.no_grad():
            return PEERS[peer](model, inputs, path) / 1e9
    except Exception as error:  # a peer's failure is a result here, whatever its type
        return f"failed: {type(error).__name__}: {str(error)[:60]}"


def table_2() -> dict[str, float]:
    """Trainable parameters of the paper's four models, millions."""
    from edgekit.export.models.mask_rcnn import mask_rcnn as build_mask_rcnn
    from edgekit.export.models.mask_rcnn_sw import mask_rcnn_sw
    from edgekit.export.models.ms_rcnn import ms_rcnn
    from edgekit.export.recipe import find_recipe, read_recipe

    from dataclasses import replace  # isort: skip

    found = {}
    for name, build in (("mask_rcnn", build_mask_rcnn), ("ms_rcnn", ms_rcnn), ("mask_rcnn_sw", mask_rcnn_sw)):
        recipe = replace(read_recipe(find_recipe(name)), classes=("fruit",))
        found[name] = parameter_counts(build(recipe))[1] / 1e6
    from ultralytics.nn.tasks import SegmentationModel

    found["yolo11n_seg"] = parameter_counts(SegmentationModel("yolo11n-seg.yaml", nc=1, verbose=False))[0] / 1e6
    return found


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing of what exporters and counters print."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    logging.disable(logging.NOTSET)


def report(name: str, result: dict[str, Any]) -> None:
    reference = result["gmac"]["edgekit (PyTorch)"]
    print(f"\n{name}: {result['parameters'] / 1e6:.2f} M parameters")
    for counter, value in result["gmac"].items():
        text = value if isinstance(value, str) else f"{value:9.4f} GMAC  {value / reference - 1:+7.2%}"
        print(f"  {counter:26} {text}")
    peer = ", ".join(f"{key} {value:.4f}" for key, value in result["gmac_onnx_tool_by_operator"].items())
    print("  onnx-tool by operator:", peer)
    print("  by operator:", ", ".join(f"{key} {value:.4f}" for key, value in result["gmac_by_operator"].items()))
    print("  not counted:", ", ".join(f"{key} {value}" for key, value in result["not_counted_onnx"].items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(MODELS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only.split(","):
            results[name] = compare(name, Path(folder))
            if not options.json:
                report(name, results[name])
                sys.stdout.flush()
    results["trainable_millions"] = table_2()
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        print("\ntrainable parameters (M), the paper's Table 2: 62.6, 78.9, 45.9, 2.8")
        print(" ", ", ".join(f"{name} {value:.2f}" for name, value in results["trainable_millions"].items()))


if __name__ == "__main__":
    main()
