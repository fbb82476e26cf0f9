"""`edgekit init`: the files that a person edits, written into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: edgekit init my-greenhouse")
def init(
    folder: Annotated[Path, typer.Argument(help="Folder to write into; made where it is missing.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there already.")] = False,
) -> None:
    """Write recipes (export/), site file, run settings and cameras (runtime/), ready to edit.

    Season profiles are not among them: `edgekit calibrate fit` makes them.
    """
    from edgekit.templates import write_templates

    written, kept = write_templates(folder, overwrite=force)
    for path in written:
        typer.echo(f"wrote {path}")
    for path in kept:
        typer.echo(f"kept  {path} (it was there; --force overwrites it)")
