"""`SHA256SUMS`: what `sha256sum --check` reads, on a device that has nothing else yet."""

from __future__ import annotations

from pathlib import Path

from edgekit.errors import BundleError, StorageError
from edgekit.segment.digest import file_digest

SUMS_NAME = "SHA256SUMS"


def checksums(folder: Path) -> str:
    """A line for each file of a folder, in order of their paths."""
    return "".join(f"{file_digest(folder / name)}  {name}\n" for name in _names(folder))


def differences(folder: Path) -> list[str]:
    """What of a bundle is missing, changed or more than was made, a line each; empty where it is whole.

    Raises:
        BundleError: it is no bundle.
        StorageError: a file cannot be read.
    """
    try:
        lines = (folder / SUMS_NAME).read_text("utf-8").splitlines()
        wanted = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    except OSError as error:
        raise BundleError(f"{folder} is no bundle: {SUMS_NAME} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise BundleError(f"{folder / SUMS_NAME} is damaged", mend="copy the bundle again") from error
    there = set(_names(folder))
    told = [f"{name} is missing" for name in sorted(wanted.keys() - there)]
    told += [f"{name} is more than was made" for name in sorted(there - wanted.keys())]
    try:
        return told + [
            f"{name} is changed" for name in sorted(there & wanted.keys()) if file_digest(folder / name) != wanted[name]
        ]
    except OSError as error:
        raise StorageError(f"cannot read {folder}: {error.strerror}") from error


def _names(folder: Path) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path != folder / SUMS_NAME)
    return sorted(path.relative_to(folder).as_posix() for path in files)
