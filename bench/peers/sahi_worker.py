"""One process of the peer: sahi's sliced prediction with Ultralytics over all pictures, results as COCO JSON.

    python bench/peers/sahi_worker.py --data SET --model W.pt --out RESULTS.json [--overlap 96] [--confidence 0.25]

SET holds `instances.json` and `images/`. The whole-picture pass that sahi adds by default is left out, since edgekit
has none: that makes sahi faster and leaves its sliced result as it is.
"""

import argparse
import json
from pathlib import Path

import torch
from sahi import AutoDetectionModel
from sahi.predict import get_sliced_prediction

TILE_PX = 512


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--overlap", type=int, default=96)
    parser.add_argument("--confidence", type=float, default=0.25)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    model = AutoDetectionModel.from_pretrained(
        model_type="ultralytics", model_path=str(options.model), confidence_threshold=options.confidence, device="cpu"
    )
    results = []
    for picture in json.loads((options.data / "instances.json").read_text())["images"]:
        prediction = get_sliced_prediction(
            str(options.data / "images" / picture["file_name"]),
            model,
            slice_height=TILE_PX,
            slice_width=TILE_PX,
            overlap_height_ratio=options.overlap / TILE_PX,
            overlap_width_ratio=options.overlap / TILE_PX,
            perform_standard_pred=False,
            verbose=0,
        )
        results.extend(prediction.to_coco_predictions(image_id=picture["id"]))
    options.out.write_text(json.dumps(results, default=float))  # sahi gives NumPy numbers


if __name__ == "__main__":
    main()
