"""Figures of the fruit model: ``python evaluate.py --data DIR``. Writes ``figures.json``, prints a table.

The deployed threshold is the best mask F1 on pictures kept for it; none of the test sets is looked at for it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from figures import THRESHOLDS, Judged, Rle, at_threshold, f1_curve, figures, judge
from pycocotools import mask as rle_codec  # type: ignore[import-untyped,unused-ignore]
from settings import Settings, read
from testsets import TestSet, Tile, tiles_of
from ultralytics import YOLO  # type: ignore[attr-defined]

HERE = Path(__file__).resolve().parent
SIDE = 512
TESTS = (
    TestSet("tomato_greenhouse", "tomato_greenhouse", "instances.json", "long:1200"),
    TestSet("tomato_greenhouse_unseen", "tomato_greenhouse_unseen", "instances.json", "long:1200"),
    TestSet("tomato_val_tiles", "tomato_val_tiles", "instances.json", "fit"),
)
# val_image_060 is train_image_008 again: 285 SIFT matches agree on one similarity, at most 17 for any other pair
TWINS = ("val_image_060.jpg",)
THRESHOLD_TOMATO = TestSet("tomato_plants_val", "tomato_plants", "instances_val.json", "fit", without=TWINS)
COMPARED = ("tomato_greenhouse_unseen", "tomato_val_tiles", "tomato_plants_val", "paprika_held_out")
COLUMNS = ("tiles", "labels", "box_ap50", "box_ap", "mask_ap50", "mask_ap", "mask_f1", "mask_f1_at", "r", "r_pairs")
DEPLOYED = ("mask_f1_deployed", "count_deployed", "count_error_deployed")


@dataclass(frozen=True)
class Arguments:
    """The command line. See ``--help``."""

    data: Path
    weights: Path
    config: Path
    out: Path | None
    compare: Path | None
    only: tuple[str, ...]
    every: int
    threads: int


def test_sets(settings: Settings) -> dict[str, TestSet]:
    """The fixed sets and, from the training settings, the held-out paprika pictures by what they are for."""
    out = {t.name: t for t in (*TESTS, THRESHOLD_TOMATO)}
    for use, name in (("test", "paprika_held_out"), ("threshold", "paprika_previews_held_out")):
        for group in settings.sets:
            names = tuple(h.name for h in group.held_out if h.use == use)
            if names:
                out[name] = TestSet(name, group.folder, group.labels, group.base, names)
    return out


def encode(masks: np.ndarray[Any, Any]) -> list[Rle]:
    """COCO RLE of N x S x S masks."""
    if not len(masks):
        return []
    return list(rle_codec.encode(np.asfortranarray(masks.astype(np.uint8).transpose(1, 2, 0))))


def run(model: Any, tiles: list[Tile]) -> list[Judged]:
    """Detections of every tile: confidence from 0.001, NMS at 0.7, at most 100, in float32."""
    out = []
    for k in range(0, len(tiles), 16):
        part = tiles[k : k + 16]
        images = [np.ascontiguousarray(t.image[:, :, ::-1]) for t in part]
        found = model.predict(images, imgsz=SIDE, conf=0.001, iou=0.7, max_det=100, verbose=False, device="cpu")
        for tile, result in zip(part, found, strict=True):
            masks = result.masks.data.numpy() if result.masks is not None else np.zeros((0, SIDE, SIDE))
            scores = result.boxes.conf.numpy().astype(np.float64)
            boxes = result.boxes.xyxy.numpy().astype(np.float64)
            labels = encode(np.stack(tile.masks)) if tile.masks else []
            out.append(judge(labels, encode(masks), scores, boxes))
    return out


def threshold_of(judged: dict[str, list[Judged]]) -> float | None:
    """Best mask F1 on the two threshold sets together; the middle of the thresholds within 0.002 of it."""
    names = ("paprika_previews_held_out", "tomato_plants_val")
    if any(n not in judged for n in names):
        return None
    curve = f1_curve([t for n in names for t in judged[n]])
    return round(float(np.median(THRESHOLDS[curve >= curve.max() - 0.002])), 2)


def evaluate(weights: Path, arguments: Arguments, wanted: dict[str, TestSet]) -> dict[str, Any]:
    """Run one model on the wanted sets."""
    model, judged, out = YOLO(str(weights)), {}, {}
    for name, test in wanted.items():
        began = time.monotonic()
        every = arguments.every if name == "tomato_greenhouse" else 1
        judged[name] = run(model, tiles_of(arguments.data, test, every=every, side=SIDE))
        out[name] = {"rule": test.rule, "every": every, **figures(judged[name], SIDE)}
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    threshold = threshold_of(judged)
    if threshold is not None:
        for name, tiles in judged.items():
            out[name].update(at_threshold(tiles, threshold))
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    return {"weights": weights.name, "sha256": digest, "threshold": threshold, "sets": out}


def table(report: dict[str, Any]) -> str:
    """The report as a Markdown table."""
    columns = [c for c in (*COLUMNS, *DEPLOYED) if any(c in s for s in report["sets"].values())]
    lines = ["| set | " + " | ".join(columns) + " |", "| --- |" + " --- |" * len(columns)]
    for name, row in report["sets"].items():
        lines.append(f"| {name} | " + " | ".join(str(row.get(c)) for c in columns) + " |")
    return f"{report['weights']}, threshold {report['threshold']}\n\n" + "\n".join(lines)


def parse() -> Arguments:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the sets' folders")
    parser.add_argument("--weights", type=Path, default=HERE / "fruit-yolo11n-seg.pt", help="Ultralytics checkpoint")
    parser.add_argument("--config", type=Path, default=HERE / "train.toml", help="settings with the held-out names")
    parser.add_argument("--out", type=Path, default=None, help="JSON file to write")
    parser.add_argument("--compare", type=Path, default=None, help="another checkpoint for " + ", ".join(COMPARED))
    parser.add_argument("--only", nargs="*", default=(), help="names of sets to run")
    parser.add_argument("--every", type=int, default=1, help="every n-th picture of tomato_greenhouse; 1 is all")
    parser.add_argument("--threads", type=int, default=2, help="processor threads")
    values = vars(parser.parse_args())
    return Arguments(**{**values, "only": tuple(values["only"])})


def main() -> None:
    """Evaluate, print, write."""
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    cv2.setNumThreads(arguments.threads)
    sets = test_sets(read(arguments.config))
    unknown = set(arguments.only) - set(sets)
    if unknown:
        raise SystemExit(f"unknown sets {sorted(unknown)}; known: {', '.join(sets)}")
    wanted = {n: t for n, t in sets.items() if not arguments.only or n in arguments.only}
    report = evaluate(arguments.weights, arguments, wanted)
    print(table(report))
    if arguments.compare is not None:
        other = evaluate(arguments.compare, arguments, {n: t for n, t in wanted.items() if n in COMPARED})
        report["comparison"] = other
        print(table(other))
    if arguments.out is not None:
        temporary = arguments.out.with_suffix(".tmp")
        temporary.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        temporary.replace(arguments.out)


if __name__ == "__main__":
    main()
