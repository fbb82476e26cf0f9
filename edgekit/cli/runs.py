"""`edgekit runs`: the runs of a folder, and which of them go."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from edgekit.runtime.retention.choose import Pruning, Removal
    from edgekit.runtime.retention.listing import RunOnDisk
    from edgekit.runtime.retention.settings import RetentionSettings

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="List runs; delete finished ones by days and space.",
    epilog="Example: edgekit runs prune runs --keep-days 30 --delete",
)

FolderArgument = Annotated[Path | None, typer.Argument(metavar="FOLDER", help="Folder of the runs.")]


@app.command("list", epilog="Example: edgekit runs list runs")
def list_(
    folder: FolderArgument = None,
    site: Annotated[Path | None, typer.Option(help="Site file, whose folder of runs is meant.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """The runs of a folder, the oldest first: their state, size, and where else they lie."""
    from edgekit.cli.ui import print_json
    from edgekit.runtime.retention.listing import runs_below

    folder, _ = _of_site(site, folder)
    runs = runs_below(folder)
    if as_json:
        print_json([_plain(run) for run in runs])
        return
    for run in runs:
        typer.echo(_line(run))
    typer.echo(f"{len(runs)} runs, {sum(run.size_bytes for run in runs) / 1e9:.2f} GB in {folder}")


@app.command(epilog="Example: edgekit runs prune runs --keep-days 30 --keep-gb 50 --delete")
def prune(
    folder: FolderArgument = None,
    site: Annotated[Path | None, typer.Option(help="Site file, whose folder and [retention] hold.")] = None,
    keep_days: Annotated[float | None, typer.Option(help="Days for which finished runs are kept.")] = None,
    keep_gb: Annotated[float | None, typer.Option(help="GB that all runs may take together.")] = None,
    free_gb: Annotated[float | None, typer.Option(help="GB that are to be free on the disk.")] = None,
    least: Annotated[int | None, typer.Option(help="Newest finished runs that stay; default 3.")] = None,
    unsynchronised: Annotated[
        bool, typer.Option("--include-unsynchronised", help="Delete runs that lie nowhere else, too; last of all.")
    ] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Do it; without this it is only shown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show which finished runs are too old or too large to be kept; with --delete, delete them.

    Synchronised runs go first, the oldest before the others; a run that lies nowhere else stays, unless
    --include-unsynchronised is given. Runs that are open, damaged or in use are never touched. What is deleted is
    written to deleted-runs.jsonl beside the runs.
    """
    from edgekit.cli.ui import print_json
    from edgekit.runtime.retention.choose import choose
    from edgekit.runtime.retention.listing import runs_below

    root, settings = _of_site(site, folder)
    asked = {"keep_days": keep_days, "keep_gb": keep_gb, "free_gb": free_gb, "least": least}
    asked["unsynchronised"] = "delete" if unsynchronised else None  # type: ignore[assignment]
    settings = _with(settings, {name: value for name, value in asked.items() if value is not None})
    free = shutil.disk_usage(root).free if root.is_dir() else None
    choice = choose(runs_below(root), settings, now=datetime.now(timezone.utc), free_bytes=free)
    failed = _delete(root, choice) if delete else {}
    if as_json:
        print_json(_told(choice, failed, delete))
    else:
        _print(choice, failed, delete)
    if failed:
        raise typer.Exit(1)


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise typer.BadParameter(f"there is no folder {folder}")


def _of_site(site: Path | None, folder: Path | None) -> tuple[Path, RetentionSettings]:
    from edgekit.runtime.live.site import read_site
    from edgekit.runtime.retention.settings import RetentionSettings

    if site is None:
        folder = folder or Path("runs")
        _check_folder(folder)
        return folder, RetentionSettings()
    if folder is not None:
        raise typer.BadParameter("the site file names the folder of the runs")
    settings = read_site(site)
    return settings.out, settings.retention


def _with(settings: RetentionSettings, changes: dict[str, Any]) -> RetentionSettings:
    from dataclasses import replace

    from edgekit.errors import SettingsError

    changed = replace(settings, **changes)
    if changed.keep_days is None and changed.keep_gb is None and changed.free_gb is None:
        raise SettingsError(
            "no limit is set", mend="give --keep-days, --keep-gb or --free-gb, or a table [retention] in the site file"
        )
    return changed


def _delete(root: Path, choice: Pruning) -> dict[str, str]:
    """Delete what was chosen; return what could not be, by name."""
    from edgekit.errors import EdgekitError
    from edgekit.runtime.retention.remove import finish_removals, remove_run

    def fault(removal: Removal) -> str | None:
        try:
            remove_run(removal)
        except EdgekitError as error:
            return error.what
        return None

    finish_removals(root)
    faults = {removal.run.path.name: fault(removal) for removal in choice.removals}
    return {name: what for name, what in faults.items() if what is not None}


def _print(choice: Pruning, failed: dict[str, str], delete: bool) -> None:
    for removal in choice.removals:
        fault = failed.get(removal.run.path.name)
        word = ("deleted" if fault is None else "failed") if delete else "goes"
        typer.echo(f"{word:7} {_line(removal.run)}  {fault or removal.reason}")
    for removal in choice.held:
        typer.echo(f"{'stays':7} {_line(removal.run)}  {removal.reason}")
    freed = sum(item.run.size_bytes for item in choice.removals if item.run.path.name not in failed)
    typer.echo(f"{freed / 1e9:.2f} GB {'freed' if delete else 'would be freed'}")
    if choice.missing_bytes:
        typer.echo(f"note: {choice.missing_bytes / 1e9:.2f} GB are still missing: no more runs may go", err=True)
    if choice.removals and not delete:
        typer.echo("nothing was deleted: add --delete")


def _told(choice: Pruning, failed: dict[str, str], delete: bool) -> dict[str, Any]:
    def told(run: RunOnDisk, reason: str) -> dict[str, Any]:
        return {**_plain(run), "reason": reason, "fault": failed.get(run.path.name)}

    return {
        "deleted": delete,
        "removals": [told(item.run, item.reason) for item in choice.removals],
        "held": [told(item.run, item.reason) for item in choice.held],
        "missing_bytes": choice.missing_bytes,
    }


def _plain(run: RunOnDisk) -> dict[str, Any]:
    return {
        "run": str(run.path),
        "state": run.state,
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "rows": run.rows,
        "bytes": run.size_bytes,
        "pictures_bytes": run.pictures_bytes,
        "synchronised_to": list(run.targets),
    }


def _line(run: RunOnDisk) -> str:
    ended = run.finished_at.strftime("%Y-%m-%d %H:%M") if run.finished_at else "-"
    where = f"at {len(run.targets)} target{'s' if len(run.targets) > 1 else ''}" if run.targets else "only here"
    return f"{run.path.name:20}  {run.state:8}  {ended:16}  {run.size_bytes / 1e6:9.1f} MB  {where:12}"
