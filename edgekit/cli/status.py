"""`edgekit status`: how a running `edgekit run` is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from edgekit.cli.find_run import RunOption, SiteOption, SocketOption

if TYPE_CHECKING:
    from edgekit.runtime.watch import Snapshot

    Look: TypeAlias = Callable[[], Snapshot]

app = typer.Typer(add_completion=False)

LINE_EVERY_S = 10.0
"""Seconds between two lines of `--watch` where there is no terminal."""
PLAIN_WIDTH = 110
"""Columns of the view where there is no terminal to tell."""


@app.command(epilog="Example: edgekit status --once")
def status(
    run: RunOption = None,
    site: SiteOption = None,
    socket: SocketOption = None,
    watch: Annotated[
        bool | None,
        typer.Option("--watch/--once", help="Go on until Ctrl-C, or look once; default: --watch on a terminal."),
    ] = None,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks of the live view.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything once as JSON.")] = False,
) -> None:
    """Show cameras, open rows, counts, lag, the device, and what is wrong in plain words.

    Ends with exit code 43 where nothing runs.
    """
    from edgekit.cli.ui import print_json

    look = _looking(run, site, socket)
    now, terminal = look(), sys.stdout.isatty()
    if as_json:
        print_json(now.as_dict())
    elif watch is False or (watch is None and not terminal):
        _once(now)
    elif terminal:
        _live(look, now, every)
    else:
        _lines(look, now, max(every, LINE_EVERY_S))


def _looking(run: RunOption, site: SiteOption, socket: SocketOption) -> Look:
    """What asks the run for its state.

    Raises:
        SettingsError: more than one run was named.
    """
    from edgekit.cli.find_run import ask_first, find_sockets
    from edgekit.errors import EdgekitError
    from edgekit.runtime.control import StatusQuery
    from edgekit.runtime.watch import Snapshot

    places = find_sockets(run, site, socket)

    def look() -> Snapshot:
        reply = ask_first(places, StatusQuery())
        if not reply.ok:
            raise EdgekitError(reply.message)
        try:
            return Snapshot.from_dict(reply.data)
        except ValueError as error:
            raise EdgekitError(str(error), mend="restart the run with this release of edgekit") from error

    return look


def _once(now: Snapshot) -> None:
    from rich.console import Console

    from edgekit.cli.status_view import view

    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
    console.print(view(now))


def _live(look: Look, now: Snapshot, every_s: float) -> None:
    """The view on a terminal until Ctrl-C. A run that ends or is started again is waited for, its last state shown."""
    from rich.live import Live

    from edgekit.cli.status_view import view
    from edgekit.errors import EdgekitError

    seen_s, silent = time.monotonic(), ""
    try:
        with Live(view(now), auto_refresh=False) as live:
            while True:
                time.sleep(every_s)
                try:
                    now, seen_s, silent = look(), time.monotonic(), ""
                except EdgekitError as error:
                    silent = f"no answer for {time.monotonic() - seen_s:.0f} s: {error.what}"
                live.update(view(now, silent=silent), refresh=True)
    except KeyboardInterrupt:
        return


def _lines(look: Look, now: Snapshot, every_s: float) -> None:
    """A line now and then, for a log; ends with the run."""
    from edgekit.errors import NothingRunsError
    from edgekit.runtime.watch.words import one_line

    try:
        while True:
            typer.echo(one_line(now))
            time.sleep(every_s)
            now = look()
    except NothingRunsError:
        typer.echo("the run has ended")
    except KeyboardInterrupt:
        return
