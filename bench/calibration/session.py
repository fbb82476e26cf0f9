"""A whole field session by edgekit's commands on real pictures, the person replaced by the set's own labels.

    python bench/calibration/session.py SET --model M.onnx --out FOLDER [--n 60] [--pictures 19] [--json F]

SET is a folder with `images/` and `instances.json` (COCO); each picture is a row. The same corrections are made in
LabelMe, in CVAT (polygons, and brush masks) and in COCO: each must give the same fit. What the commands print is kept
in FOLDER/commands.log.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from predict_pairs import labels_in_tile

from edgekit.calibration.pairing import best_label
from edgekit.calibration.session import Session, read_session
from edgekit.labels import LabelledInstance, LabelledPicture, LabelSet, read_coco, write_coco, write_cvat, write_labelme

FORMS = ("coco", "labelme", "cvat", "cvat_masks")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--pictures", type=int, default=19)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True)
    labels = read_coco(options.set / "instances.json", images=options.set / "images")
    pictures = labels.pictures[: options.pictures]
    run = options.out / "run"
    paths = [options.set / "images" / picture.name for picture in pictures]
    edgekit(options.out, "run", "--panorama", *paths, "--out", run, "--model", options.model, "--threshold", "0.5")
    edgekit(options.out, "calibrate", "sample", run, "--n", options.n, "--out", options.out / "session")
    truth = corrections(read_session(options.out / "session"), pictures)
    fits = {form: fit_form(options.out, form, truth) for form in FORMS}
    figures = {"n": options.n, "pictures": len(pictures), "fits": fits, "same": same(list(fits.values()))}
    figures |= afterwards(options.out)
    text = json.dumps(figures, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


def corrections(session: Session, pictures: tuple[LabelledPicture, ...]) -> LabelSet:
    """What a careful person leaves: of every marked prediction the whole fruit that it overlaps, else nothing."""
    found = []
    for tile in session.tiles:
        seen = labels_in_tile(list(pictures[tile.source].instances), tile.spec)
        kept: dict[str, LabelledInstance] = {}
        for mask in tile.checked.masks:
            owner = best_label(mask, seen)[1]
            if owner is not None:
                kept[owner.id] = owner
        size = tile.spec.size_px
        found.append(LabelledPicture(tile.name, (size, size), tuple(kept.values())))
    return LabelSet(tuple(found), labels_classes(pictures))


def labels_classes(pictures: tuple[LabelledPicture, ...]) -> tuple[str, ...]:
    return tuple(sorted({item.class_name for picture in pictures for item in picture.instances}))


def fit_form(out: Path, form: str, truth: LabelSet) -> dict[str, Any]:
    """The corrections in the form of one tool, in a session of its own, and the fit of it."""
    session = out / f"session_{form}"
    shutil.copytree(out / "session", session)
    if form == "coco":
        write_coco(truth, session / "coco" / "labels.json")
    elif form == "labelme":
        write_labelme(truth, session / "labelme", images=session / "images", tolerance_px=0)
    else:
        outline = "mask" if form == "cvat_masks" else "polygon"
        write_cvat(truth, session / "cvat" / "annotations.xml", outline=outline, tolerance_px=0)
    season = form.replace("_", "-")
    edgekit(
        out, "calibrate", "fit", session, "--run", out / "run", "--season", season, "--iou", "0.5", "--iou", "0.7",
        "--sigma", "0.03", "--bands", "0,0.5,1", "--good-share", "0.8", "--profiles", out / "calibration",
        "--json", session / "fit.json", "--report", session / "report.html",
    )  # fmt: skip
    found = json.loads((session / "fit.json").read_text())["fits"][0]
    names = ("threshold", "n", "tiles", "units", "r")
    return {name: found[name] for name in names} | {
        "interval": found["uncertainty"]["acted"], "sigma": found["uncertainty"]["sigma"],
        "sigma_units": found["uncertainty"]["sigma_units"],
    }  # fmt: skip


def same(fits: list[dict[str, Any]]) -> bool:
    """All fits equal to 1e-12."""
    first = fits[0]
    return all(
        abs(fit["threshold"] - first["threshold"]) < 1e-12
        and max(abs(a - b) for a, b in zip(fit["interval"], first["interval"], strict=True)) < 1e-12
        for fit in fits
    )


def afterwards(out: Path) -> dict[str, Any]:
    """What a person does with profiles: look, compare, apply."""
    folder = ("--profiles", out / "calibration")
    edgekit(out, "calibrate", "show", "labelme", *folder)
    edgekit(out, "calibrate", "compare", "labelme", "cvat", *folder)
    edgekit(out, "calibrate", "apply", "labelme", "--run", out / "run", *folder)
    applied = json.loads((out / "run" / "calibrated.json").read_text())
    return {"applied": {name: applied[name] for name in ("fruit", "fruit_at_low", "fruit_at_high", "fruit_before")}}


def edgekit(out: Path, *words: object) -> None:
    """One command; what it prints goes into the log."""
    line = [str(word) for word in words]
    done = subprocess.run([sys.executable, "-m", "edgekit", *line], capture_output=True, text=True, check=False)
    with (out / "commands.log").open("a") as log:
        log.write(f"$ edgekit {' '.join(line)}\n{done.stdout}{done.stderr}\n")
    if done.returncode:
        raise SystemExit(f"edgekit {' '.join(line)}\n{done.stderr}")


if __name__ == "__main__":
    main()
