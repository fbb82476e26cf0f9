"""The demo: a camera slides along real, labelled pictures, so that the count can be set beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.atomic import storage_error, write_atomic
from edgekit.contracts import Instances, MaskCrop
from edgekit.labels import read_coco
from edgekit.masks import iou
from edgekit.runtime.rowmaker import Motion, PhotoRow, SlidingCamera, camera_path, load_photo_row
from edgekit.settings_file import read_settings

SAME_FRUIT_IOU = 0.5
"""A counted fruit is a labelled one from this mask IoU on."""
_FRAMES = 101
_FRAME_WIDTH_PX = 1280
_UNEVEN = Motion(frames=_FRAMES, speed_px=1.0, jerk=0.15, jitter_px=1.0, seed=4)
"""About 64 px a frame, as unevenly as a pushed trolley; the speed is scaled so that the last frame ends the row."""


@dataclass(frozen=True)
class DemoPicture:
    """One picture of the row."""

    name: str
    trained_on: bool
    """Whether the default model has seen it in training."""


@dataclass(frozen=True)
class DemoList:
    """`demo.toml`."""

    pictures: tuple[DemoPicture, ...]


@dataclass(frozen=True, eq=False)
class DemoRow:
    """The row, its pictures, and the camera that slides along it."""

    pictures: tuple[DemoPicture, ...]
    row: PhotoRow
    camera: SlidingCamera

    @property
    def truth(self) -> tuple[MaskCrop, ...]:
        """Labelled fruit in the pixels of a perfect panorama: the frames are a little lower than the pictures."""
        return tuple(item.mask.shifted(0, -round(self.camera.top_px)) for item in self.row.instances)


@dataclass(frozen=True)
class PictureCount:
    """What was counted in one picture of the row."""

    picture: DemoPicture
    labelled: int
    counted: int
    found: int
    """Labelled fruit that a counted one covers."""

    @property
    def missed(self) -> int:
        """Labelled fruit that were not found."""
        return self.labelled - self.found

    @property
    def extra(self) -> int:
        """Counted fruit that nobody labelled."""
        return self.counted - self.found


def load_demo() -> DemoRow:
    """The row that comes with the package."""
    with as_file(files("edgekit") / "assets" / "demo") as folder:
        pictures = read_settings(folder / "demo.toml", DemoList).pictures
        row = load_photo_row(read_coco(folder / "instances.json"), folder, names=[item.name for item in pictures])
    reach_px = row.image.shape[1] - _FRAME_WIDTH_PX
    speed_px = reach_px / float(camera_path(_UNEVEN).x_px.max())
    motion = Motion(
        frames=_FRAMES, speed_px=speed_px, jerk=_UNEVEN.jerk, jitter_px=_UNEVEN.jitter_px, seed=_UNEVEN.seed
    )
    return DemoRow(pictures, row, SlidingCamera(row.image, motion))


def write_frames(demo: DemoRow, folder: Path) -> None:
    """Write the camera's frames as pictures, as a trolley would have recorded them.

    Raises:
        StorageError: the folder cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(folder, error) from error
    for frame in demo.camera:
        bgr = cv2.cvtColor(frame.image, cv2.COLOR_RGB2BGR)
        _, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, 95])
        write_atomic(folder / f"frame_{frame.sequence:04d}.jpg", data.tobytes())


def compare(demo: DemoRow, fruit: Instances) -> list[PictureCount]:
    """Counted fruit against labelled ones, picture by picture.

    A fruit belongs to the picture in which the middle of its box lies; the two halves of fruit that two neighbouring
    pictures cut are two fruit, in the labels as in the count. Each labelled fruit is found by one counted fruit at
    most, pairs of the highest mask IoU first.

    Args:
        demo: the row.
        fruit: counted fruit in panorama pixels; the panorama starts where the row does.
    """
    found = _matched(demo.truth, fruit.masks)
    edges = np.array(demo.row.edges_px)
    labelled_in = _picture_of([(item.box_xyxy[0] + item.box_xyxy[2]) / 2 for item in demo.row.instances], edges)
    counted_in = _picture_of(((fruit.boxes_xyxy[:, 0] + fruit.boxes_xyxy[:, 2]) / 2).tolist(), edges)
    return [
        PictureCount(
            picture,
            labelled=int((labelled_in == number).sum()),
            counted=int((counted_in == number).sum()),
            found=sum(1 for label, _ in found if labelled_in[label] == number),
        )
        for number, picture in enumerate(demo.pictures)
    ]


def _matched(truth: Sequence[MaskCrop], counted: Sequence[MaskCrop]) -> list[tuple[int, int]]:
    """One-to-one pairs (label, fruit), the best first."""
    pairs = [
        (value, label, number)
        for label, mask in enumerate(truth)
        for number, other in enumerate(counted)
        if (value := iou(mask, other)) >= SAME_FRUIT_IOU
    ]
    labels: set[int] = set()
    numbers: set[int] = set()
    chosen = []
    for _, label, number in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if label not in labels and number not in numbers:
            labels.add(label)
            numbers.add(number)
            chosen.append((label, number))
    return chosen


def _picture_of(middles_px: Sequence[float], edges_px: npt.NDArray[np.int_]) -> npt.NDArray[np.int_]:
    """Number of the picture in which each column lies; a little beyond the row counts for the last picture."""
    places = np.searchsorted(edges_px, np.asarray(middles_px, np.float64), side="right") - 1
    return np.clip(places, 0, len(edges_px) - 2)
