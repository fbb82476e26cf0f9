"""Which library computes COCO's AP: hotcoco and faster-coco-eval beside pycocotools, in figures and in time.

    pip install hotcoco faster-coco-eval
    python bench/metrics/ap_peers.py LABELS.json RESULTS.json [--kind segm]

Each library gets the same dictionaries in memory and does the whole evaluation; the second of two rounds is timed.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np


def evaluation(library: str, labels: Any, results: Any, kind: str) -> Any:
    """An evaluator of one library, ready to run."""
    if library == "pycocotools":
        from pycocotools.coco import COCO
        from pycocotools.cocoeval import COCOeval

        truth = COCO()
        truth.dataset = labels
        truth.createIndex()
        return COCOeval(truth, truth.loadRes(results), kind)
    if library == "hotcoco":
        import hotcoco

        dataset = hotcoco.COCO(labels)
        return hotcoco.COCOeval(dataset, dataset.load_res(results), kind)
    import faster_coco_eval

    dataset = faster_coco_eval.COCO(labels)
    return faster_coco_eval.COCOeval_faster(dataset, dataset.loadRes(results), kind)


def run(library: str, labels: Any, results: Any, kind: str) -> tuple[np.ndarray, float]:
    """The twelve figures and the seconds they took."""
    labels, results = copy.deepcopy(labels), copy.deepcopy(results)
    with contextlib.redirect_stdout(io.StringIO()):
        started = time.perf_counter()
        evaluator = evaluation(library, labels, results, kind)
        evaluator.evaluate()
        evaluator.accumulate()
        evaluator.summarize()
        passed = time.perf_counter() - started
    return np.array(evaluator.stats)[:12], passed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--kind", default="segm", choices=("segm", "bbox"))
    options = parser.parse_args()
    labels, results = (json.loads(path.read_text()) for path in (options.labels, options.results))
    reference: np.ndarray | None = None
    base_s = 0.0
    for library in ("pycocotools", "hotcoco", "faster-coco-eval"):
        run(library, labels, results, options.kind)
        figures, seconds = run(library, labels, results, options.kind)
        if reference is None:
            reference, base_s = figures, seconds
        off = np.abs(figures - reference).max()
        print(f"{library:17} {seconds * 1e3:7.1f} ms  {base_s / seconds:5.1f} x  AP {figures[0]:.6f}  off by {off:.1e}")


if __name__ == "__main__":
    main()
