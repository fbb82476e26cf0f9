"""The one thread that writes the run's database."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from edgekit.errors import StorageError
from edgekit.runtime.live.patience import patiently
from edgekit.store import RunRecorder

Value = TypeVar("Value")
Change = Callable[[RunRecorder], None]
_WAITING = 64
"""Changes that may wait; a thread that brings one more waits itself."""
_POLL_S = 0.1


def _nothing() -> None:
    """Nobody wants to know."""


@dataclass(frozen=True)
class _Order:
    change: Change
    durable: Callable[[], None]
    failed: Callable[[BaseException], None] | None = None


class Writer:
    """Takes changes from every thread, makes them in order, and says when they are on the disk.

    Changes are gathered between commits. Where the disk fails, what was not committed is given up and made again, so
    that a fault that passes costs nothing.

    Args:
        path: the database; its run is begun already.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._orders: queue.Queue[_Order | None] = queue.Queue(_WAITING)
        self._pending: list[_Order] = []
        self._gone = threading.Event()

    def do(self, change: Change, *, durable: Callable[[], None] = _nothing) -> None:
        """Have a change made; `durable` is called (in the writer's thread) once it has reached the disk.

        Raises:
            StorageError: the writer has given up.
        """
        self._put(_Order(change, durable))

    def ask(self, work: Callable[[RunRecorder], Value]) -> Value:
        """Have a change made and wait until it is on the disk; return its answer.

        Raises:
            StorageError: the disk does not take it.
        """
        answer: Future[Value] = Future()
        found: list[Value] = []

        def change(recorder: RunRecorder) -> None:
            found[:] = [work(recorder)]
            recorder.commit()

        def failed(error: BaseException) -> None:
            answer.set_exception(error)

        self._put(_Order(change, lambda: answer.set_result(found[0]), failed))
        return answer.result()

    @property
    def gone(self) -> bool:
        """The thread has ended, and takes nothing more."""
        return self._gone.is_set()

    def close(self) -> None:
        """No more changes; those that wait are made."""
        self._put(None)

    def run(self) -> None:
        """The thread's work, until `close`.

        Raises:
            StorageError: the disk failed for too long; what was committed is kept.
        """
        recorder = RunRecorder(self._path)
        try:
            while (order := self._next(recorder)) is not None:
                self._make(recorder, order)
            self._settle(recorder, now=True)
        except BaseException as error:
            self._end(error)
            raise
        finally:
            self._end(StorageError("the run's database is closed"))
            recorder.close()

    def _next(self, recorder: RunRecorder) -> _Order | None:
        """The next change; between them, commits that are due."""
        while True:
            with suppress(queue.Empty):
                return self._orders.get(timeout=_POLL_S)
            self._settle(recorder)

    def _make(self, recorder: RunRecorder, order: _Order) -> None:
        _trying(recorder, lambda: order.change(recorder), self._pending)
        self._pending.append(order)
        self._settle(recorder)

    def _settle(self, recorder: RunRecorder, *, now: bool = False) -> None:
        """Commit what is due; what reached the disk is told."""
        if not self._pending:
            return

        def commit() -> bool:
            if now:
                recorder.commit()
            return recorder.commit_if_due()

        if _trying(recorder, commit, self._pending):
            done, self._pending = self._pending, []
            for order in done:
                order.durable()

    def _put(self, order: _Order | None) -> None:
        while not self._gone.is_set():
            try:
                self._orders.put(order, timeout=_POLL_S)
            except queue.Full:
                continue
            return
        if order is not None:
            raise StorageError("the run's database is closed")

    def _end(self, error: BaseException) -> None:
        """Take nothing more; nobody waits for ever for an answer that cannot come."""
        self._gone.set()
        waiting, self._pending = self._pending, []
        while True:
            for order in waiting:
                if order.failed is not None:
                    order.failed(error)
            try:
                left = self._orders.get_nowait()
            except queue.Empty:
                return
            waiting = [] if left is None else [left]


def _trying(recorder: RunRecorder, work: Callable[[], Value], uncommitted: Sequence[_Order]) -> Value:
    """Try a piece of work until the disk takes it; each time, what was not committed before it is made again."""

    def again() -> None:
        recorder.rollback()
        for order in uncommitted:
            order.change(recorder)

    return patiently(work, again=again)
