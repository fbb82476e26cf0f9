"""What a file is that is to be installed: it is opened once, so that nothing useless reaches the device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgekit.calibration import load_profile
from edgekit.errors import ModelError, SettingsError
from edgekit.runtime.installed.item import Kind
from edgekit.segment.engine_file import SUFFIX, read_engine, read_sidecar, sidecar_path

GRAPH_SUFFIX, PROFILE_SUFFIX = ".onnx", ".toml"


@dataclass(frozen=True)
class Look:
    """What is to be installed."""

    kind: Kind
    files: tuple[Path, ...]
    """The main file first; an engine's sidecar and a graph's engine come along."""
    described: str
    model_id: str


def look_at(path: Path) -> Look:
    """Open a graph, an engine or a profile.

    Raises:
        SettingsError: none of them by its name, or not there.
        ModelError: a graph or an engine that cannot be used.
        ProfileError: a profile that cannot be read.
    """
    if not path.is_file():
        raise SettingsError(f"there is no file {path}", mend="name a graph, an engine or a season profile")
    if path.suffix == PROFILE_SUFFIX:
        profile = load_profile(path)
        return Look("profile", (path,), f"season {profile.season}, threshold {profile.threshold:g}", profile.model_id)
    if path.suffix == GRAPH_SUFFIX:
        return _graph(path)
    if path.suffix == SUFFIX:
        return _engine(path)
    known = f"{GRAPH_SUFFIX}, {SUFFIX} or {PROFILE_SUFFIX}"
    raise SettingsError(f"{path} is neither a model nor a profile by its name", mend=f"name a file ending in {known}")


def _graph(path: Path) -> Look:
    from edgekit.segment.onnx_runtime import read_graph_info

    info = read_graph_info(path)
    engine = path.with_suffix(SUFFIX)
    along = (engine, sidecar_path(engine)) if sidecar_path(engine).is_file() and engine.is_file() else ()
    described = f"{info.model} {info.precision}: {', '.join(info.class_names)}"
    return Look("model", (path, *along), described, info.model_id)


def _engine(path: Path) -> Look:
    read_engine(path)
    sidecar = read_sidecar(path)
    if sidecar is None:
        raise ModelError(f"{path} has no sidecar beside it ({sidecar_path(path).name})", mend="copy it along")
    info = sidecar.info
    described = f"{info.model} {sidecar.precision} for {sidecar.device.gpu_name}: {', '.join(info.class_names)}"
    return Look("model", (path, sidecar_path(path)), described, info.model_id)
