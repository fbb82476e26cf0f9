"""What keeping a panorama as JPEG does to its count, by quality and by the resolution of colour.

    python bench/run/segment_counts.py PANORAMA.png... [--model M.onnx] [--json]

Each panorama is counted as it is, then as it comes back from JPEG. Told: bytes, and the count's difference averaged
over thresholds from 0.10 to 0.85, since at a single threshold one doubtful fruit more or less decides.
"""

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]
THRESHOLDS = np.arange(0.10, 0.855, 0.01)
FEWEST = 5
"""Thresholds at which fewer are counted say nothing in percent."""
SAMPLINGS = {"4:2:0": cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420, "4:4:4": cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444}


def fruit_scores(picture: Path, out: Path, model: str | None) -> Scores:
    command = [sys.executable, "-m", "edgekit", "run", "--panorama", str(picture), "--out", str(out), "--quiet"]
    subprocess.run([*command, *(["--model", model] if model else [])], check=True)
    connection = sqlite3.connect(out / "run.sqlite")
    scores = [row[0] for row in connection.execute("SELECT score FROM fruit")]
    connection.close()
    return np.array(scores)


def difference_percent(scores: Scores, exact: Scores) -> float:
    """Mean over the thresholds of the count's absolute difference."""
    counts = [((scores >= at).sum(), (exact >= at).sum()) for at in THRESHOLDS]
    return float(np.mean([abs(count / wanted - 1) for count, wanted in counts if wanted > FEWEST])) * 100


def measure(picture: Path, folder: Path, model: str | None) -> dict[str, dict[str, float]]:
    image = cv2.imread(str(picture))
    exact, told = fruit_scores(picture, folder / "exact", model), {}
    for quality in (90, 95, 98):
        for name, sampling in SAMPLINGS.items():
            how = [cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, sampling]
            _, data = cv2.imencode(".jpg", image, how)
            again = folder / f"{quality}_{name.replace(':', '')}.png"
            cv2.imwrite(str(again), cv2.imdecode(data, cv2.IMREAD_COLOR))
            scores = fruit_scores(again, again.with_suffix(""), model)
            told[f"{quality} {name}"] = {
                "megabytes": len(data) / 1e6, "difference_percent": difference_percent(scores, exact)
            }  # fmt: skip
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("panorama", type=Path, nargs="+")
    parser.add_argument("--model")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    told = {}
    for picture in options.panorama:
        with tempfile.TemporaryDirectory() as name:
            told[str(picture)] = measure(picture, Path(name), options.model)
        if not options.json:
            for kind, row in told[str(picture)].items():
                print(f"{picture} {kind}: " + ", ".join(f"{value:.2f} {key}" for key, value in row.items()))
    if options.json:
        print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
