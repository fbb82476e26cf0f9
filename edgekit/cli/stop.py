"""`edgekit stop`: end a running `edgekit run` in an orderly way."""

from __future__ import annotations

import typer

from edgekit.cli.find_run import RunOption, SiteOption, SocketOption

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: edgekit stop --site trolley.toml")
def stop(run: RunOption = None, site: SiteOption = None, socket: SocketOption = None) -> None:
    """Finish the tile in hand, close the database and end; what waits is worked off at the next start.

    Under systemd use `systemctl stop edgekit`: a run that is ended from here may be started again.
    """
    from edgekit.cli.find_run import tell
    from edgekit.runtime.control import Stop

    tell(Stop(), run, site, socket)
