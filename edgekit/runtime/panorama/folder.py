"""The panorama of a row alone, in a folder: segments, and what is told of them (`report.py`)."""

from __future__ import annotations

from pathlib import Path

from edgekit.contracts import FrameSource, Progress
from edgekit.folder_lock import locked
from edgekit.runtime.panorama.own_files import OwnFiles
from edgekit.runtime.panorama.report import PanoramaSummary
from edgekit.runtime.row_panorama import RowPanorama
from edgekit.runtime.row_view import RowView
from edgekit.runtime.settings import RunSettings
from edgekit.runtime.stage_clock import StageClock


def build_panorama(
    source: FrameSource, out: Path, settings: RunSettings, *, progress: Progress, view: RowView | None = None
) -> PanoramaSummary:
    """Build a panorama into a folder. A folder whose build was cut is built again, with the same bytes; no file is
    removed but those that the cut build wrote.

    Args:
        source: the frames of one row; closed at the end.
        out: the folder.
        settings: panorama, segments and scale are used.
        progress: told how far the work is.
        view: camera and encoder; closed at the end. None: straight pictures alone.

    Raises:
        RunFinishedError: the folder holds a finished panorama.
        RunFolderError: the folder holds other things, or another process is writing there.
        SourceError: the source cannot be read, or none of its frames can be used.
        StorageError: the disk is full, read-only or failing.
    """
    own = OwnFiles(out)
    own.check()  # before the folder is made
    with locked(out):
        own.check()  # another build may have written or finished there meanwhile
        own.clear()
        row = RowPanorama(settings, StageClock(), write=own.write, progress=progress)
        for _ in row.kept(row.built(source, view), out):
            pass
        own.finish()
    assert row.summary is not None  # frames that give no column are an error
    return row.summary
