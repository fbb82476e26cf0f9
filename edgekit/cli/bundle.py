"""`edgekit bundle`: what installs edgekit where there is no network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import typer

from edgekit.cli.group import BareGroup


class _BundleGroup(BareGroup):
    bare_form: ClassVar[str] = "make"


app = typer.Typer(
    cls=_BundleGroup,
    add_completion=False,
    help="Make and check bundles: everything that installs edgekit where there is no network.",
    epilog="Example: edgekit bundle --out bundle-jp6 --python 3.10",
)


@app.command(epilog="Example: edgekit bundle --out bundle-jp6 --python 3.10 --model models/fruit.onnx")
def make(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the bundle; must not be there yet.")],
    python: Annotated[str, typer.Option(help="Python of the device: 3.10 (JetPack 6) or 3.12 (JetPack 7).")] = "3.10",
    platform: Annotated[str, typer.Option(help="Its processor: aarch64 or x86_64.")] = "aarch64",
    models: Annotated[
        list[Path] | None,
        typer.Option("--model", help="Graph to take along; again for more. Default: the fruit model."),
    ] = None,
    site: Annotated[
        Path | None, typer.Option(help="Folder with your site file and cameras; default: templates.")
    ] = None,
    wheel: Annotated[Path | None, typer.Option(help="Wheel of edgekit; default: built from this checkout.")] = None,
    find_links: Annotated[
        Path | None, typer.Option(help="Folder with further wheels, such as pycuda for Jetson.")
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Use the wheels in --find-links alone.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what the bundle holds as JSON.")] = False,
) -> None:
    """Put edgekit, all wheels it needs, models, site files and the installer into one folder, with digests.

    Carry the folder to the device and run `sudo ./install.sh` in it.
    """
    from edgekit.bundle import BundleContents, BundleTarget, build_bundle
    from edgekit.cli.ui import print_json, progress

    target = BundleTarget(python, platform)
    contents = BundleContents(tuple(models or ()), site, wheel, find_links, offline)
    with progress(quiet=quiet or as_json) as report:
        info = build_bundle(out, target, contents, report=report)
    if as_json:
        print_json(info)
        return
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    wheels = sum(1 for _ in (out / "wheels").iterdir())
    typer.echo(f"{out}: {wheels} wheels for Python {python} on {platform}, {size / 2**20:.0f} MiB")
    typer.echo("on the device: sudo ./install.sh")


@app.command(epilog="Example: edgekit bundle verify bundle-jp6")
def verify(
    folder: Annotated[Path, typer.Argument(metavar="BUNDLE", help="Folder of a bundle.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the differences as JSON.")] = False,
) -> None:
    """Compare every file of a bundle with its digest; ends with 1 where one is missing, changed or more."""
    from edgekit.bundle import differences
    from edgekit.cli.ui import print_json

    found = differences(folder)
    if as_json:
        print_json({"whole": not found, "differences": found})
    else:
        typer.echo("\n".join(found) or f"{folder} is whole")
    raise typer.Exit(1 if found else 0)
