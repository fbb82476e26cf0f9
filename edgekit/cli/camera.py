"""`edgekit camera`: look at a camera, calibrate its lens, even its light, print boards and markers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgekit.cli.ui import ForceOption

if TYPE_CHECKING:
    from edgekit.runtime.camera.boards import Board
    from edgekit.runtime.camera.check import CameraCheck

app = typer.Typer(
    help="Look at a camera, calibrate its lens, even its light, print boards and markers.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command(epilog="Example: edgekit camera check runtime/cameras/usb.toml --picture now.png")
def check(
    camera: Annotated[Path, typer.Argument(metavar="CAMERA.toml", help="Description of the camera.")],
    seconds: Annotated[float, typer.Option(min=0.5, help="For how long it is read.")] = 5.0,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="Where the last picture goes, upright (.png, .jpg); default: beside CAMERA.toml, over the last one."
        ),
    ] = None,
    force: ForceOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was measured as JSON.")] = False,
) -> None:
    """Open a camera for some seconds: rate, drops, sharpness, brightness; a picture of what it sees is kept."""
    from dataclasses import asdict

    from edgekit.cli.ui import print_json, tell
    from edgekit.runtime.camera.check import check_camera
    from edgekit.runtime.camera.optics import optics_of
    from edgekit.runtime.sources import LiveSettings, open_camera, read_camera
    from edgekit.runtime.sources.description import require_file
    from edgekit.runtime.write_picture import write_picture

    description = read_camera(camera)
    require_file(description)
    optics = optics_of(description)
    target = picture or camera.with_suffix(".png")
    _prepare_picture(target, force=force or picture is None)
    source = open_camera(description, settings=LiveSettings(give_up_s=6.0), told=tell)
    tell(f"opening {source.name}")
    found, image = check_camera(source, seconds)
    write_picture(target, image)
    if optics is not None:  # so that a calibration for pictures of another shape is told here, and not on the row
        optics.read(image, (0.0, 0.0), found.size_wh)
    if as_json:
        print_json(asdict(found))
        return
    _tell(found)
    typer.echo(f"wrote {target}")


@app.command(epilog="Example: edgekit camera calibrate pictures --board charuco --squares 8 6 --out lens.toml")
def calibrate(
    pictures: Annotated[Path, typer.Argument(help="Folder of pictures of the board, as the camera check saves them.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the lens goes (TOML), for `lens` of a camera.")],
    board: Annotated[str, typer.Option(help="charuco or chessboard.")] = "charuco",
    squares: Annotated[tuple[int, int], typer.Option(help="Columns and rows of squares.")] = (8, 6),
    coverage: Annotated[
        Path | None, typer.Option(help="Picture of where corners were seen, with errors; default: beside --out.")
    ] = None,
    force: ForceOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no result lines.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the calibration as JSON.")] = False,
) -> None:
    """Find the distortion of a lens from a dozen or more pictures of a board, at many places and slants."""
    from dataclasses import asdict

    import tomli_w

    from edgekit.atomic import write_atomic
    from edgekit.cli.ui import prepare_outputs, print_json, progress, warn
    from edgekit.runtime.camera.calibrate import calibrate as calibrated
    from edgekit.runtime.sources.folder import picture_paths
    from edgekit.runtime.write_picture import write_picture

    seen = coverage or out.with_suffix(".png")
    prepare_outputs(out, force=force)
    _prepare_picture(seen, force=force)
    with progress(quiet=quiet) as report:
        found = calibrated(picture_paths(pictures), _board(board, squares), progress=report)
    lens = asdict(found.lens)
    write_atomic(out, tomli_w.dumps(lens).encode())
    write_picture(seen, found.coverage)
    if as_json:
        print_json(
            {
                "lens": lens,
                "covered": found.covered._asdict(),
                "views": dict(found.errors_px),
                "left_out": found.left_out,
            }
        )
    elif not quiet:
        warn(f"{name} was left out: {why}" for name, why in found.left_out)
        typer.echo(
            f"{found.lens.rms_px:.3f} px rms over {found.lens.views} views; corners span"
            f" {100 * found.covered.spanned:.0f} % of the picture, and lie in {100 * found.covered.cells:.0f} % of the"
            f" cells of a 4 x 4 grid; wrote {out} and {seen}"
        )


@app.command("flat-field", epilog="Example: edgekit camera flat-field row12.mp4 --out white.png")
def flat_field(
    source: Annotated[Path, typer.Argument(help="A ride along a row: a video or a folder of frames.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Picture (.png, .jpg), for `flat_field` of a camera.")],
    force: ForceOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No result line.")] = False,
) -> None:
    """Estimate the fall-off of light towards the corners from a ride, where no white board is at hand."""
    from edgekit.errors import SettingsError
    from edgekit.runtime.camera.flat_field import board_from_row, gain_of_board
    from edgekit.runtime.sources import LiveSource, open_source
    from edgekit.runtime.write_picture import write_picture

    _prepare_picture(out, force=force)
    ride = open_source(source)
    if isinstance(ride, LiveSource):
        raise SettingsError(f"{source} is a camera, whose ride has no end", mend="record a ride, and give the video")
    board = board_from_row(ride)
    write_picture(out, board)
    if not quiet:
        corner = float(gain_of_board(board)[0, 0, 0])
        typer.echo(f"the corners get {100 / corner:.0f} % of the middle's light; wrote {out}")


@app.command(epilog="Example: edgekit camera board --out board.png, printed at full size on a stiff plate")
def board(
    out: Annotated[Path, typer.Option("--out", "-o", help="Picture (.png, .jpg).")],
    kind: Annotated[str, typer.Option("--board", help="charuco or chessboard.")] = "charuco",
    squares: Annotated[tuple[int, int], typer.Option(help="Columns and rows of squares.")] = (8, 6),
    square_px: Annotated[int, typer.Option(min=20, max=1000, help="Side of a square in the picture.")] = 200,
    force: ForceOption = False,
) -> None:
    """Draw a board for `edgekit camera calibrate`."""
    import numpy as np

    from edgekit.runtime.write_picture import write_picture

    _prepare_picture(out, force=force)
    write_picture(out, np.repeat(_board(kind, squares).picture(square_px)[:, :, None], 3, axis=2))
    typer.echo(f"wrote {out}")


@app.command(epilog="Example: edgekit camera marker row:12:left --out row12.png")
def marker(
    text: Annotated[str, typer.Argument(help="row:NAME, row:NAME:left|right, with :start or :end where it matters.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Picture (.png, .jpg).")],
    side_px: Annotated[int, typer.Option(min=100, max=5000, help="Side of the picture.")] = 1000,
    force: ForceOption = False,
) -> None:
    """Draw a marker (QR code) that opens and closes a row."""
    from edgekit.errors import SettingsError
    from edgekit.runtime.markers.payload import parse_payload
    from edgekit.runtime.markers.printing import qr_picture
    from edgekit.runtime.write_picture import write_picture

    mark = parse_payload(text)
    if mark is None:
        raise SettingsError(f"{text!r} names no row", mend="write row:12, row:12:left or row:12:left:start")
    _prepare_picture(out, force=force)
    write_picture(out, qr_picture(text, side_px))
    acts = "opens the row at its first sight and closes it at the next"
    acts = {"start": "opens the row", "end": "closes the row"}.get(mark.end or "", acts)
    typer.echo(f"wrote {out}: row {mark.row}, {mark.side or 'both sides'}, {mark.end or 'start and end'}: {acts}")


def _board(kind: str, squares: tuple[int, int]) -> Board:
    from edgekit.errors import SettingsError
    from edgekit.runtime.camera.boards import Board

    if kind not in ("charuco", "chessboard"):
        raise SettingsError(f"--board is {kind!r}", mend="choose charuco or chessboard")
    return Board("charuco" if kind == "charuco" else "chessboard", squares)


def _prepare_picture(path: Path, *, force: bool) -> None:
    """What cannot be written is told before the work.

    Raises:
        SettingsError: an ending other than .png and .jpg, or the file is there already.
        StorageError: the file cannot be written.
    """
    from edgekit.cli.ui import prepare_outputs
    from edgekit.runtime.write_picture import picture_suffix

    picture_suffix(path)
    prepare_outputs(path, force=force)


def _tell(found: CameraCheck) -> None:
    width, height = found.size_wh
    rate = "" if found.rate_hz is None else f", {found.rate_hz:.1f} frames/s"
    lost = found.missing - found.dropped
    outages = f", {lost} missed in outages" if lost > 0 else ""
    typer.echo(
        f"{width} x {height} px{rate}: {found.frames} frames seen in {found.seconds:.1f} s, {found.dropped} came too"
        f" late{outages}; the first after {found.first_frame_s:.1f} s, longest pause"
        f" {1000 * found.longest_pause_s:.0f} ms"
    )
    if found.brightness is not None and found.sharpness is not None:
        typer.echo(
            f"brightness {found.brightness:.0f} of 255 ({100 * found.dark_share:.1f} % black,"
            f" {100 * found.bright_share:.1f} % blown out), fine detail {found.sharpness:.2f}"
        )
    for warning in found.warnings:
        typer.echo(f"warning: {warning}")
