"""A disk that fails for a moment does not end a run: the same is tried again for a while, and told once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from edgekit.atomic import write_atomic
from edgekit.errors import StorageError

PATIENCE_S = 20.0
"""How long a failing disk is given. Cameras go on meanwhile: what they see waits in memory for about two seconds, what
comes then is dropped and counted. A longer fault ends the run in an orderly way, and the service starts it again."""
_PAUSE_S = 0.25
_log = logging.getLogger(__name__)
Value = TypeVar("Value")


def patiently(
    work: Callable[[], Value], *, again: Callable[[], None] | None = None, patience_s: float | None = None
) -> Value:
    """What `work` returns, tried again while the disk fails.

    Args:
        work: does it all or nothing.
        again: called before every further attempt, to put right what the last one left.
        patience_s: seconds until the fault is raised; None: PATIENCE_S.

    Raises:
        StorageError: the disk did not recover.
    """
    patience_s = PATIENCE_S if patience_s is None else patience_s
    until_s, told = time.monotonic() + patience_s, False
    while True:
        try:
            if told and again is not None:
                again()
            value = work()
        except StorageError as error:
            if time.monotonic() >= until_s:
                raise
            if not told:
                _log.warning("%s; trying again for %.0f s", error.what, patience_s)
            told = True
            time.sleep(_PAUSE_S)
            continue
        if told:
            _log.warning("the disk is well again")
        return value


def write_patiently(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, and again while the disk fails.

    Raises:
        StorageError: the disk did not recover.
    """
    patiently(lambda: write_atomic(path, data))
