"""Which files are benched: what was named, and of several artifacts of one model the one with the wanted batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgekit.contracts import ModelInfo
from edgekit.errors import EdgekitError, ModelError
from edgekit.segment.engine_file import SUFFIX, read_sidecar
from edgekit.wording import counted

SUFFIXES = (".onnx", SUFFIX)


def choose_artifacts(named: Sequence[Path], batch: int | None) -> list[Path]:
    """The files to bench, in the order in which they were named.

    Args:
        named: model files, or folders, which stand for every artifact in them.
        batch: tiles a call that the artifact must have been exported with; a file of another batch is replaced by one
            of the same model beside it. None: files are taken as they are.

    Raises:
        ModelError: a folder without a model, or no artifact with that batch.
    """
    found: list[Path] = []
    for path in named:
        found += _of_folder(path, batch) if path.is_dir() else [_of_file(path, batch)]
    return list({path.absolute(): path for path in found}.values())


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """What each file is called in a report: its name, with as much of its path as tells it from the others."""
    names = [path.stem for path in paths]
    parts = [path.absolute().parts for path in paths]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        clashing = {name for name in names if names.count(name) > 1}
        names = ["/".join(part[-depth:]) if name in clashing else name for name, part in zip(names, parts, strict=True)]
    return names


def _of_folder(folder: Path, batch: int | None) -> list[Path]:
    paths = _models_in(folder)
    if not paths:
        raise ModelError(f"no model in {folder}", mend=f"name a file, or a folder with {' or '.join(SUFFIXES)}")
    fitting = [path for path in paths if batch is None or read_artifact_info(path).batch == batch]
    if not fitting:
        seen = ", ".join(f"{path.name} has {read_artifact_info(path).batch}" for path in paths)
        raise ModelError(f"no model in {folder} takes {counted(batch or 1, 'tile')} a call: {seen}", mend=_mend(batch))
    return fitting


def _of_file(path: Path, batch: int | None) -> Path:
    if batch is None:
        return path
    info = read_artifact_info(path)
    if info.batch == batch:
        return path
    for other in _models_in(path.parent):
        if other.suffix == path.suffix and other != path and _is_same(other, info, batch):
            return other
    what = (
        f"{path.name} takes {counted(info.batch, 'tile')} a call, and no artifact of this model beside it takes {batch}"
    )
    raise ModelError(what, mend=_mend(batch))


def read_artifact_info(path: Path) -> ModelInfo:
    """What a model file says of itself; an engine need not run here for that.

    Raises:
        ModelError: no such file, or no model.
        ContractError: it breaks the contract.
    """
    if path.suffix != SUFFIX:
        from edgekit.segment.onnx_runtime import read_graph_info

        return read_graph_info(path)
    sidecar = read_sidecar(path)
    if sidecar is None:
        raise ModelError(f"{path.name} has no sidecar that tells its batch", mend="build the engine again")
    return sidecar.info


def _is_same(path: Path, info: ModelInfo, batch: int) -> bool:
    try:
        other = read_artifact_info(path)
    except EdgekitError:
        return False
    return other.batch == batch and other.model_id == info.model_id


def _models_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)


def _mend(batch: int | None) -> str:
    return f"export it: edgekit export RECIPE --weights W --batch {batch} --out FOLDER"
