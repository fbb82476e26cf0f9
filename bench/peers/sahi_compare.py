"""edgekit against sahi with Ultralytics, end to end on the same pictures: time, memory, mask AP.

    python bench/peers/sahi_compare.py --data SET --weights W.pt --model M.onnx [M2.onnx ...] [--pairs 7] [--json F]

SET holds `instances.json` (COCO) and `images/`. Every run is a process of its own with two threads; the runs of the two
sides alternate, and the ratio is taken pair by pair. edgekit writes its whole run folder each time. Needs
`pip install sahi==0.12.* ultralytics` beside edgekit.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

THREADS = 2
WORKER = Path(__file__).with_name("sahi_worker.py")


def timed(command: list[str]) -> tuple[float, float]:
    """Seconds and peak resident MB of a command in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "OPENBLAS_NUM_THREADS": str(THREADS)}
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(command)} failed:\n{said}")
    return seconds, usage.ru_maxrss / 1024


def pictures_of(data: Path) -> list[dict]:
    return json.loads((data / "instances.json").read_text())["images"]


def edgekit_command(options: argparse.Namespace, model: Path, run: Path) -> list[str]:
    pictures = [str(options.data / "images" / picture["file_name"]) for picture in pictures_of(options.data)]
    config = run.with_name("run.toml")
    config.write_text(f"[tiles]\noverlap_px = {options.overlap}\n")
    settings = ["--panorama", "--threshold", str(options.confidence), "--config", str(config)]
    edgekit = [sys.executable, "-m", "edgekit", "run", *pictures, "--out", str(run), "--model", str(model)]
    return [*edgekit, *settings, "--threads", str(THREADS), "--quiet"]


def sahi_command(options: argparse.Namespace, out: Path) -> list[str]:
    settings = ["--overlap", str(options.overlap), "--confidence", str(options.confidence), "--threads", str(THREADS)]
    return [sys.executable, str(WORKER), "--data", str(options.data), "--model", str(options.weights), *settings,
            "--out", str(out)]  # fmt: skip


def edgekit_results(run: Path, data: Path, threshold: float) -> list[dict]:
    """The run's COCO results above the threshold, under the image ids of the labels."""
    ids = {Path(picture["file_name"]).stem: picture["id"] for picture in pictures_of(data)}
    told = json.loads((run / "fruit.coco.json").read_text())
    rows = json.loads((run / "panorama.coco.json").read_text())["images"]
    row_ids = {row["id"]: ids[Path(row["file_name"]).stem] for row in rows}
    return [{**fruit, "image_id": row_ids[fruit["image_id"]]} for fruit in told if fruit["score"] >= threshold]


def mask_ap50(results: list[dict], data: Path) -> float:
    """Mask AP at IoU 0.5 of all classes taken as one, no limit on detections a picture beyond 1,000."""
    truth = COCO(str(data / "instances.json"))
    for label in truth.dataset["annotations"]:
        label["category_id"] = 1
    truth.dataset["categories"] = [{"id": 1, "name": "fruit"}]
    truth.createIndex()
    sizes = {picture["id"]: (picture["height"], picture["width"]) for picture in truth.dataset["images"]}
    rows = [{"image_id": row["image_id"], "category_id": 1, "score": row["score"],
             "segmentation": as_rle(row["segmentation"], *sizes[row["image_id"]])}
            for row in results if row["segmentation"]]  # fmt: skip
    evaluation = COCOeval(truth, truth.loadRes(rows), "segm")
    evaluation.params.maxDets = [1, 100, 1000]
    evaluation.evaluate()
    evaluation.accumulate()
    precision = evaluation.eval["precision"][0, :, 0, 0, 2]
    return float(precision[precision > -1].mean())


def as_rle(segmentation: dict | list, height: int, width: int) -> dict:
    if isinstance(segmentation, dict):
        return segmentation
    polygons = [polygon for polygon in segmentation if len(polygon) >= 6]
    return coco_mask.merge(coco_mask.frPyObjects(polygons or [[0.0] * 6], height, width))


def spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def compare(options: argparse.Namespace, folder: Path) -> list[dict]:
    """Rounds of sahi and every model in turn; each model's ratio is taken within its round."""
    out = folder / "sahi.json"
    runs = {model: folder / f"run-{number}" for number, model in enumerate(options.model)}
    sahi: list[tuple[float, float]] = []
    edgekit: dict[Path, list[tuple[float, float]]] = {model: [] for model in options.model}
    for number in range(options.pairs):
        sahi.append(timed(sahi_command(options, out)))
        for model, run in runs.items():
            shutil.rmtree(run, ignore_errors=True)
            edgekit[model].append(timed(edgekit_command(options, model, run)))
        print(f"round {number + 1} of {options.pairs} done", file=sys.stderr)
    sahi_ap50 = mask_ap50(json.loads(out.read_text()), options.data)
    return [
        {
            "model": model.name,
            "pairs": options.pairs,
            "threads": THREADS,
            "pictures": len(pictures_of(options.data)),
            "tiles": json.loads((run / "summary.json").read_text())["tiles"],
            "sahi_s": spread([seconds for seconds, _ in sahi]),
            "edgekit_s": spread([seconds for seconds, _ in edgekit[model]]),
            "times_faster": spread([peer / own for (peer, _), (own, _) in zip(sahi, edgekit[model], strict=True)]),
            "sahi_peak_mb": spread([peak for _, peak in sahi]),
            "edgekit_peak_mb": spread([peak for _, peak in edgekit[model]]),
            "sahi_mask_ap50": sahi_ap50,
            "edgekit_mask_ap50": mask_ap50(edgekit_results(run, options.data, options.confidence), options.data),
        }
        for model, run in runs.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, nargs="+")
    parser.add_argument("--overlap", type=int, default=96)
    parser.add_argument("--confidence", type=float, default=0.25)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = compare(options, Path(folder))
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
