"""Does a graph keep the contract, and do tiles fit it? Whatever a graph lacks is named, all at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgekit.contracts import CONTRACT_VERSION, ModelInfo
from edgekit.errors import ContractError, ModelError, SettingsError

EXPORT_HINT = "export the weights with `edgekit export`"
INPUT = "tiles"


@dataclass(frozen=True)
class Tensor:
    """An input or output as the file declares it."""

    dtype: str
    """NumPy's name of the type."""
    shape: tuple[int | str | None, ...]
    """A text or None stands for a size that is not fixed."""

    @property
    def fixed_shape(self) -> tuple[int, ...]:
        """The shape where every size is fixed."""
        return tuple(int(size) for size in self.shape if size is not None)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join('?' if size is None else str(size) for size in self.shape)}]"


def check_file(path: Path) -> None:
    """Raise where there is no graph to read.

    Raises:
        ModelError: no such file, or an empty one.
    """
    if not path.is_file():
        raise ModelError(f"no model file {path}", mend="check the path, or make one with `edgekit export`")
    if not path.stat().st_size:
        raise ModelError(f"{path} is empty", mend="copy or export it again")


def read_info(metadata: Mapping[str, str], *, name: str) -> ModelInfo:
    """The metadata of a graph.

    Raises:
        ContractError: keys that are missing, values of another type or out of range, another version of the contract.
    """
    version = metadata.get("edgekit.contract_version", str(CONTRACT_VERSION))
    if version.strip() != str(CONTRACT_VERSION):
        raise ContractError(
            f"{name} keeps version {version} of the contract, this edgekit reads {CONTRACT_VERSION}",
            mend="export it again with this edgekit",
        )
    try:
        info = ModelInfo.from_metadata(metadata)
    except SettingsError as error:
        raise ContractError(f"{name} has metadata that edgekit cannot use: {error.what}", mend=EXPORT_HINT) from error
    _check_info(info, name)
    return info


def expected_tensors(info: ModelInfo) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Inputs and outputs that the contract asks of a graph with this metadata."""
    b, k, m, s = info.batch, info.max_detections, info.mask_size_px, info.tile_size_px
    outputs = {
        "count": Tensor("int32", (b,)),
        "boxes": Tensor("float32", (b, k, 4)),
        "scores": Tensor("float32", (b, k)),
        "labels": Tensor("int32", (b, k)),
        "masks": Tensor("uint8", (b, k, m, m)),
        "candidates": Tensor("int32", (b,)),
        "flags": Tensor("int32", (b,)),
    }
    return {INPUT: Tensor("uint8", (b, s, s, 3))}, outputs


def check_graph(info: ModelInfo, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor], *, name: str) -> None:
    """Compare what a file declares with what the contract asks for.

    Raises:
        ContractError: tensors that are missing, of another type or of another shape, all named; inputs too many.
    """
    wanted_inputs, wanted_outputs = expected_tensors(info)
    faults = [f"input {extra!r} is too many" for extra in inputs if extra not in wanted_inputs]
    for kind, wanted, got in (("input", wanted_inputs, inputs), ("output", wanted_outputs, outputs)):
        for key, tensor in wanted.items():
            if key not in got:
                faults.append(f"{kind} {key!r} ({tensor}) is missing")
            elif got[key] != tensor:
                faults.append(f"{kind} {key!r} is {got[key]} instead of {tensor}")
    faults += [f"output {key!r} is missing" for key in info.optional_outputs if key not in outputs]
    if faults:
        raise ContractError(f"{name} breaks the graph contract: {'; '.join(faults)}", mend=EXPORT_HINT)


def check_tiles(tiles: npt.NDArray[np.uint8], info: ModelInfo) -> None:
    """Refuse what the graph cannot take, before it runs.

    Raises:
        ModelError: another type, layout or size than the model's; both are named.
    """
    size = info.tile_size_px
    if tiles.dtype != np.uint8:
        raise ModelError(
            f"tiles are {tiles.dtype}, the model takes uint8",
            mend="give the pixels as they are, 0 to 255: scaling and normalisation are in the graph",
        )
    if tiles.ndim != 4 or tiles.shape[1:] != (size, size, 3):
        got = " x ".join(str(length) for length in tiles.shape)
        raise ModelError(
            f"tiles are {got}, the model takes N x {size} x {size} x 3",
            mend=f"cut the panorama into tiles of {size} px, or export the model with another tile_size_px",
        )


def _check_info(info: ModelInfo, name: str) -> None:
    for key, fits in _RANGES.items():
        value = getattr(info, key)
        if value is not None and not fits(value):
            shown = json.dumps(value)
            raise ContractError(f"{name} has edgekit.{key} = {shown}, which cannot be", mend=EXPORT_HINT)


def _positive(value: int) -> bool:
    return value >= 1


def _share(value: float) -> bool:
    return 0.0 <= value <= 1.0


_RANGES: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("tile_size_px", "inner_size_px", "batch", "max_detections", "proposals", "mask_size_px"), _positive
    ),
    **dict.fromkeys(("score_floor", "nms_iou", "default_threshold"), _share),
    "class_names": lambda names: bool(names) and len(set(names)) == len(names),
}
