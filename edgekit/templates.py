"""The recipes, site files and cameras that a person edits, wherever this edgekit was installed from.

In a checkout they lie beside the package (`export/`, `runtime/`); a wheel carries them inside it, as
`edgekit/templates/`. There is one source: the wheel's copy is made when it is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from edgekit.atomic import storage_error, write_atomic
from edgekit.errors import StorageError

KINDS = ("export", "runtime")
"""Folders that hold what a person edits. Season profiles (`calibration/`) are made by `edgekit calibrate fit`."""

ON_DEVICE = ("install.sh", "systemd", "udev", "log")
"""Files and folders of `deploy/` that a device gets; the rest is for those who make bundles."""

_PACKAGE = Path(__file__).resolve().parent


def templates_root() -> Path:
    """The folder that holds `export/` and `runtime/`."""
    packed = _PACKAGE / "templates"
    return packed if packed.is_dir() else _PACKAGE.parent


def template_files(kind: str) -> Iterator[Path]:
    """The templates of one kind, in order of their paths relative to `templates_root()`.

    Folders of their own below a kind (training, example data) are not templates, save for cameras.
    """
    root = templates_root() / kind
    yield from sorted(root.glob("*.toml"))
    yield from sorted((root / "cameras").glob("*.toml"))


def deploy_files() -> Iterator[tuple[Path, Path]]:
    """What goes onto a device, from `deploy/`: where each file lies, and its place in a bundle."""
    root = templates_root() / "deploy"
    for path in (path for name in ON_DEVICE for path in (root / name, *sorted((root / name).glob("*")))):
        if path.is_file():
            yield path, path.relative_to(root)


def write_templates(folder: Path, *, overwrite: bool = False) -> tuple[list[Path], list[Path]]:
    """Copy every template into `folder`, under its kind.

    Returns:
        The files that were written, and those that were there already and were kept.

    Raises:
        StorageError: the folder cannot be made or written.
    """
    if folder.is_file():
        raise StorageError(f"{folder} is a file", mend="name a folder; it is made where it is missing")
    root = templates_root()
    written: list[Path] = []
    kept: list[Path] = []
    for source in (path for kind in KINDS for path in template_files(kind)):
        target = folder / source.relative_to(root)
        if target.exists() and not overwrite:
            kept.append(target)
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise storage_error(target.parent, error) from error
        write_atomic(target, source.read_bytes())
        written.append(target)
    return written, kept
