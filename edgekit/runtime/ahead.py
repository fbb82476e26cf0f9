"""Working ahead in a second thread, with everything in order."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Generic, TypeVar

Item = TypeVar("Item")

_POLL_S = 0.1
"""How often a full queue looks whether anybody still wants its items."""


class _Stopped(Exception):  # noqa: N818 - not an error, and never leaves this module
    """Nobody wants more items."""


def ahead(items: Iterator[Item], depth: int) -> Generator[Item, None, None]:
    """The items in their order, up to `depth` of them made before they are asked for, in a thread of their own.

    What the iterator raises is raised here, after the items that came before it. Closing this generator ends the
    thread. OpenCV, PyAV and file writing let other threads run, so decoding and encoding hide behind the model.
    """
    feeder = _Feeder(items, depth)
    feeder.start()
    try:
        yield from feeder.items()
    finally:
        feeder.stop()


class _Feeder(Generic[Item]):
    def __init__(self, items: Iterator[Item], depth: int) -> None:
        self._source = items
        self._queue: queue.Queue[tuple[str, Item | None]] = queue.Queue(depth)
        self._unwanted = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="edgekit-ahead", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def items(self) -> Iterator[Item]:
        while True:
            kind, item = self._queue.get()
            if kind == "end":
                break
            yield item  # type: ignore[misc]
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        self._unwanted.set()
        if self._thread is not threading.current_thread():  # it is, where garbage collection happens to run there
            self._thread.join()

    def _work(self) -> None:
        try:
            for item in self._source:
                self._put("item", item)
        except _Stopped:
            pass
        except BaseException as error:  # handed over to the thread that waits for the items
            self._error = error
        finally:
            if isinstance(self._source, Generator):
                self._source.close()
        with suppress(_Stopped):
            self._put("end", None)

    def _put(self, kind: str, item: Item | None) -> None:
        while not self._unwanted.is_set():
            try:
                self._queue.put((kind, item), timeout=_POLL_S)
            except queue.Full:
                continue
            return
        raise _Stopped
