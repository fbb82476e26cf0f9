"""The frozen value types that the parts of edgekit exchange.

Conventions that hold everywhere: an image is uint8, H x W x 3, RGB. A box is xyxy in pixels, x to the right, y down,
(0, 0) the top left corner of the top left pixel. A mask is a crop and an offset, never a full-size plane. A missing
value is None with a reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntFlag
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from edgekit.errors import SettingsError
from edgekit.settings_file import settings_from

Image = npt.NDArray[np.uint8]
"""uint8, H x W x 3, RGB."""
BoolPlane = npt.NDArray[np.bool_]
"""bool, H x W."""
FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int32]

CONTRACT_VERSION = 1
"""Version of the graph contract that this edgekit writes and reads."""


class MaskCrop(NamedTuple):
    """One mask: the smallest plane that is known to hold it, and where that plane lies.

    A named tuple and not a dataclass: there are tens of thousands of them in a row, and it is the cheapest frozen type.
    """

    plane: BoolPlane
    """bool, h x w; True where the object is."""
    x_px: int
    """Column of the plane's left edge in the frame (tile, panorama or picture)."""
    y_px: int
    """Row of the plane's top edge in the frame."""

    @property
    def area_px(self) -> int:
        """Number of pixels that are on."""
        return int(np.count_nonzero(self.plane))

    def shifted(self, dx_px: int, dy_px: int) -> MaskCrop:
        """The same mask in a frame whose origin lies (dx_px, dy_px) further left and up."""
        return MaskCrop(self.plane, self.x_px + dx_px, self.y_px + dy_px)


@dataclass(frozen=True, eq=False)
class Instances:
    """Segmented objects of one frame, a column per property; row i of every column is object i.

    Raises:
        ValueError: columns of different lengths or of a wrong type. This is a bug of the caller, so no EdgekitError.
    """

    boxes_xyxy: FloatArray
    """float32, N x 4, pixels."""
    scores: FloatArray
    """float32, N; the confidence that thresholds act on."""
    labels: IntArray
    """int32, N; class index from 0, without background."""
    masks: tuple[MaskCrop, ...]
    """N masks in the same frame as the boxes."""

    def __post_init__(self) -> None:
        n = len(self.masks)
        expected = (("boxes_xyxy", np.float32, (n, 4)), ("scores", np.float32, (n,)), ("labels", np.int32, (n,)))
        for name, dtype, shape in expected:
            column = getattr(self, name)
            if column.dtype != dtype or column.shape != shape:
                raise ValueError(f"{name} must be {np.dtype(dtype)} {shape}, got {column.dtype} {column.shape}")
            column.setflags(write=False)

    def __len__(self) -> int:
        return len(self.masks)

    @classmethod
    def empty(cls) -> Instances:
        """No objects."""
        return cls(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros(0, np.int32), ())

    @classmethod
    def concatenate(cls, parts: Iterable[Instances]) -> Instances:
        """All rows of `parts`, in their order."""
        kept = [part for part in parts if len(part)]
        if not kept:
            return cls.empty()
        return cls(
            np.concatenate([part.boxes_xyxy for part in kept]),
            np.concatenate([part.scores for part in kept]),
            np.concatenate([part.labels for part in kept]),
            tuple(mask for part in kept for mask in part.masks),
        )

    def select(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp] | Sequence[int]) -> Instances:
        """The rows that a boolean mask or an index names, in that order."""
        index = np.asarray(rows)
        index = np.flatnonzero(index) if index.dtype == np.bool_ else index.astype(np.intp)
        return Instances(
            self.boxes_xyxy[index], self.scores[index], self.labels[index], tuple(self.masks[i] for i in index)
        )

    def shifted(self, dx_px: int, dy_px: int) -> Instances:
        """The same objects in a frame whose origin lies (dx_px, dy_px) further left and up."""
        shift = np.array([dx_px, dy_px, dx_px, dy_px], np.float32)
        masks = tuple(mask.shifted(dx_px, dy_px) for mask in self.masks)
        return replace(self, boxes_xyxy=self.boxes_xyxy + shift, masks=masks)


class ResultFlag(IntFlag):
    """Limits that bit while a tile was segmented (output `flags` of the graph contract)."""

    NMS_NOT_CONVERGED = 1
    PROPOSALS_CUT = 2


NO_FLAGS = ResultFlag(0)
"""No limit bit."""


@dataclass(frozen=True, eq=False)
class TileResult:
    """What a segmenter says of one tile."""

    instances: Instances
    """In tile pixels, scores descending, all at or above the model's score floor."""
    candidates: int
    """Rows above the floor before the cut to K; larger than len(instances) where the limit K bit."""
    flags: ResultFlag = NO_FLAGS

    @property
    def cut_to_limit(self) -> bool:
        """True where the graph found more objects than it could return."""
        return self.candidates > len(self.instances)


@dataclass(frozen=True)
class ModelInfo:
    """The metadata of a graph of the contract; a field is the ONNX metadata key `edgekit.<field>`, its value JSON."""

    contract_version: int
    model: str
    """Family: yolo11, mask_rcnn, ms_rcnn, mask_rcnn_sw."""
    class_names: tuple[str, ...]
    tile_size_px: int
    """S: tiles are S x S."""
    inner_size_px: int
    """Size that the network itself sees after its own resize."""
    batch: int
    """B, fixed at export."""
    max_detections: int
    """K rows a tile."""
    proposals: int | None
    """RoIs that reach the heads of a two-stage model; None for one-stage models."""
    mask_frame: Literal["box", "tile"]
    mask_size_px: int
    """m: masks are m x m in their frame."""
    score_floor: float
    nms_iou: float
    precision: Literal["fp32", "fp16", "int8"]
    weights_digest: str
    """SHA-256 of the weights file."""
    weights_licence: str
    exporter: dict[str, str]
    """Versions of what exported the graph, by package."""
    untrained: bool = False
    """True where the weights are random: a graph to measure with, not to count with."""
    default_threshold: float | None = None
    """Confidence at which the makers of the weights would count; None where nobody measured it."""
    optional_outputs: tuple[str, ...] = ()
    """Outputs beyond the contract, such as class_scores of Mask Scoring R-CNN."""

    def to_metadata(self) -> dict[str, str]:
        """The ONNX metadata entries, values in JSON."""
        return {f"edgekit.{item.name}": json.dumps(getattr(self, item.name)) for item in fields(self)}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, str]) -> ModelInfo:
        """Read the entries that `to_metadata` wrote; entries of other tools are left alone.

        Raises:
            SettingsError: a value is no JSON, missing or of another type.
        """
        names = [item.name for item in fields(cls) if f"edgekit.{item.name}" in metadata]
        values = {name: _json_of(f"edgekit.{name}", metadata[f"edgekit.{name}"]) for name in names}
        return settings_from(values, cls, within="edgekit.")

    @property
    def model_id(self) -> str:
        """Digest of everything that moves a score, so that a calibration can be bound to it.

        The RoI operator, the batch and the build of an engine do not change it.
        """
        parts = (
            self.weights_digest, self.tile_size_px, self.inner_size_px, self.score_floor, self.nms_iou,
            self.max_detections, self.proposals, self.precision,
        )  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _json_of(key: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{key} is no JSON: {error}") from error


@dataclass(frozen=True)
class Choice:
    """Record of something that was asked for and what was got, for instance an execution provider."""

    requested: str
    effective: str
    reason: str


@runtime_checkable
class Segmenter(Protocol):
    """A model that is ready to run, whatever the backend."""

    @property
    def info(self) -> ModelInfo:
        """What the model file says of itself."""
        ...

    @property
    def provider(self) -> Choice:
        """Where it runs, and why there."""
        ...

    def segment(self, tiles: npt.NDArray[np.uint8]) -> list[TileResult]:
        """Segment N tiles (uint8, N x S x S x 3, RGB), N >= 0 of any size; result i belongs to tile i."""
        ...

    def close(self) -> None:
        """Let go of devices and files; calling it twice does no harm."""
        ...


class TileSpec(NamedTuple):
    """Where a tile lies in its panorama. It may reach beyond a panorama that is smaller than a tile."""

    number: int
    """Position in the order of cutting: column by column from the left, top to bottom in a column."""
    x_px: int
    y_px: int
    size_px: int


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture of a camera."""

    image: Image
    sequence: int
    """Number that the source gives; a gap in the numbers is a gap in the pictures."""
    time_s: float
    """Presentation time of a file, or monotonic time of a live camera, in seconds."""
    fault: str | None = None
    """What is wrong with the picture where the source could tell (corrupt stretch, frozen, cut short); else None."""
    device_time_s: float | None = None
    """Time stamp that a live camera or its stream gave the picture, on a clock of its own; None where there is none."""


@runtime_checkable
class FrameSource(Protocol):
    """Frames in order, with a declared end. Faults are values (`Frame.fault`, `faults`), not a lost stream."""

    @property
    def name(self) -> str:
        """What a person calls it: the path or the address."""
        ...

    @property
    def length(self) -> int | None:
        """Number of frames that are expected, None where the source cannot tell. Never relied upon."""
        ...

    @property
    def faults(self) -> tuple[str, ...]:
        """What was wrong with the stream as a whole so far, in words."""
        ...

    def __iter__(self) -> Iterator[Frame]: ...

    def close(self) -> None:
        """Let go of devices and files; calling it twice does no harm."""
        ...


class Displacement(NamedTuple):
    """How far the scene moved in the image from one frame to the next."""

    dx_px: float
    """Positive: the scene moved to the right in the image."""
    dy_px: float
    confidence: float
    """0 to 1."""
    reason: str | None = None
    """Why the confidence is low; None where it is not."""


@runtime_checkable
class DisplacementEstimator(Protocol):
    """Measures the displacement of each frame against the one before it; keeps what state it needs."""

    def measure(self, frame: Frame) -> Displacement | None:
        """Displacement since the last frame; None for the first one."""
        ...


@dataclass(frozen=True, eq=False)
class Columns:
    """Finished columns of a panorama; once emitted they never change."""

    image: Image
    """H x W x 3."""
    x_px: int
    """Panorama column of the left edge, in scene orientation. A panorama that grows to the right starts at 0 and rises;
    one that grows to the left falls from 0 downwards: its first columns end at 0, and every x is negative."""
    bridged: bool = False
    """True where the displacement was predicted and not measured."""


@runtime_checkable
class PanoramaBuilder(Protocol):
    """Turns frames into finished columns with constant memory; each block of columns adjoins the one before it.

    Deterministic: the same frames give the same bytes, so that a run that was cut can be done again and resumed.
    """

    @property
    def direction(self) -> int:
        """+1: columns are finished from left to right; -1: from right to left. Settled with the first columns."""
        ...

    def add(self, frame: Frame) -> list[Columns]:
        """Take a frame; return the columns that it finished."""
        ...

    def finish(self) -> list[Columns]:
        """No more frames; return what is left."""
        ...


class Progress(Protocol):
    """Called by long work to say how far it is; the command line shows it, tests leave it out."""

    def __call__(self, stage: str, done: int, total: int | None = None) -> None:
        """`done` of `total` (None: nobody knows) steps of `stage` are finished."""
        ...


def no_progress(stage: str, done: int, total: int | None = None) -> None:
    """A `Progress` that shows nothing."""
