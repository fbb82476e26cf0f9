"""The local socket of a live run: one command a connection, one answer."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from edgekit.atomic import storage_error
from edgekit.errors import EdgekitError, RunFolderError, StorageError
from edgekit.runtime.control.commands import Command, Reply
from edgekit.runtime.control.lines import read_line
from edgekit.runtime.control.place import short_address
from edgekit.runtime.control.wire import LONGEST_COMMAND, decode_command, encode_reply

LINE_WITHIN_S = 2.0
"""Seconds in which a client's line must be complete, and in which it must take its answer."""
MOST_CLIENTS = 8
"""Clients at once; one more is told that the run is busy."""
_log = logging.getLogger(__name__)


class ControlServer:
    """Takes commands from this machine while a run lives. Only its own user (and root) can reach the socket.

    Args:
        path: the socket; its folder must be there. A socket that a killed process left is taken over.
        handle: does what a command asks. It is called from several threads, one a client; an `EdgekitError` becomes a
            refusal, any other error is logged with its trace and the client is told.
        line_within_s: how long a client may take for its line; for tests.

    Raises:
        RunFolderError: another process answers here already.
        StorageError: the folder cannot hold a socket.
    """

    def __init__(self, path: Path, handle: Callable[[Command], Reply], *, line_within_s: float = LINE_WITHIN_S) -> None:
        self.path = path
        self._handle, self._line_within_s = handle, line_within_s
        self._lock_file = _locked(path.with_name(f"{path.name}.lock"))
        try:
            self._listener = _listening(path)
        except BaseException:
            os.close(self._lock_file)
            raise
        self._places = threading.BoundedSemaphore(MOST_CLIENTS)
        self._thread = threading.Thread(target=self._accept, name="control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take no more commands and remove the socket; calling it twice does no harm."""
        if self._lock_file < 0:
            return
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept; close alone does not
        self._listener.close()
        self._thread.join()
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(self._lock_file)
        self._lock_file = -1

    def __enter__(self) -> ControlServer:
        """The server itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except ConnectionAbortedError:
                continue
            except OSError:  # closed
                return
            if self._places.acquire(blocking=False):
                threading.Thread(target=self._serve, args=(connection,), name="control client", daemon=True).start()
            else:
                with connection:
                    _answer(connection, Reply(False, "the run is busy with other commands - try again"), 0.1)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                reply = self._reply(connection)
                if reply is not None:
                    _answer(connection, reply, self._line_within_s)
        finally:
            self._places.release()

    def _reply(self, connection: socket.socket) -> Reply | None:
        """What the client is told; None where it left."""
        try:
            line = read_line(connection, longest=LONGEST_COMMAND, within_s=self._line_within_s)
            return None if line is None else self._handle(decode_command(line))
        except TimeoutError:
            return Reply(False, f"no whole line within {self._line_within_s:g} s")
        except EdgekitError as error:
            return Reply(False, str(error))
        except OSError:
            return None
        except Exception:
            _log.exception("a command from the local socket failed")
            return Reply(False, "edgekit failed at this command; the run's log has the trace")


def _answer(connection: socket.socket, reply: Reply, within_s: float) -> None:
    with contextlib.suppress(OSError):  # the client left, or does not read
        connection.settimeout(within_s)
        connection.sendall(encode_reply(reply))


def _locked(path: Path) -> int:
    """A handle of the lock file, locked as long as this process lives; the file stays, since removing it would race."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise storage_error(path, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise RunFolderError(
            f"another edgekit runs here already ({path.parent})", mend="see `edgekit status`, or stop it first"
        ) from error
    return handle


def _listening(path: Path) -> socket.socket:
    """A bound socket that only its user can reach, in place of one that a killed process left."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.is_socket():
            path.unlink()
        os.fchmod(listener.fileno(), 0o600)  # before bind, so that the socket is never open to others (Linux)
        with short_address(path) as address:
            listener.bind(address)
        listener.listen(MOST_CLIENTS)
    except OSError as error:
        listener.close()
        raise StorageError(
            f"cannot make the control socket {path}: {error.strerror}",
            mend="choose a folder on a Linux file system that this user may write to",
        ) from error
    return listener
