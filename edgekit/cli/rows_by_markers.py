"""`edgekit run --markers`: long recordings are cut into rows before they are counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgekit.runtime.settings import RunSettings


def rows_by_markers(
    recordings: list[Path], settings: RunSettings, out: Path, *, quiet: bool
) -> tuple[list[Path], RunSettings]:
    """The rows of all recordings, as sources; and the settings, with the scale by markers where none is set.

    The recordings are read to their ends, so the run's folder `out` is looked at before.

    Raises:
        RunFolderError: the folder holds a finished run, or other things.
        SourceError: a recording cannot be read, or shows no marker.
    """
    from edgekit.cli.ui import progress, warn
    from edgekit.errors import SourceError
    from edgekit.runtime.markers.cutting import row_stretches
    from edgekit.runtime.row_view import open_row
    from edgekit.runtime.sources.stretch import Stretch
    from edgekit.store import RunFolder

    RunFolder(out).check_free()
    rows: list[Path] = []
    for recording in recordings:
        with progress(quiet=quiet) as report:
            found = row_stretches(open_row(recording, settings), settings.markers, progress=report)
        if not found.stretches:
            raise SourceError(f"no marker of a row in {recording}", mend="leave out --markers, or look at [markers]")
        for stretch in found.stretches:
            name = stretch.row if stretch.side is None else f"{stretch.row}-{stretch.side}"
            rows.append(Stretch(recording, name, stretch.first, stretch.stop).path)
        warn(f"{recording}: {remark}" for remark in found.remarks)
        if settings.px_per_metre is None and found.px_per_metre is not None:
            settings = replace(settings, px_per_metre=round(found.px_per_metre, 2))
    return rows, settings
