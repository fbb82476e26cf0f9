"""Telling systemd how the service is: the protocol of sd_notify(3), one datagram a message."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping

_log = logging.getLogger(__name__)


class Notifier:
    """Messages to the service manager; without one (NOTIFY_SOCKET is not set) they go nowhere.

    A message that cannot be sent never disturbs the run.

    Args:
        environment: where NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID are looked up.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        self.watchdog_s = _watchdog_s(environment)

    @property
    def active(self) -> bool:
        """True under a service manager."""
        return self._address is not None

    def ready(self) -> None:
        """The run works: cameras are being read."""
        self._send("READY=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self._send(f"STATUS={' '.join(text.split())}")

    def stopping(self) -> None:
        """The run ends: what is in hand is finished first."""
        self._send("STOPPING=1")

    def feed(self) -> None:
        """Work was done: the watchdog waits anew."""
        self._send("WATCHDOG=1")

    def extend(self, seconds: float) -> None:
        """Starting or ending takes so much longer (repairs after a power cut, tiles in hand)."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1e6)}")

    def _send(self, message: str) -> None:
        if self._address is None:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.settimeout(1.0)
                sender.sendto(message.encode(), self._address)
        except OSError as error:
            _log.warning("cannot tell systemd %s: %s", message.partition("=")[0], error.strerror or error)


def _address(text: str) -> str | None:
    """A path, or an abstract name (`@` stands for the null byte)."""
    if text.startswith("@"):
        return f"\0{text[1:]}"
    return text if text.startswith("/") else None


def _watchdog_s(environment: Mapping[str, str]) -> float | None:
    """Seconds in which the watchdog wants to be fed; None where it is off or meant for another process."""
    wanted, process = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", str(os.getpid()))
    if not wanted.isdecimal() or int(wanted) == 0 or process != str(os.getpid()):
        return None
    return int(wanted) / 1e6
