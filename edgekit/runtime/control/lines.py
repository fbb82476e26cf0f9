"""One line from a socket: no longer than so many bytes, no later than so many seconds."""

from __future__ import annotations

import socket
import time

from edgekit.errors import SettingsError


def read_line(connection: socket.socket, *, longest: int, within_s: float) -> bytes | None:
    """The first line, without its end; None where the other side closed before it wrote one.

    The time limit is for the whole line: bytes that trickle in one by one do not extend it.

    Raises:
        SettingsError: the line is too long.
        TimeoutError: it was not complete in time.
        OSError: the connection broke.
    """
    line, until_s = bytearray(), time.monotonic() + within_s
    while b"\n" not in line:
        if len(line) >= longest:
            raise SettingsError(f"a line of more than {longest} bytes", mend="one command a line")
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        some = connection.recv(min(65536, longest - len(line)))
        if not some:
            return None
        line += some
    return bytes(line.partition(b"\n")[0])
