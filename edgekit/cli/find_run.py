"""Which run a command means, and what it answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from edgekit.runtime.control import Command, Reply

RunOption: TypeAlias = Annotated[Path | None, typer.Option("--run", help="Folder of the run that is meant.")]
SiteOption: TypeAlias = Annotated[Path | None, typer.Option("--site", help="Site file of the run that is meant.")]
SocketOption: TypeAlias = Annotated[Path | None, typer.Option("--socket", help="Control socket of that run.")]


def find_sockets(run: Path | None, site: Path | None, socket: Path | None) -> tuple[Path, ...]:
    """Where to ask: at the place that was named, else at the usual ones.

    Raises:
        SettingsError: more than one place was named, or the site file cannot be used.
    """
    from edgekit.errors import SettingsError
    from edgekit.runtime.control import run_socket, usual_sockets

    if sum(given is not None for given in (run, site, socket)) > 1:
        raise SettingsError("more than one run was named", mend="use one of --run, --site and --socket")
    if socket is not None:
        return (socket,)
    if run is not None:  # a live run's folder lies in the site's folder of runs, where the socket may be
        return (run_socket(run), run_socket(run.absolute().parent))
    return usual_sockets() if site is None else _of_site(site)


def ask_first(places: tuple[Path, ...], command: Command) -> Reply:
    """The answer of the first place where a run answers.

    Raises:
        NothingRunsError: none does.
        RunFolderError: the run does not answer, or belongs to another user.
    """
    from edgekit.errors import NothingRunsError

    for place in places:
        reply = _ask(place, command)
        if reply is not None:
            return reply
    where = " or ".join(map(str, places))
    raise NothingRunsError(
        f"nothing runs at {where}",
        mend="start it with `edgekit run --site FILE` (one that was just started answers once its model is loaded: try "
        "again), or name it with --site or --run",
    )


def tell(command: Command, run: Path | None, site: Path | None, socket: Path | None) -> None:
    """Give a command to the run that is meant, and print what it says.

    Raises:
        EdgekitError: nothing runs there, or the run refuses.
    """
    from edgekit.errors import EdgekitError

    reply = ask_first(find_sockets(run, site, socket), command)
    if not reply.ok:
        raise EdgekitError(reply.message)
    typer.echo(reply.message or "done")


def _of_site(site: Path) -> tuple[Path, ...]:
    """The service has its socket where systemd lets it, which the caller's own environment does not tell."""
    from edgekit.runtime.control import run_socket, usual_sockets
    from edgekit.runtime.live.site import read_site

    settings = read_site(site)
    return (settings.control,) if settings.control is not None else (run_socket(settings.out), *usual_sockets())


def _ask(place: Path, command: Command) -> Reply | None:
    """The answer; None where nobody is there."""
    from edgekit.errors import NothingRunsError
    from edgekit.runtime.control import ask

    try:
        return ask(place, command)
    except NothingRunsError:
        return None
