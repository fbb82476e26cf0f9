"""What torchvision and an exported R-CNN answer to tiles, kept in a folder so that nothing is worked out twice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from rcnn_graphs import Case, Tiles
from torchvision.models.detection import MaskRCNN

import edgekit.export
from edgekit.contracts import ModelInfo
from edgekit.export.rcnn_reference import ReferenceRows, reference_rows
from edgekit.export.recipe import Target
from edgekit.segment.rows import Outputs

Arrays = Mapping[str, np.ndarray]
MODELS = ("models/*.py",)
"""Files of edgekit.export that a model depends on."""
MAKERS = (*MODELS, "graphs/*.py", "rcnn.py", "fp16.py", "onnx_writer.py", "fold_constants.py")
"""Files of edgekit.export that a graph depends on, but for those in `OTHERS`."""
OTHERS = ("yolo.py", "prototypes.py", "halves.py")


class TorchvisionAnswers:
    """torchvision's rows, tile by tile."""

    def __init__(self, case: Case, folder: Path | None) -> None:
        self.case = case
        self.folder = folder
        self._model: MaskRCNN | None = None
        self._settings = repr(replace(case.recipe, batch=1, precision="fp32")) + str(case.seed)
        self._settings += digest_of(MODELS)

    def rows(self, tile: Tiles) -> ReferenceRows:
        """Of one tile."""
        return rows_of(kept(self.folder, self._settings, tile, lambda: self._run(tile)))

    def _run(self, tile: Tiles) -> Arrays:
        if self._model is None:
            self._model = self.case.model()
        return arrays_of(reference_rows(self._model, tile))


class GraphAnswers:
    """Outputs of the exported graph under ONNX Runtime, batch by batch; the last batch is filled up with black."""

    def __init__(self, case: Case, target: Target, folder: Path | None) -> None:
        self.case = case
        self.target = target
        self.folder = folder
        self._session: onnxruntime.InferenceSession | None = None
        self._settings = repr(case.recipe) + str(case.seed) + target + digest_of(MAKERS)
        self.graph = self._load()
        self.info = ModelInfo.from_metadata({entry.key: entry.value for entry in self.graph.metadata_props})

    def outputs(self, tiles: Tiles) -> Outputs:
        batch = self.info.batch
        filled = np.concatenate([tiles, np.zeros((-len(tiles) % batch, *tiles.shape[1:]), np.uint8)])
        calls = [self._answer(filled[start : start + batch]) for start in range(0, len(filled), batch)]
        return {name: np.concatenate([call[name] for call in calls]) for name in calls[0]}

    def _answer(self, tiles: Tiles) -> Arrays:
        return kept(self.folder, self._settings, tiles, lambda: self._run(tiles))

    def _run(self, tiles: Tiles) -> Arrays:
        if self._session is None:
            self._session = self.case.session(self.graph)
        names = [item.name for item in self._session.get_outputs()]
        return dict(zip(names, self._session.run(None, {"tiles": tiles}), strict=True))

    def _load(self) -> onnx.ModelProto:
        if self.folder is None:
            return self.case.graph(self.target)
        path = self.folder / f"{hashlib.sha256(self._settings.encode()).hexdigest()[:24]}.onnx"
        if path.exists():
            return onnx.load(path)
        self.folder.mkdir(parents=True, exist_ok=True)
        model = self.case.graph(self.target)
        onnx.save(model, path)
        return model


def arrays_of(rows: ReferenceRows) -> Arrays:
    """What is kept of rows."""
    columns = {name: getattr(rows, name) for name in ("boxes", "scores", "labels", "masks")}
    return {"planes": np.packbits(rows.planes, axis=-1), **columns}


def rows_of(held: Arrays) -> ReferenceRows:
    """The rows again."""
    planes = np.unpackbits(held["planes"], axis=-1).astype(np.bool_)
    return ReferenceRows(held["boxes"], held["scores"], held["labels"], held["masks"], planes)


def kept(folder: Path | None, settings: str, tiles: Tiles, run: Callable[[], Arrays]) -> Arrays:
    """An answer from the folder, or worked out and put there."""
    if folder is None:
        return run()
    path = folder / f"{hashlib.sha256(settings.encode() + tiles.tobytes()).hexdigest()[:24]}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        answer: dict[str, Any] = dict(run())
        np.savez_compressed(path, **answer)
    with np.load(path) as held:
        return dict(held)


def digest_of(patterns: Iterable[str]) -> str:
    """SHA-256 of files of edgekit.export."""
    root = Path(edgekit.export.__file__).parent
    files = sorted(path for pattern in patterns for path in root.glob(pattern) if path.name not in OTHERS)
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
