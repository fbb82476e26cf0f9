"""A snapshot in plain words."""

from __future__ import annotations

from edgekit.runtime.watch.snapshot import CameraStatus, RowStatus, Snapshot


def one_line(now: Snapshot) -> str:
    """The run in one line: for `systemctl status`, and for logs."""
    parts = ["ending" if now.stopping else now.starting or now.health, *(row_words(row) for row in now.rows)]
    parts += [f"{now.fruit} fruit in all", lag_words(now)]
    parts += [
        f"{camera.name} {camera.state}" for camera in now.cameras if camera.state not in ("ok", "starting", "idle")
    ]
    return ", ".join(parts)


def row_words(row: RowStatus) -> str:
    """A side in a few words."""
    if row.row is None:
        return f"{row.side}: between rows"
    return f"{row.side}: row {row.row}" + ("" if row.fruit is None else f", {row.fruit} fruit")


def lag_words(now: Snapshot) -> str:
    """How far the model is behind the cameras."""
    if now.backlog_tiles == 0:
        return "no tiles wait"
    tiles = "1 tile waits" if now.backlog_tiles == 1 else f"{now.backlog_tiles} tiles wait"
    return f"{tiles}, the oldest for {duration_words(now.lag_s)}"


def rate_words(camera: CameraStatus) -> str:
    """Frames a second."""
    return "-" if camera.rate_hz is None else f"{camera.rate_hz:.1f} /s"


def duration_words(seconds: float) -> str:
    """A duration as a person says it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def bytes_words(count: int) -> str:
    """A size in GB (powers of ten, as drives are sold)."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def printable(text: str) -> str:
    """Text without line ends and control characters: what a camera or a marker says cannot fake lines of its own."""
    return "".join(character if character.isprintable() else " " for character in text)
