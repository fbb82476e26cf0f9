"""Run a model over labelled pictures as it is deployed: cut into its tiles, segmented, merged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgekit.contracts import NO_FLAGS, Image, Instances, Progress, Segmenter
from edgekit.errors import LabelsError
from edgekit.labels import LabelSet
from edgekit.tiles import MergeSettings, TileSettings, cut_tile, merge, plan_tiles

OVERLAP_PX = 96
"""Overlap of the tiles, where a picture is larger than one: the run's own default."""


def read_picture(path: Path) -> Image:
    """A picture as RGB, turned upright.

    Raises:
        LabelsError: the file is not there or cannot be read.
    """
    import cv2

    data = np.fromfile(path, np.uint8) if path.is_file() else np.zeros(0, np.uint8)
    bgr = cv2.imdecode(data, cv2.IMREAD_COLOR) if len(data) else None
    if bgr is None:
        raise LabelsError(f"picture {path} is not there or cannot be read", mend="give the folder with --images")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8)


def require_pictures(labels: LabelSet, images: Path) -> None:
    """Pass where every labelled picture is there: better told before an hour of work than after.

    Raises:
        LabelsError: no picture is labelled, or some are not there.
    """
    if not labels.pictures:
        raise LabelsError(f"{labels.source or 'the labels'}: no picture is named", mend="give labels of some pictures")
    missing = [picture.name for picture in labels.pictures if not (images / picture.name).is_file()]
    if missing:
        what = (
            f"{len(missing)} of {len(labels.pictures)} labelled pictures are not in {images}, the first is {missing[0]}"
        )
        raise LabelsError(what, mend="give the folder with --images")


def predict_pictures(
    segmenter: Segmenter, labels: LabelSet, images: Path, *, progress: Progress
) -> tuple[list[Instances], int, list[str]]:
    """What the model finds in every labelled picture.

    Returns:
        Instances of each picture in picture pixels; how many tiles were segmented; remarks on limits that bit.

    Raises:
        LabelsError: a picture that cannot be read, or whose size is not that of its labels.
    """
    found: list[Instances] = []
    tiles = cut = flagged = 0
    settings = TileSettings(segmenter.info.tile_size_px, OVERLAP_PX)
    for number, picture in enumerate(labels.pictures, 1):
        image = read_picture(images / picture.name)
        if (image.shape[1], image.shape[0]) != picture.size_wh:
            size = f"{image.shape[1]} x {image.shape[0]}"
            raise LabelsError(f"{picture.name} is {size}, its labels say {picture.size_wh[0]} x {picture.size_wh[1]}")
        specs = plan_tiles(picture.size_wh, settings)
        results = segmenter.segment(np.stack([cut_tile(image, spec) for spec in specs]))
        cut += sum(result.cut_to_limit for result in results)
        flagged += sum(result.flags != NO_FLAGS for result in results)
        tiles += len(specs)
        instances = [result.instances for result in results]
        one = len(specs) == 1 and picture.size_wh == (settings.size_px, settings.size_px)
        found.append(instances[0] if one else merge(specs, instances, picture.size_wh, MergeSettings()).instances)
        progress("pictures", number, len(labels.pictures))
    remarks = []
    if cut:
        limit = segmenter.info.max_detections
        remarks.append(f"{cut} of {tiles} tiles had more objects than the {limit} that the model returns")
    if flagged:
        remarks.append(f"a limit of the graph bit in {flagged} of {tiles} tiles")
    return found, tiles, remarks


def sample_tiles(size_px: int, *, images: Sequence[Path] | None = None, most: int = 32) -> npt.NDArray[np.uint8]:
    """Real tiles to time a model with: from given pictures, else from the row that comes with the package.

    Returns:
        uint8, N x S x S x 3, RGB; N at most `most`.
    """
    if images is None:
        from importlib.resources import as_file, files

        with as_file(files("edgekit") / "assets" / "demo") as folder:
            pictures = [read_picture(path) for path in sorted(folder.glob("*.jpg"))]
    else:
        pictures = [read_picture(path) for path in images]
    settings = TileSettings(size_px, 0)
    tiles = [
        cut_tile(picture, spec)
        for picture in pictures
        for spec in plan_tiles((picture.shape[1], picture.shape[0]), settings)
    ]
    return np.stack(tiles[:: max(len(tiles) // most, 1)][:most])
