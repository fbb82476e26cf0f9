"""Make the example session of `calibration/example/` by edgekit's own commands, labels taken from the data set.

    python bench/calibration/make_example.py DATA --model M.onnx --out calibration

DATA holds `paprika_greenhouse` and `paprika_previews` (CC BY-SA 4.0). Only pictures that the default fruit model was
not trained on are used, previews enlarged to the width of the others. Pictures of the tiles are kept as JPEG.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import cv2
from predict_pairs import labels_in_tile, shrink

from edgekit.calibration.session import read_session
from edgekit.labels import LabelledInstance, LabelledPicture, LabelSet, read_coco, write_coco
from edgekit.store import RunFolder, RunReader

HELD_OUT = {
    "paprika_greenhouse": ("paprika_01", "paprika_05"),
    "paprika_previews": ("side_03", "hori_02", "vert_00", "vert_03"),
}
WIDTH_PX = 1280
JPEG_QUALITY = 85


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--out", type=Path, default=Path("calibration"))
    arguments = parser.parse_args()
    session = arguments.out / "example"
    with tempfile.TemporaryDirectory() as scratch:
        pictures = Path(scratch) / "pictures"
        pictures.mkdir()
        labels = prepare(arguments.data, pictures)
        model = ["--model", arguments.model] if arguments.model else []
        run = Path(scratch) / "run"
        edgekit("run", "--panorama", *sorted(pictures.glob("*.png")), "--out", run, "--threshold", "0.5", *model)
        edgekit("calibrate", "sample", run, "--whole-tiles", "--n", "1000", "--out", session)
        label(session, run, labels)
    for png in (session / "images").glob("*.png"):
        cv2.imwrite(str(png.with_suffix(".jpg")), cv2.imread(str(png)), [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
        png.unlink()
    for form in ("labelme", "cvat"):  # the labels are in coco/; what nobody corrected would only confuse
        shutil.rmtree(session / form)
    edgekit(
        "calibrate", "fit", session, "--season", "example-pepper",
        "--crop", "sweet pepper", "--place", "pictures of one greenhouse, CC BY-SA 4.0, lemontyc",
        "--from", "2021-01-01", "--to", "2021-12-31", "--profiles", session,
        "--json", session / "fit.json", "--report", session / "report.html",
        "--notes", "an example made by bench/calibration/make_example.py, of a year that is over",
    )  # fmt: skip


def prepare(data: Path, folder: Path) -> dict[str, tuple[LabelledInstance, ...]]:
    """Write the pictures at one width; return the labels of each, by its name."""
    found = {}
    for name, stems in HELD_OUT.items():
        labels = read_coco(data / name / "instances.json", images=data / name / "images")
        for picture in labels.pictures:
            if Path(picture.name).stem not in stems:
                continue
            image = cv2.imread(str(data / name / "images" / picture.name))
            scaled, instances = shrink(image, list(picture.instances), WIDTH_PX / image.shape[1])
            target = folder / f"{Path(picture.name).stem}.png"
            cv2.imwrite(str(target), scaled)
            found[target.name] = tuple(instances)
    return found


def label(session: Path, run: Path, labels: dict[str, tuple[LabelledInstance, ...]]) -> None:
    """Write what a person would have drawn: every fruit of every tile."""
    reader = RunReader.open(RunFolder(run).database)
    names = {source.number: Path(source.path).name for source in reader.sources()}
    reader.close()
    pictures = []
    for tile in read_session(session).tiles:
        seen = labels_in_tile(list(labels[names[tile.source]]), tile.spec)
        drawn = tuple(replace(item, class_name="fruit", area_px=float(item.mask.area_px)) for item in seen)
        pictures.append(LabelledPicture(tile.name, (tile.spec.size_px, tile.spec.size_px), drawn))
    write_coco(LabelSet(tuple(pictures), ("fruit",)), session / "coco" / "labels.json", outline="polygon")


def edgekit(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "edgekit", *map(str, words)], check=True)


if __name__ == "__main__":
    main()
