"""A folder that installs edgekit where there is no network."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from edgekit import __version__
from edgekit.atomic import storage_error, write_atomic
from edgekit.bundle.checksums import SUMS_NAME, checksums
from edgekit.bundle.resolve import download, lock, own_wheel, pinned
from edgekit.bundle.settings import JETPACK_OF_PYTHON, BundleContents, BundleTarget
from edgekit.contracts import Progress
from edgekit.errors import BundleError
from edgekit.runtime.default_model import default_model_path
from edgekit.templates import deploy_files, template_files, templates_root

SCHEMA = 1
INFO_NAME = "bundle.json"
REQUIREMENTS_NAME = "requirements.txt"


def build_bundle(out: Path, target: BundleTarget, contents: BundleContents, *, report: Progress) -> dict[str, object]:
    """Make a bundle; `out` appears when it is complete.

        install.sh, systemd/, udev/, ...   what goes onto the device
        wheels/, requirements.txt          edgekit and all that it needs, with digests
        models/, site/                     graphs, site file, cameras, profiles
        bundle.json, SHA256SUMS            what it is, and the digest of every file

    Returns:
        What `bundle.json` says.

    Raises:
        BundleError: a package has no wheel for the target, or a file is missing.
        StorageError: the disk is full, read-only or failing.
    """
    if out.exists():
        raise BundleError(f"{out} is there already", mend="choose another --out, or remove it")
    _check(contents)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as name:
            folder = Path(name) / "bundle"
            info = _fill(folder, target, contents, report)
            folder.rename(out)
    except OSError as error:
        raise storage_error(out, error) from error
    return info


def _check(contents: BundleContents) -> None:
    """Before anything is downloaded: what is to come along is there."""
    for model in contents.models:
        if not model.is_file():
            raise BundleError(f"{model} is no file", mend="name an ONNX graph with --model")
    if contents.site is not None and not contents.site.is_dir():
        raise BundleError(f"{contents.site} is no folder", mend="name the folder that holds the site file")


def _fill(folder: Path, target: BundleTarget, contents: BundleContents, report: Progress) -> dict[str, object]:
    wheels = folder / "wheels"
    wheels.mkdir(parents=True)
    report("bundle", 0, 5)
    wheel = own_wheel(wheels, contents, templates_root())
    requirements = lock(wheel, target, contents)
    write_atomic(folder / REQUIREMENTS_NAME, requirements.encode())
    report("bundle", 1, 5)
    download(folder / REQUIREMENTS_NAME, wheels, target, contents)
    report("bundle", 2, 5)
    _copy_models(folder / "models", contents.models or (default_model_path(),))
    _copy_site(folder / "site", contents.site)
    report("bundle", 3, 5)
    for path, place in deploy_files():
        _copy(path, folder / place)
    info: dict[str, object] = {
        "schema": SCHEMA, "edgekit": __version__, "wheel": wheel.name, "python": target.python,
        "machine": target.machine, "jetpack": JETPACK_OF_PYTHON.get(target.python), "packages": pinned(requirements),
        "models": sorted(path.name for path in (folder / "models").iterdir()),
    }  # fmt: skip
    write_atomic(folder / INFO_NAME, json.dumps(info, indent=1).encode())
    report("bundle", 4, 5)
    write_atomic(folder / SUMS_NAME, checksums(folder).encode())
    report("bundle", 5, 5)
    return info


def _copy_models(folder: Path, models: tuple[Path, ...]) -> None:
    folder.mkdir()
    for model in models:
        for path in _with_companions(model):
            _copy(path, folder / path.name)


def _with_companions(model: Path) -> Iterator[Path]:
    """The graph, its external data and notes beside it; engines are another device's."""
    yield model
    for path in sorted(model.parent.glob(f"{model.stem}.*")):
        if path != model and path.is_file() and ".engine" not in path.suffixes:
            yield path


def _copy_site(folder: Path, site: Path | None) -> None:
    if site is not None:
        shutil.copytree(site, folder)
        return
    root = templates_root()
    for path in (path for kind in ("runtime", "calibration") for path in template_files(kind)):
        _copy(path, folder / path.relative_to(root / path.relative_to(root).parts[0]))


def _copy(path: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, place)
