"""`edgekit sync`: runs to a target, counts to a broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from edgekit.sync import SyncSettings

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: edgekit sync --all sftp://office/harvest --mqtt mqtt://office/greenhouse/rows")
def sync(
    places: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN...] [TARGET]", help="Folders of runs (none with --all); target.")
    ] = None,
    all_runs: Annotated[bool, typer.Option("--all", help="All runs in --runs.")] = False,
    runs: Annotated[
        Path | None, typer.Option(help="Folder that holds the runs, for --all; default: that of --site, or runs.")
    ] = None,
    site: Annotated[Path | None, typer.Option(help="Site file whose sync table names target and broker.")] = None,
    mqtt: Annotated[
        str | None, typer.Option(help="Broker for the count of each row: mqtt://host[:port]/topic.")
    ] = None,
    options: Annotated[Path | None, typer.Option(help="TOML file of the target's keys and endpoints (fsspec).")] = None,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Send finished panorama segments of a run that still goes on.")
    ] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Compare again what was verified before.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no result lines.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Copy runs to a folder, SFTP or S3, and send the count of each row to an MQTT broker.

    Both may be cut at any moment: the same command goes on, sends nothing twice, and ends with each file verified by
    its digest. TARGET is a folder or a URL, such as /media/usb, sftp://host/folder or s3://bucket/folder; with --mqtt
    or --site it may be left out.
    """
    from edgekit.cli.ui import print_json, progress

    settings = _settings(site, mqtt, options, unfinished)
    if all_runs and site is None and not (folder := runs or Path("runs")).is_dir():
        raise typer.BadParameter(f"there is no folder {folder}: name the one that holds the runs with --runs")
    request = _request(places or [], all_runs, runs or _runs_of(site), settings)
    with progress(quiet=quiet or as_json) as report:
        done = _Done(request, verify, report)
        done.send()
        done.deliver()
    if as_json:
        print_json(done.as_dict())
    elif not quiet:
        done.print()
    if done.failures:
        raise typer.Exit(done.failures[0][2])


@dataclass(frozen=True)
class _Request:
    runs: list[Path]
    every: bool
    """Whether the runs were found in a folder, not named."""
    settings: SyncSettings


class _Done:
    """What a sync does, and what became of it: a run that fails does not keep the others."""

    def __init__(self, request: _Request, verify: bool, report: Any) -> None:
        self._request, self._verify, self._report = request, verify, report
        self._sent: list[Any] = []
        self._deliveries: list[Any] = []
        self._waiting: list[str] = []
        self.failures: list[tuple[str, str, int]] = []
        """Run or broker, what is wrong, exit code."""

    def send(self) -> None:
        """The runs to the target."""
        from edgekit.sync import SendSettings, Target, send_run
        from edgekit.sync.private_files import read_options

        settings = self._request.settings
        if settings.target is None:
            return
        target = Target(settings.target, read_options(settings.options_file))
        if target.folder is not None:  # told even where there is nothing to send
            with self._kept_apart(settings.target):
                target.check_place()
            if self.failures:
                return
        how = SendSettings(settings.unfinished, self._verify, settings.retry)
        for run in self._request.runs:
            if self._request.every and not settings.unfinished and not _is_finished(run):
                self._waiting.append(str(run))
                continue
            with self._kept_apart(str(run)):
                self._sent.append(send_run(run, target, how, report=self._report))

    def deliver(self) -> None:
        """The counts to the broker."""
        from edgekit.errors import SyncError
        from edgekit.sync.deliver import deliver_kept, keep_counts

        settings = self._request.settings.mqtt
        if settings is None:
            return
        for run in self._request.runs:
            with self._kept_apart(str(run)):
                keep_counts(run, settings)
        for folder in dict.fromkeys(run.resolve().parent for run in self._request.runs):
            with self._kept_apart(settings.url):
                delivery = deliver_kept(folder, settings, report=self._report)
                self._deliveries.append(delivery)
                if delivery.waiting:
                    raise SyncError(f"{delivery.waiting} counts wait: {delivery.reason}", mend="sync again later")

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        failures = [{"what": what, "error": error} for what, error, _ in self.failures]
        return {
            "runs": [asdict(item) for item in self._sent],
            "unfinished": self._waiting,
            "mqtt": [asdict(item) for item in self._deliveries],
            "failures": failures,
        }

    def print(self) -> None:
        """For persons."""
        for item in self._sent:
            state = "complete" if item.complete else "unfinished"
            line = f"{item.run}: {item.files} files at {item.target}, {item.sent} sent now"
            typer.echo(f"{line} ({item.sent_bytes / 2**20:.1f} MiB in {item.seconds:.1f} s), {state}")
        for run in self._waiting:
            typer.echo(f"{run}: left, it is not finished")
        if self._waiting and not self._sent:
            typer.echo(
                "nothing was sent: `edgekit stop --finish` finishes the run of a trolley that goes on; then sync again"
            )
        if not self._request.runs:
            typer.echo("there are no runs yet")
        for item in self._deliveries:
            typer.echo(f"{item.broker}: {item.acknowledged} counts acknowledged, {item.waiting} wait")
        for what, error, _ in self.failures:
            typer.echo(f"edgekit: {error}" if what in error else f"edgekit: {what}: {error}", err=True)

    @contextmanager
    def _kept_apart(self, what: str) -> Iterator[None]:
        from edgekit.errors import EdgekitError

        try:
            yield
        except EdgekitError as error:
            self.failures.append((what, str(error), error.exit_code))


def _settings(site: Path | None, mqtt: str | None, options: Path | None, unfinished: bool) -> SyncSettings:
    """The table [sync] of the site file, and the command line over it."""
    from edgekit.settings_file import read_toml, settings_from
    from edgekit.sync import SyncSettings
    from edgekit.sync.mqtt import broker_of, settings_from_url

    settings = SyncSettings()
    if site is not None:
        table = read_toml(site).get("sync", {})
        settings = settings_from(table, SyncSettings, within="sync.").within(site.resolve().parent)
    broker = settings.mqtt if mqtt is None else settings_from_url(mqtt, settings.mqtt)
    if broker is not None:
        broker_of(broker)
    return replace(
        settings,
        mqtt=broker,
        options_file=options or settings.options_file,
        unfinished=unfinished or settings.unfinished,
    )


def _runs_of(site: Path | None) -> Path:
    from edgekit.settings_file import read_toml

    out = None if site is None else read_toml(site).get("out")
    return site.resolve().parent / out if site is not None and isinstance(out, str) else Path("runs")


def _request(places: list[str], all_runs: bool, folder: Path, settings: SyncSettings) -> _Request:
    """Which of the arguments are runs, and which is the target.

    Raises:
        BadParameter: runs and --all together, or neither; nowhere to send to.
    """
    from edgekit.store import RunFolder

    named = [Path(place) for place in places if RunFolder(Path(place)).database.is_file()]
    rest = [place for place in places if Path(place) not in named]
    if len(rest) > 1:
        raise typer.BadParameter(f"{rest[0]} is no run, and only one target can be named ({rest[-1]})")
    if rest:
        settings = replace(settings, target=rest[0])
    if settings.target is None and settings.mqtt is None:
        raise typer.BadParameter("nowhere to send to: name a TARGET, --mqtt, or a --site with a table [sync]")
    if all_runs == bool(named):
        raise typer.BadParameter("name the folders of runs, or --all")
    if all_runs:
        named = sorted(path.parent for path in folder.glob(f"*/{RunFolder(folder).database.name}"))
    return _Request(named, all_runs, settings)


def _is_finished(run: Path) -> bool:
    from edgekit.errors import EdgekitError
    from edgekit.store import RunFolder, RunReader

    try:
        with closing(RunReader.open(RunFolder(run).database)) as reader:
            stored = reader.run_or_none()
            return stored is not None and stored.finished
    except EdgekitError:
        return True  # sending it tells what is wrong
