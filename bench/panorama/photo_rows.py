"""How right is the panorama? Rows of real photographs with known positions, clean and with each fault.

    python bench/panorama/photo_rows.py SET/instances.json SET/images [--frames 2000] [--only NAME] [--json F]

For each case: the position error at the end and the largest one, both in per cent of the length; the largest standard
deviation of the error over any 100 frames; the vertical error; PSNR of the panorama against the strip, read at the
measured and at the true positions; and the share of the frames that were bridged. Bridged frames are left out of the
position errors but for the end.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
from faults import Case, cases

from edgekit.contracts import Columns
from edgekit.labels import read_coco
from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.records import FrameRecord
from edgekit.runtime.rowmaker import PhotoRow, SlidingCamera, load_photo_row

SIZE_WH = (1280, 720)
EDGE_PX = 30
WINDOW = 100


class Result:
    """One case, run."""

    def __init__(self, case: Case, row: PhotoRow) -> None:
        self.camera = SlidingCamera(
            row.image, case.motion, size_wh=SIZE_WH, look=case.look, layers=case.layers(row.image)
        )
        self.strip = row.image
        mosaic = StripMosaic(MosaicSettings())
        columns: list[Columns] = []
        self.records: list[FrameRecord] = []
        self.seconds = 0.0
        for frame in self.camera:
            start = time.process_time()
            columns += mosaic.add(frame)
            self.records += mosaic.drain_records()
            self.seconds += time.process_time() - start
        columns += mosaic.finish()
        self.origin_px = mosaic.origin_px
        self.image = np.concatenate([part.image for part in columns][:: mosaic.direction], axis=1)

    def figures(self) -> dict[str, object]:
        used = [record for record in self.records if record.x_px is not None]
        shown = self.camera.path.shows[[record.frame for record in used]]
        true_x, true_y = self.camera.path.x_px[shown], self.camera.path.y_px[shown]
        x_px, y_px = (np.array([getattr(record, name) for record in used]) for name in ("x_px", "y_px"))
        error = x_px - (true_x - true_x[0])
        sure = np.array([record.status != "bridged" for record in used])
        length = np.ptp(true_x)
        windows = [error[i : i + WINDOW].std() for i in range(0, max(len(error) - WINDOW, 1), WINDOW // 4)]
        measured, true = self._psnr(x_px[sure], true_x[sure])
        return {
            "length_px": round(float(length)), "end_percent": round(100 * abs(error[-1]) / length, 4),
            "largest_percent": round(100 * float(np.abs(error[sure]).max()) / length, 4),
            "rms100_px": round(float(max(windows)), 3),
            "vertical_px": round(float(np.abs(y_px - (true_y - true_y[0]))[sure].max()), 2),
            "psnr_measured_db": measured, "psnr_true_db": true,
            "statuses": dict(Counter(record.status for record in self.records)),
            "ms_a_frame": round(1000 * self.seconds / len(self.records), 1),
        }  # fmt: skip

    def _psnr(self, x_px: np.ndarray, true_x: np.ndarray) -> tuple[float, float]:
        """Against the strip read where the panorama says its columns lie, and where they lie in truth."""
        columns = np.arange(self.image.shape[1])
        left = x_px - self.origin_px
        order = np.argsort(left, kind="stable")
        measured = np.interp(columns, left[order] + SIZE_WH[0] / 2, (true_x - left)[order])
        true = np.full(len(columns), true_x[0] - left[0])
        return self._against(columns + measured), self._against(columns + true)

    def _against(self, x_px: np.ndarray) -> float:
        rows = (np.arange(self.image.shape[0]) + self.camera.top_px + self.camera.path.y_px[0]).astype(np.float32)
        square, count = 0.0, 0
        for start in range(EDGE_PX, len(x_px) - EDGE_PX, 4000):
            part = x_px[start : min(start + 4000, len(x_px) - EDGE_PX)]
            first = int(part.min()) - 8
            grid = np.meshgrid((part - max(first, 0)).astype(np.float32), rows)
            near = self.strip[:, max(first, 0) : max(first, 0) + 12000]
            read = cv2.remap(near, *grid, cv2.INTER_LANCZOS4)[EDGE_PX:-EDGE_PX]
            error = self.image[EDGE_PX:-EDGE_PX, start : start + len(part)].astype(np.float32) - read
            square, count = square + float((error**2).sum()), count + error.size
        return round(10 * float(np.log10(255**2 / max(square / count, 1e-9))), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--pictures", type=int, default=30, help="at most so many pictures side by side")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    labels = read_coco(options.labels)
    names = [picture.name for picture in labels.pictures[: options.pictures]]
    row = load_photo_row(labels, options.images, names=names, height_px=800)
    speed_px = min(6.3, (row.image.shape[1] - SIZE_WH[0] - 20) / options.frames / 1.1)
    results = {}
    for case in cases(options.frames, speed_px):
        if options.only in case.name:
            results[case.name] = Result(case, row).figures()
            print(case.name, json.dumps(results[case.name]), flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
