"""What a person sees while a command works: progress on a terminal, plain lines elsewhere, JSON for machines."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from edgekit.contracts import Progress

ForceOption: TypeAlias = Annotated[bool, typer.Option("--force", help="Overwrite files that are there already.")]
LINE_EVERY_S = 5.0
"""Seconds between two plain lines of one stage where there is no terminal."""


def print_json(data: Any) -> None:
    """One JSON document on standard output, keys in their order, numbers in full."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def write_or_print_json(data: Any, target: Path | None) -> None:
    """JSON into a file, whose folder is made where needed, or to standard output where no file (or "-") is named.

    Raises:
        StorageError: the file cannot be written.
    """
    from edgekit.atomic import prepare_file, write_atomic

    if target is None or str(target) == "-":
        print_json(data)
    else:
        prepare_file(target)
        write_atomic(target, json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False).encode())


def prepare_outputs(*paths: Path | None, force: bool = False) -> None:
    """Make the folders of files that will be written; what cannot be written is told before the work, not after it.

    Args:
        paths: of the files; None, and "-" for standard output, are passed over.
        force: overwrite what is there.

    Raises:
        SettingsError: a file is there already, and not `force`.
        StorageError: a file cannot be written.
    """
    from edgekit.atomic import prepare_file
    from edgekit.errors import SettingsError

    named = [path for path in paths if path is not None and str(path) != "-"]
    for path in named:
        prepare_file(path)
        if path.exists() and not force:
            raise SettingsError(f"{path} is there already", mend="name another file, or --force overwrites it")


def tell(line: str) -> None:
    """What goes on, a line on standard error."""
    typer.echo(line, err=True)


def warn(lines: Iterable[str]) -> None:
    """What a person should know, a line each, on standard error."""
    for line in lines:
        typer.echo(f"warning: {line}", err=True)


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Progress]:
    """Show the stages of a long work on standard error: a bar each on a terminal, a line now and then elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield _silent
    elif console.is_terminal:
        with _bars(console) as report:
            yield report
    else:
        yield _PlainLines()


def _silent(stage: str, done: int, total: int | None = None) -> None:
    """Show nothing."""


@contextmanager
def _bars(console: Any) -> Iterator[Progress]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int | None = None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield report


class _PlainLines:
    """A line a stage every few seconds, and one when it is complete: a log file stays short."""

    def __init__(self) -> None:
        self._last_line_s: dict[str, float] = {}
        self._told: dict[str, str] = {}

    def __call__(self, stage: str, done: int, total: int | None = None) -> None:
        now = time.monotonic()
        complete = total is not None and done >= total
        if not complete and now - self._last_line_s.get(stage, now - LINE_EVERY_S) < LINE_EVERY_S:
            return
        self._last_line_s[stage] = now
        far = f"{done} of {total}" if total is not None else str(done)
        if complete and self._told.get(stage) == far:  # of small files: in whole MiB all was sent before
            return
        self._told[stage] = far
        typer.echo(f"{stage} ..." if total is None and not done else f"{stage}: {far}", err=True)
