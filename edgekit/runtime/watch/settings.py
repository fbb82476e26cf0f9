"""What a site file says about watching."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from edgekit.errors import SettingsError

SHORTEST_TOKEN = 16
"""Characters of a token: with 64 signs that is 96 bits, which nobody guesses over a network."""


@dataclass(frozen=True)
class MetricsSettings:
    """The port for Prometheus and for health checks."""

    port: int = 9109
    """TCP port; 0: any that is free."""
    host: str = "127.0.0.1"
    """Address to listen at. Anything but this machine itself needs a token."""
    token: str | None = None
    """What a reader must send as `Authorization: Bearer TOKEN`."""
    token_file: Path | None = None
    """A file that holds the token, so that it is not in the site file."""
    enabled: bool = True
    """False: no port is opened."""

    def __post_init__(self) -> None:
        """Refuse what would open the device to others.

        Raises:
            SettingsError: a port or host that is none, a host beyond loopback without a token, a short token.
        """
        if not 0 <= self.port <= 65535:
            raise SettingsError(f"metrics.port = {self.port}", mend="a port is 0 (any) to 65535")
        if self.token is not None and self.token_file is not None:
            raise SettingsError("metrics has a token and a token_file", mend="keep one of them")
        if self.token is not None:
            _check_token(self.token)
        if not is_loopback(self.address) and self.token is None and self.token_file is None:
            raise SettingsError(
                f"metrics.host = {self.host!r} without a token would show the run to everybody",
                mend=f"set metrics.token (or token_file) of {SHORTEST_TOKEN} characters or more, or host = '127.0.0.1'",
            )

    @property
    def address(self) -> str:
        """The host as an address: names are not looked up, since what they mean may change.

        Raises:
            SettingsError: it is a name.
        """
        if self.host == "localhost":
            return "127.0.0.1"
        try:
            return str(ipaddress.ip_address(self.host))
        except ValueError as error:
            raise SettingsError(
                f"metrics.host = {self.host!r}", mend="write an address, such as 192.168.1.20"
            ) from error

    def read_token(self) -> str | None:
        """The token, from the settings or from its file.

        Raises:
            SettingsError: the file cannot be read or holds no token.
        """
        if self.token_file is None:
            return self.token
        try:
            token = self.token_file.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"cannot read metrics.token_file {self.token_file}") from error
        _check_token(token)
        return token


@dataclass(frozen=True)
class WatchdogSettings:
    """When a run that lives but works no more is given up, so that systemd starts it again."""

    patience_s: float = 60.0
    """Seconds that a stage with work in hand may take for one piece: a batch of a large model on two slow cores takes
    about 30 s."""
    no_frames_s: float = 300.0
    """Seconds without a frame of any camera after which a new start is tried."""

    def __post_init__(self) -> None:
        """Refuse limits that would end every run, or none.

        Raises:
            SettingsError: a limit out of range.
        """
        for name, value in (("patience_s", self.patience_s), ("no_frames_s", self.no_frames_s)):
            if not 1 <= value <= 86_400:
                raise SettingsError(f"watchdog.{name} = {value:g}", mend="give 1 to 86400 seconds")


LogForm = Literal["auto", "plain", "json"]


@dataclass(frozen=True)
class LogSettings:
    """The log of a live run."""

    form: LogForm = "auto"
    """`auto`: plain lines on a terminal, JSON lines elsewhere."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    file: Path | None = None
    """A file instead of standard error."""
    file_mb: float = 10.0
    """Size at which the file is put aside; three old ones are kept."""
    repeats: int = 5
    """Lines of one kind that are written within a window; the rest are counted."""
    window_s: float = 300.0
    """Length of that window."""
    lines_per_window: int = 500
    """Lines of all kinds within a window: no fault can fill the disk."""

    def __post_init__(self) -> None:
        """Refuse limits that would silence the log, or let it fill the disk.

        Raises:
            SettingsError: a limit out of range.
        """
        limits = (
            ("file_mb", self.file_mb, 0.01, 10_000), ("repeats", self.repeats, 1, 1_000_000),
            ("window_s", self.window_s, 1, 86_400), ("lines_per_window", self.lines_per_window, 10, 1_000_000),
        )  # fmt: skip
        for name, value, least, most in limits:
            if not least <= value <= most:
                raise SettingsError(f"log.{name} = {value:g}", mend=f"give {least} to {most}")


def is_loopback(address: str) -> bool:
    """True where only this machine reaches the address."""
    return ipaddress.ip_address(address).is_loopback


def _check_token(token: str) -> None:
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise SettingsError(
            "the token of metrics is short, or has blanks or signs beyond ASCII",
            mend=f"use {SHORTEST_TOKEN} characters or more: `openssl rand -hex 16`",
        )
