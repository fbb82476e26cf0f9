"""The panorama of one run as that of another: the pictures are linked, or copied where the disk is another."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from edgekit.atomic import atomic_path, make_folder
from edgekit.errors import RunDamagedError
from edgekit.runtime.panorama.segments import INDEX_NAME, read_index


def take_over(source: Path, target: Path) -> None:
    """Have the panorama of `source` in `target` as well. What is there already stays.

    Segments are written whole and never changed, so that one file may belong to two runs.

    Raises:
        RunDamagedError: the panorama is unfinished, or a segment is missing.
        StorageError: the disk is full, read-only or failing.
    """
    index = read_index(source)
    make_folder(target)
    for name in (*index.files, INDEX_NAME):  # the index last: without it the panorama is unfinished
        if not (source / name).is_file():
            raise RunDamagedError(f"{source / name} is missing", mend="its pictures are gone: rerun another run")
        if not (target / name).exists():
            _link(source / name, target / name)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        with atomic_path(target) as temporary:
            shutil.copyfile(source, temporary)
