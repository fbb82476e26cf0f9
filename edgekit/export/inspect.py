"""A look into a graph: its ends, its metadata, its operators, what it costs, and what TensorRT would say."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgekit.export.preflight import DATA_DEPENDENT, preflight
from edgekit.export.tensors import external_files, load_graph, type_name
from edgekit.graph.macs import GraphCost, count_model

MODEL_KEY = "edgekit.model"
"""Metadata that every graph of the contract has."""


@dataclass(frozen=True)
class GraphReport:
    """What a graph says of itself."""

    path: Path
    bytes: int
    """Of the graph and of the files in which it keeps weights."""
    missing: tuple[str, ...]
    """Files in which it keeps weights and which are not there."""
    opset: int
    inputs: dict[str, str]
    """Name -> type and shape."""
    outputs: dict[str, str]
    metadata: dict[str, str]
    operators: dict[str, int]
    """Operator -> number of nodes, most frequent first."""
    macs: GraphCost
    preflight: tuple[str, ...]
    """Remarks on what TensorRT would refuse; empty where there are none."""

    @property
    def target(self) -> str | None:
        """What `edgekit export` made the graph for (docs/export.md); None for graphs that it did not make.

        Only graphs for CPUs have operators of data-dependent shape, by the definition of the two targets.
        """
        if MODEL_KEY not in self.metadata:
            return None
        return "cpu" if DATA_DEPENDENT.intersection(self.operators) else "tensorrt"

    def summary(self) -> dict[str, Any]:
        """Everything as plain values for JSON."""
        return {
            "path": str(self.path),
            "target": self.target,
            "bytes": self.bytes,
            "missing_files": list(self.missing),
            "opset": self.opset,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "metadata": self.metadata,
            "operators": self.operators,
            "macs": self.macs.macs,
            "macs_by_part": dict(self.macs.macs_by_part),
            "macs_not_counted": list(self.macs.missing),
            "macs_per_data_row": self.macs.macs_per_data_row,
            "tensorrt_preflight": list(self.preflight),
        }


def inspect_graph(path: Path) -> GraphReport:
    """Look into a graph; it is run once on a grey picture where shapes cannot be told otherwise.

    Raises:
        ModelError: no such file, or no ONNX.
    """
    model = load_graph(path)
    files = [path, *external_files(model, path.parent)]
    return GraphReport(
        path=path,
        bytes=sum(file.stat().st_size for file in files if file.is_file()),
        missing=tuple(str(file) for file in files if not file.is_file()),
        opset=max((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), default=0),
        inputs={item.name: type_name(item) for item in model.graph.input},
        outputs={item.name: type_name(item) for item in model.graph.output},
        metadata={entry.key: entry.value for entry in model.metadata_props},
        operators=dict(Counter(node.op_type for node in model.graph.node).most_common()),
        macs=count_model(model),
        preflight=tuple(preflight(model)),
    )


def describe(report: GraphReport) -> str:
    """The report as text for a person."""
    lines = [f"{report.path}  {report.bytes / 1e6:.1f} MB  opset {report.opset}"]
    lines += [f"cannot run: it keeps weights in {file}, which is missing; copy it as well" for file in report.missing]
    lines += ["inputs", *(f"  {name:12} {kind}" for name, kind in report.inputs.items())]
    lines += ["outputs", *(f"  {name:12} {kind}" for name, kind in report.outputs.items())]
    lines += ["metadata", *(f"  {key:28} {value[:120]}" for key, value in report.metadata.items())]
    lines += ["operators", "  " + ", ".join(f"{count} {name}" for name, count in report.operators.items())]
    lines += [f"multiply-accumulates  {report.macs.macs / 1e9:.3f} GMAC a call"]
    lines += [f"  {part:28} {macs / 1e9:.3f}" for part, macs in list(report.macs.macs_by_part.items())[:12]]
    if report.macs.missing:
        lines += [f"  not counted: {', '.join(report.macs.missing)}"]
    if report.macs.macs_per_data_row:
        lines += [f"  one such row (a mask that is drawn): {report.macs.macs_per_data_row / 1e9:.4f} GMAC"]
    return "\n".join([*lines, *_preflight_lines(report)])


def _preflight_lines(report: GraphReport) -> list[str]:
    """A graph for CPUs is in order; what TensorRT would refuse in it is only told."""
    remarks = report.preflight or ("nothing that TensorRT would refuse",)
    lines = ["TensorRT pre-flight"]
    if report.target == "cpu":
        lines += [
            "  this graph is for ONNX Runtime on CPUs (target cpu), and in order there; for TensorRT export the weights"
            " with --target tensorrt",
            "  TensorRT would refuse in it:",
        ]
    return lines + [f"  {remark}" for remark in remarks]
