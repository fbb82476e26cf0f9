"""Asking a running `edgekit run` from another process."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

from edgekit.errors import NothingRunsError, RunFolderError
from edgekit.runtime.control.commands import Command, Reply
from edgekit.runtime.control.lines import read_line
from edgekit.runtime.control.place import short_address
from edgekit.runtime.control.wire import LONGEST_REPLY, decode_reply, encode_command

ANSWER_WITHIN_S = 10.0
"""Seconds that a run may take to answer: opening a row waits for the frame in hand."""


def ask(path: Path, command: Command, *, within_s: float = ANSWER_WITHIN_S) -> Reply:
    """Send one command and wait for its answer.

    Raises:
        NothingRunsError: there is no socket, or its process is gone.
        RunFolderError: it belongs to another user, or the run does not answer in time.
        SettingsError: the answer is of another release.
    """
    until_s = time.monotonic() + within_s
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(within_s)
        try:
            with short_address(path) as address:
                connection.connect(address)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it answered unasked: busy
                connection.sendall(encode_command(command))
            line = read_line(connection, longest=LONGEST_REPLY, within_s=until_s - time.monotonic())
        except TimeoutError as error:
            raise RunFolderError(f"the run at {path} does not answer", mend="see its log") from error
        except PermissionError as error:
            raise RunFolderError(
                f"the run at {path} belongs to another user", mend="ask as that user: sudo -u USER edgekit ..."
            ) from error
        except ConnectionResetError as error:
            raise RunFolderError(f"the run at {path} broke off", mend="try again, or see its log") from error
        except OSError as error:
            raise NothingRunsError(f"nothing runs at {path}", mend="start it with `edgekit run --site ...`") from error
    if line is None:
        raise RunFolderError(f"the run at {path} ended before it answered", mend="see its log")
    return decode_reply(line)
