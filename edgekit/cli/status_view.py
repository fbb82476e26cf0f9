"""The live view: one snapshot as tables and lines of text."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from edgekit.runtime.watch import CameraStatus, DeviceStatus, Level, RowStatus, Snapshot, StageStatus
from edgekit.runtime.watch.words import bytes_words, duration_words, lag_words, printable, rate_words

_STYLES: dict[Level, str] = {"ok": "bold green", "degraded": "bold yellow", "fault": "bold red"}
_HEALTH: dict[Level, str] = {"ok": "all is well", "degraded": "it counts, but somebody should look", "fault": "FAULT"}


def view(now: Snapshot, *, silent: str = "") -> RenderableType:
    """The whole view.

    Args:
        now: the run's state.
        silent: why there is no newer state; empty while there is.
    """
    parts: list[RenderableType] = [_title(now, silent), _cameras(now.cameras), _rows(now.rows), _counts(now)]
    parts += [_device(now.device), *_model(now), *_stages(now.stages), *_problems(now)]
    return Group(*parts)


def _title(now: Snapshot, silent: str) -> Text:
    line = Text.assemble((printable(now.run), "bold"), f", up for {duration_words(now.uptime_s)}: ")
    if silent:
        return line.append(printable(silent), "bold red")
    if now.stopping:
        return line.append("ending: what is in hand is being finished", "bold yellow")
    if now.starting is not None:
        return line.append(printable(now.starting), "bold yellow")
    return line.append(_HEALTH[now.health], _STYLES[now.health])


def _cameras(cameras: Iterable[CameraStatus]) -> Table:
    table = _table("camera", "side", "state", "rate", "frames", "dropped", "outages", "last frame")
    for camera in cameras:
        style = "green" if camera.state == "ok" else "yellow" if camera.state in ("starting", "idle") else "red"
        age = "none yet" if camera.frame_age_s is None else f"{duration_words(camera.frame_age_s)} ago"
        table.add_row(
            printable(camera.name), camera.side, Text(camera.state, style), rate_words(camera),
            str(camera.frames), str(camera.dropped), str(camera.faults), age,
        )  # fmt: skip
    return table


def _rows(rows: Iterable[RowStatus]) -> Table:
    table = _table("side", "row", "open for", "frames", "tiles", "fruit", "driven")
    for row in rows:
        if row.row is None:
            table.add_row(row.side, Text("between rows", "dim"), "", "", "", "", "")
            continue
        driven = "" if row.length_m is None else f"{row.length_m:.1f} m"
        open_for = "" if row.open_s is None else duration_words(row.open_s)
        fruit = "when it ends" if row.fruit is None else str(row.fruit)
        table.add_row(row.side, printable(row.row), open_for, str(row.frames), str(row.tiles), fruit, driven)
    return table


def _counts(now: Snapshot) -> Text:
    rows = "1 row" if now.rows_done == 1 else f"{now.rows_done} rows"
    return Text(f"{now.fruit} fruit, {rows} closed, {now.tiles} tiles segmented; {lag_words(now)}")


def _device(device: DeviceStatus) -> Text:
    words = [f"{printable(name)} {value:.0f} C" for name, value in device.temperatures_c.items()]
    words += [f"{device.power_w:.1f} W"] if device.power_w is not None else []
    words += [f"mode {printable(device.power_mode)}"] if device.power_mode else []
    words += [f"{bytes_words(device.free_bytes)} free"] if device.free_bytes is not None else []
    words += [f"{device.memory_mb:.0f} MiB in use by the run"] if device.memory_mb is not None else []
    return Text(f"device: {', '.join(words) or 'not read yet'}")


def _model(now: Snapshot) -> Iterable[Text]:
    model = now.model
    if model is not None:
        why = f" ({printable(model.reason)})" if model.reason else ""
        line = f"model: {printable(model.model)} on {printable(model.effective)}{why}"
        line += "" if model.threshold is None else f", counts from {model.threshold:.2f}"
        line += f", season {printable(model.season)}" if model.season else ""
        yield Text(line)
        if model.drift:
            yield Text(f"season: {printable(model.drift)}")
    if now.gap is not None:
        length = "" if now.gap.seconds is None else f", {duration_words(now.gap.seconds)} without counting"
        yield Text(f"last start: {printable(now.gap.what)}{length}")


def _stages(stages: Iterable[StageStatus]) -> Iterable[Text]:
    words = [f"{stage.name} {1e3 * stage.total_s / stage.count:.1f}" for stage in stages if stage.count]
    if words:
        yield Text(f"mean ms a pass: {', '.join(words)}", "dim")


def _problems(now: Snapshot) -> Iterable[Text]:
    for problem in now.problems:
        yield Text(f"! {printable(problem.text)}", _STYLES[problem.level])


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in names:
        table.add_column(name, justify="left" if name in ("camera", "side", "row", "state") else "right")
    return table
