"""How long finished runs are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edgekit.errors import SettingsError


@dataclass(frozen=True)
class RetentionSettings:
    """By days, by space, or both; without either nothing is deleted.

    Raises:
        SettingsError: a value that cannot be used.
    """

    keep_days: float | None = None
    """Days after which a finished run may go; None: it never does for its age. Days are those of the wall clock, so
    that one which is wrong can make runs look old: `least` and `unsynchronised` still hold."""
    keep_gb: float | None = None
    """GB (1e9 bytes) that all runs may take together; None: no limit."""
    free_gb: float | None = None
    """GB that are to be free on the disk; None: no limit."""
    least: int = 3
    """Newest finished runs that stay whatever happens; at least 1, since the numbers of new runs go on from it."""
    unsynchronised: Literal["keep", "delete"] = "keep"
    """What becomes of a run that lies nowhere else: keep it, or delete it as well, after all that were synchronised."""

    def __post_init__(self) -> None:
        for name in ("keep_days", "keep_gb", "free_gb"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise SettingsError(f"retention.{name} is {value:g}", mend="give a number, 0 or more, or leave it out")
        if self.least < 1:
            raise SettingsError(f"retention.least is {self.least}", mend="give 1 or more")
