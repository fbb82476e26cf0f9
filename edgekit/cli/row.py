"""`edgekit row`: open and close the rows of a running `edgekit run` from another terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from edgekit.cli.find_run import RunOption, SiteOption, SocketOption

app = typer.Typer(
    add_completion=False, help="Open and close the rows of a run that is under way.", no_args_is_help=True
)


@app.command(epilog="Example: edgekit row start 12 --side left")
def start(
    row: Annotated[str, typer.Argument(help="Name of the row: letters, digits, '-', '_' and '.'.")],
    side: Annotated[str | None, typer.Option(help="Side of the trolley; needed where the site has several.")] = None,
    run: RunOption = None,
    site: SiteOption = None,
    socket: SocketOption = None,
) -> None:
    """Open a row: what the side's camera sees from now on belongs to it. A row that is open there is closed first."""
    from edgekit.cli.find_run import tell
    from edgekit.runtime.control import RowStart, row_name

    tell(RowStart(row_name(row), side), run, site, socket)


@app.command(epilog="Example: edgekit row stop --side left")
def stop(
    side: Annotated[str | None, typer.Option(help="Side of the trolley; without it every open row ends.")] = None,
    run: RunOption = None,
    site: SiteOption = None,
    socket: SocketOption = None,
) -> None:
    """Close the open row: its last tiles are worked off, its fruit merged."""
    from edgekit.cli.find_run import tell
    from edgekit.runtime.control import RowStop

    tell(RowStop(side), run, site, socket)
