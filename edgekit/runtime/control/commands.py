"""What can be asked of a running `edgekit run`, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class RowStart:
    """Open a row."""

    row: str
    """Its name, already checked (`row_name`)."""
    side: str | None = None
    """The side; None: the only one there is."""


@dataclass(frozen=True)
class RowStop:
    """Close the row that is open."""

    side: str | None = None
    """The side; None: every side."""


@dataclass(frozen=True)
class StatusQuery:
    """Tell how the run is."""


@dataclass(frozen=True)
class Stop:
    """Finish what is in hand and end, as after SIGTERM."""

    finish: bool = False
    """Before the end close the open rows, work off what waits, and finish the run."""


Order: TypeAlias = RowStart | RowStop | Stop
"""What changes something."""
Command: TypeAlias = Order | StatusQuery


@dataclass(frozen=True)
class Reply:
    """What became of a command."""

    ok: bool
    message: str = ""
    """In plain words; what is wrong, where it is not ok."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Plain types for JSON: the snapshot of a status."""
