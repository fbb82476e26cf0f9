"""What other processes reach of a trolley from the first second to the last: the local socket and the metrics."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from edgekit.errors import RunFolderError
from edgekit.runtime.control import (
    Command,
    ControlServer,
    Order,
    Reply,
    StatusQuery,
    Stop,
    run_socket,
    usual_socket,
)
from edgekit.runtime.live.runs import make_site_folder
from edgekit.runtime.live.site import Site
from edgekit.runtime.watch.board import StatusBoard
from edgekit.runtime.watch.http_server import serve_metrics

LOADING = "loading the model"
"""Seconds on most devices; minutes where a TensorRT engine is built first."""


class Front:
    """Open as long as the block lasts. Until somebody else answers, it says that the model is being loaded.

    Args:
        site: the trolley.
        board: what is told of it.
        stop: set when everything is to end.

    Raises:
        RunFolderError: another process answers here already.
        StorageError: a folder cannot be made.
        SettingsError: the token of the metrics cannot be read.
    """

    def __init__(self, site: Site, board: StatusBoard, stop: threading.Event) -> None:
        self.board, self.stop = board, stop
        self._site = site
        self._answer: Callable[[Order], Reply] = self._while_loading
        self._open = ExitStack()

    def answered_by(self, answer: Callable[[Order], Reply]) -> None:
        """From now on: the model is there. A status is still answered from the board."""
        self._answer = answer
        self.board.starting(None)

    def __enter__(self) -> Front:
        """Open the socket and the port."""
        self.board.starting(LOADING)
        with ExitStack() as opening:
            make_site_folder(self._site.out)
            opening.enter_context(ControlServer(self._socket(), self._reply))
            metrics = serve_metrics(self.board.snapshot, self._site.metrics)
            if metrics is not None:
                opening.enter_context(metrics)
            self._open = opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close them."""
        self._open.close()

    def _socket(self) -> Path:
        path = self._site.control or usual_socket() or run_socket(self._site.out)
        make_site_folder(path.parent)
        return path

    def _reply(self, command: Command) -> Reply:
        if isinstance(command, StatusQuery):
            return Reply(True, data=self.board.snapshot().as_dict())
        return self._answer(command)

    def _while_loading(self, command: Order) -> Reply:
        """Nothing runs yet, so that all there is to do is to end.

        Raises:
            RunFolderError: anything else was asked.
        """
        if not isinstance(command, Stop) or command.finish:
            raise RunFolderError(f"no run is open yet: {LOADING}", mend="try again in some seconds")
        self.stop.set()
        self.board.stopping()
        return Reply(True, "edgekit ends as soon as the model is loaded")
