"""The thread that owns an engine. Other threads hand batches in and wait for them."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from edgekit.errors import EdgekitError, ModelError
from edgekit.segment.tensorrt.buffers import HostBuffers
from edgekit.segment.tensorrt.session import EngineSession

POLL_S = 0.0005
"""How long a batch waits to be put into the streams while another one runs, or for its end to be noticed, at worst: a
Jetson takes 5 ms and more for a tile. With both lanes on their way nothing is polled."""

Job = tuple[int, "Future[None]"]
"""Number of the lane, and its end."""
Made = tuple[list[HostBuffers], str]


class Worker:
    """Makes an engine in a thread of its own, runs it there, and closes it there.

    Args:
        make: makes the engine; called in the thread.

    Raises:
        EdgekitError: whatever `make` raises.
    """

    def __init__(self, make: Callable[[], EngineSession]) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._over: ModelError | None = None
        made: Future[Made] = Future()
        # A daemon, since Python waits for other threads before it runs what would stop this one.
        self._thread = threading.Thread(target=self._work, args=(make, made), name="edgekit-tensorrt", daemon=True)
        self._thread.start()
        self.host, self.graph_note = made.result()

    def submit(self, lane: int) -> Future[None]:
        """Have the batch of a lane run; from any thread. The future is done when its outputs are on the host.

        Raises:
            ModelError: the engine was closed, or has failed.
        """
        done: Future[None] = Future()
        with self._lock:
            if self._over is not None:
                raise ModelError(self._over.what, mend=self._over.mend)
            self._jobs.put((lane, done))
        return done

    def close(self) -> None:
        """Finish what was handed in, close the engine and end the thread; calling it twice does no harm."""
        self._end(ModelError("the segmenter was closed", mend="open the model again"))
        self._jobs.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _work(self, make: Callable[[], EngineSession], made: Future[Made]) -> None:
        try:
            session = make()
        except BaseException as error:  # handed over to the thread that waits for the engine
            self._end(ModelError("the engine was not opened"))
            made.set_exception(error)
            return
        made.set_result((session.host, session.graph_note))
        waiting: deque[Job] = deque()
        try:
            self._serve(session, waiting)
        except Exception as error:  # whatever it is, those who wait must learn of it
            self._fail(error, waiting)
        finally:
            session.close()

    def _serve(self, session: EngineSession, waiting: deque[Job]) -> None:
        """Put batches into the streams as they come, and tell when they are back, oldest first."""
        room = len(session.lanes)
        while True:
            try:
                job = self._jobs.get(timeout=POLL_S if waiting else None)
            except queue.Empty:
                pass
            else:
                if job is None:
                    break
                waiting.append(job)
                session.enqueue(job[0])
            if waiting and (len(waiting) == room or session.is_done(waiting[0][0])):
                self._finish(session, waiting)
        while waiting:
            self._finish(session, waiting)

    def _finish(self, session: EngineSession, waiting: deque[Job]) -> None:
        session.wait(waiting[0][0])
        waiting.popleft()[1].set_result(None)

    def _fail(self, error: Exception, waiting: deque[Job]) -> None:
        """The GPU does not recover within a process: everything that was handed in fails, and what comes later."""
        what = error.what if isinstance(error, EdgekitError) else f"the GPU failed: {error}"
        over = ModelError(what, mend="open the model again; if it fails again, look at dmesg and edgekit bench device")
        self._end(over)
        jobs = [*waiting]
        while not self._jobs.empty():
            job = self._jobs.get()
            jobs += [job] if job is not None else []
        for _, done in jobs:
            done.set_exception(over)

    def _end(self, why: ModelError) -> None:
        """From now on nothing is taken."""
        with self._lock:
            self._over = self._over or why
