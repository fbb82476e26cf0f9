"""tegrastats as a process beside the run, for what sysfs does not show: boards newer than their drivers here."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time

from edgekit.device.tegrastats import TegraLine, parse_tegrastats

INTERVAL_MS = 200
"""Between two lines: power is integrated over them, and each costs a few ms of a core."""
STALE_S = 3.0
"""A line that is older says nothing of now: the program was ended."""
FIRST_WITHIN_S = 2.0


class Tegrastats:
    """The newest line of the program. Close it, or it goes on after this process.

    Args:
        program: its name or path; for tests.

    Raises:
        OSError: it is not there or cannot be started.
    """

    def __init__(self, program: str = "tegrastats") -> None:
        command = [program, "--interval", str(INTERVAL_MS)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._newest: tuple[float, TegraLine] | None = None
        self._heard = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="tegrastats", daemon=True)
        self._thread.start()
        self._heard.wait(FIRST_WITHIN_S)

    def now(self) -> TegraLine | None:
        """The newest line; None where there is none of the last seconds."""
        if self._newest is None or time.monotonic() - self._newest[0] > STALE_S:
            return None
        return self._newest[1]

    def close(self) -> None:
        """End the program."""
        self._process.terminate()
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _listen(self) -> None:
        for line in self._process.stdout or ():
            parsed = parse_tegrastats(line)
            if parsed is not None:
                self._newest = time.monotonic(), parsed
                self._heard.set()
        self._heard.set()  # it ended without a word: nobody needs to wait


def open_tegrastats() -> Tegrastats | None:
    """The program, where the board has it."""
    with contextlib.suppress(OSError):
        return Tegrastats()
    return None
