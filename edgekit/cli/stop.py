"""`edgekit stop`: end a running `edgekit run` in an orderly way."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from edgekit.cli.find_run import RunOption, SiteOption, SocketOption

app = typer.Typer(add_completion=False)

LOOK_EVERY_S = 1.0
"""Seconds between two looks at a run that is being finished."""


@app.command(epilog="Example: edgekit stop --finish --site trolley.toml")
def stop(
    finish: Annotated[
        bool, typer.Option("--finish", help="First end open rows, count what waits, and finish the run; wait for it.")
    ] = False,
    run: RunOption = None,
    site: SiteOption = None,
    socket: SocketOption = None,
) -> None:
    """Finish the tile in hand, close the database and end; what waits is worked off at the next start.

    With --finish the run is complete before edgekit ends, so that `edgekit sync` takes it, and the next start begins
    another one. `edgekit stop` without it, or a signal, still ends a run that is being finished at once.

    Under systemd use `systemctl stop edgekit`: a run that is ended from here is started again.
    """
    from edgekit.cli.find_run import find_sockets, tell
    from edgekit.runtime.control import Stop

    if finish:
        _finish(find_sockets(run, site, socket))
    else:
        tell(Stop(), run, site, socket)


def _finish(places: tuple[Path, ...]) -> None:
    """Ask for the end of the run, and tell how far it is until it has ended.

    Raises:
        EdgekitError: the run refuses, or ended without being finished.
    """
    from edgekit.cli.find_run import ask_first
    from edgekit.errors import EdgekitError, NothingRunsError
    from edgekit.runtime.control import Stop
    from edgekit.runtime.live.runs import is_finished

    reply = ask_first(places, Stop(finish=True))
    if not reply.ok:
        raise EdgekitError(reply.message)
    typer.echo(reply.message)
    told = ""
    with suppress(NothingRunsError):
        while True:
            told = _look(places, told)
            time.sleep(LOOK_EVERY_S)
    folder = Path(str(reply.data.get("run", "")))
    if not is_finished(folder):
        raise EdgekitError(f"the run ended before {folder} was finished", mend="see its log, and start it again")
    typer.echo(f"{folder} is finished")


def _look(places: tuple[Path, ...], told: str) -> str:
    """Tell how far the run is where that has changed; a run that has no time for an answer is asked again later.

    Raises:
        NothingRunsError: it has ended.
    """
    from edgekit.cli.find_run import ask_first
    from edgekit.errors import NothingRunsError, RunFolderError
    from edgekit.runtime.control import StatusQuery
    from edgekit.runtime.watch import Snapshot
    from edgekit.runtime.watch.words import lag_words

    try:
        line = lag_words(Snapshot.from_dict(ask_first(places, StatusQuery()).data))
    except NothingRunsError:
        raise
    except RunFolderError:
        return told
    if line != told:
        typer.echo(line)
    return line
