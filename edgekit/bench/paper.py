"""The paper's Tables 1 and 2 beside the figures of the models at hand.

"Comprehensive Evaluation of Paprika Instance Segmentation Models Based on Segmentation Quality and Confidence Score
Reliability", Horticulturae 2025, 11(5), 525. Its pictures are not public, so that its Table 1 cannot be reproduced; its
figures are not at hand either, and none is made up: dashes. How its Table 2 comes about was checked, see `PAPER`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from edgekit.wording import counted

Json = Mapping[str, Any]


@dataclass(frozen=True)
class PaperRow:
    """What the paper says of a model; None where its figure is not at hand here."""

    title: str
    trainable_millions: float
    macs_giga: float | None
    explained: str


PAPER: Mapping[str, PaperRow] = MappingProxyType({
    "mask_rcnn": PaperRow(
        "Mask R-CNN", 62.6, None, "torchvision's ResNet101-FPN with the stem and the first stage frozen; MACs at its "
        "inner resize of 512 to 800: backbone 99.5 + FPN 36.3 + RPN 31.6 G, 13.9 G for 1000 proposals, 0.52 G a mask",
    ),
    "ms_rcnn": PaperRow("Mask Scoring R-CNN", 78.9, None, "the same and the MaskIoU head (16.3 M)"),
    "mask_rcnn_sw": PaperRow(
        "Mask R-CNN with Swin v2-T", 45.9, None, "Swin v2-T with its first five feature blocks frozen",
    ),
    "yolo11": PaperRow(
        "YOLO11", 2.8, 10.4, "size n with one class, although the text says m (22.4 M); its 10.4 G are FLOPs of size n "
        "at 640 x 640 by an older Ultralytics: at 512 with one class it is about 6.2 GFLOP, that is 3.1 GMAC",
    ),
})  # fmt: skip


TABLE_1 = ("mask_ap50", "mask_ap50_95", "mask_f1", "aji", "r")
"""The figures of Table 1, by their names in a report."""
TABLE_1_NOTE = (
    "The paper's own figures are dashes: its pictures are not public, so they cannot be measured again, and its table "
    "is not at hand in the sources that this was built from. Between data compare the order of models, not figures."
)


def table_2(models: Sequence[Json]) -> list[list[str]]:
    """Rows of Table 2: model, parameters and MACs here, the paper's, and how those come about."""
    rows = [
        ["model", "parameters (M)", "GMAC a tile", "paper: trainable (M)", "paper: G", "how the paper's come about"]
    ]
    for model in models:
        cost = model.get("model") or {}
        row = PAPER.get((model.get("info") or {}).get("model", ""))
        rows.append([
            model["name"], _scaled(cost.get("parameters"), 1e6, 1), _scaled(cost.get("macs_per_image"), 1e9, 2),
            f"{row.trainable_millions}" if row else "-", f"{row.macs_giga}" if row and row.macs_giga else "-",
            row.explained if row else "-",
        ])  # fmt: skip
    return rows


def table_1(models: Sequence[Json]) -> list[list[str]]:
    """Rows of Table 1: AP@50, AP@50-95, F1 and AJI at their best thresholds, and R, on the data at hand."""
    rows = [["model", "measured on", "mask AP@50", "mask AP@50-95", "mask F1 (at)", "AJI (at)", "R", "p of R"]]
    for model in models:
        accuracy = model.get("accuracy") or {}
        figures, pairs = accuracy.get("figures", {}), accuracy.get("reliability") or {}
        p_value = "-" if pairs.get("p_value") is None else f"{pairs['p_value']:.2g}"
        cells = [_figure(figures.get(name)) for name in TABLE_1]
        rows.append([model["name"], _data(accuracy), *cells, p_value])
    known = {(model.get("info") or {}).get("model") for model in models}
    rows += [
        [f"{row.title} (paper)", "paprika", *["-"] * (len(TABLE_1) + 1)] for name, row in PAPER.items() if name in known
    ]
    return rows


def _data(accuracy: Json) -> str:
    data = accuracy.get("data")
    return counted(data["pictures"], "picture") if data else "-"


def _figure(figure: Json | None) -> str:
    if not figure or figure.get("value") is None:
        return "-"
    at = f" ({figure['at']:.2f})" if figure.get("at") is not None else ""
    return f"{figure['value']:.3f}{at}"


def _scaled(value: float | None, unit: float, digits: int) -> str:
    return "-" if value is None else f"{value / unit:.{digits}f}"
