"""The panorama of a row alone, in a folder: segments, and what is told of them (`report.py`)."""

from __future__ import annotations

from pathlib import Path

from edgekit.atomic import make_folder, storage_error
from edgekit.contracts import FrameSource, Progress
from edgekit.errors import RunFinishedError, RunFolderError
from edgekit.runtime.panorama.report import OFFSETS_NAME, PAGE_NAME, SUMMARY_NAME, PanoramaSummary
from edgekit.runtime.panorama.segments import INDEX_NAME
from edgekit.runtime.row_panorama import RowPanorama
from edgekit.runtime.row_view import RowView
from edgekit.runtime.settings import RunSettings
from edgekit.runtime.stage_clock import StageClock


def build_panorama(
    source: FrameSource, out: Path, settings: RunSettings, *, progress: Progress, view: RowView | None = None
) -> PanoramaSummary:
    """Build a panorama into a folder. A folder whose build was cut is built again, with the same bytes.

    Args:
        source: the frames of one row; closed at the end.
        out: the folder.
        settings: panorama, segments and scale are used.
        progress: told how far the work is.
        view: camera and encoder; closed at the end. None: straight pictures alone.

    Raises:
        RunFinishedError: the folder holds a finished panorama.
        RunFolderError: the folder holds other things.
        SourceError: the source cannot be read, or none of its frames can be used.
        StorageError: the disk is full, read-only or failing.
    """
    _check(out)
    row = RowPanorama(settings, StageClock(), progress=progress)
    for _ in row.kept(row.built(source, view), out):
        pass
    assert row.summary is not None  # frames that give no column are an error
    return row.summary


def _check(out: Path) -> None:
    if (out / SUMMARY_NAME).exists():
        raise RunFinishedError(f"{out} holds a finished panorama", mend="name another folder, or remove this one")
    if out.exists() and not out.is_dir():
        raise RunFolderError(f"{out} is not a folder", mend="name a folder that is new or empty")
    make_folder(out)
    known = (INDEX_NAME, OFFSETS_NAME, PAGE_NAME)
    others = [p.name for p in out.iterdir() if not (p.name in known or p.name.startswith(("segment_", ".segment")))]
    if others:
        raise RunFolderError(f"{out} holds other things: {others[0]}", mend="name a folder that is new or empty")
    try:
        for path in out.iterdir():
            path.unlink()
    except OSError as error:
        raise storage_error(out, error) from error
