"""The command `edgekit`: the table of its commands, and what becomes of an error."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import ClassVar

import typer

from edgekit import __version__
from edgekit.cli.group import LazyGroup
from edgekit.errors import EdgekitError

RESUMED = frozenset({"run", "rerun", "sync"})
"""Commands that go on where they were cut; the others begin anew."""


class Commands(LazyGroup):
    """All commands of edgekit."""

    table: ClassVar[dict[str, tuple[str, str]]] = {
        "demo": ("edgekit.cli.demo", "Count a row that comes with edgekit; see the true count."),
        "run": ("edgekit.cli.run", "Count the fruit of a row: video, frames or panorama."),
        "row": ("edgekit.cli.row", "Open and close the rows of a running edgekit run."),
        "status": ("edgekit.cli.status", "Show how a running edgekit run is."),
        "stop": ("edgekit.cli.stop", "End a running edgekit run in an orderly way."),
        "count": ("edgekit.cli.count", "Count a finished run again at another threshold."),
        "rerun": ("edgekit.cli.rerun", "Segment a run's panoramas again with another model."),
        "panorama": ("edgekit.cli.panorama", "Build or give out the panorama of a row alone."),
        "camera": ("edgekit.cli.camera", "Check a camera, calibrate its lens, print boards and markers."),
        "export": ("edgekit.cli.export", "Make an ONNX graph or a TensorRT engine."),
        "parity": ("edgekit.cli.parity", "Compare two artifacts of one model on real tiles."),
        "calibrate": ("edgekit.cli.calibrate", "Set the season's confidence threshold from labels."),
        "bench": ("edgekit.cli.bench", "Measure what a model costs and how good it is."),
        "sync": ("edgekit.cli.sync", "Copy runs to a folder, SFTP or S3; send counts to a broker."),
        "runs": ("edgekit.cli.runs", "List runs; delete finished ones by days and space."),
        "models": ("edgekit.cli.models", "Install models and profiles, activate one, roll back."),
        "doctor": ("edgekit.cli.doctor", "Is this machine ready? Each line ok, unchecked, warning or fault."),
        "bundle": ("edgekit.cli.bundle", "All that installs edgekit without a network, in one folder."),
        "init": ("edgekit.cli.init", "Write recipes and site files into a folder, to edit."),
    }


app = typer.Typer(
    cls=Commands,
    epilog="Example: edgekit run row12.mp4 --out runs/row12",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"edgekit {__version__}")
        raise typer.Exit


@app.callback()
def _edgekit(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Show the version."),
) -> None:
    """Fruit instance segmentation on a trolley between greenhouse rows.

    A file that is there already is overwritten only with --force, save a graph or engine that is exported again. Runs,
    panoramas, sessions and bundles never are: name a new folder; a season's profile that a newer one replaces stays
    beside it (.old).
    """


def main() -> None:
    """Run the command line: an EdgekitError is one line and its exit code, anything else a bug that shows its trace."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        app()
    except EdgekitError as error:
        typer.echo(f"edgekit: {error}", err=True)
        sys.exit(error.exit_code)


def _stop(number: int, frame: FrameType | None) -> None:
    """End as after an error, so that databases and threads are closed; what was finished is kept."""
    words = sys.argv[1:]
    goes_on = bool(words) and words[0] in RESUMED
    then = "the same command goes on from there" if goes_on else "nothing of it is resumed: start it again"
    typer.echo(f"edgekit: stopped (SIGTERM); {then}", err=True)
    sys.exit(128 + number)
