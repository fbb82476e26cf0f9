"""What watching costs a live run: entries on the board, snapshots, pages of metrics, readings of the device, commands.

python bench/watch/cost.py --json bench/watch/results/cost.json
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path

from edgekit.atomic import write_atomic
from edgekit.device.choose import choose_probe
from edgekit.environment import read_environment
from edgekit.runtime.control import ControlServer, Reply, StatusQuery, ask, run_socket
from edgekit.runtime.watch import StatusBoard
from edgekit.runtime.watch.device_watch import read_device
from edgekit.runtime.watch.logs import run_log
from edgekit.runtime.watch.metrics import metrics_text
from edgekit.runtime.watch.settings import LogSettings

ROUNDS = 7
STAGES = ("motion", "mosaic", "tile", "preprocess", "infer", "postprocess", "merge", "store")


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file to write")
    target = parser.parse_args().json
    with tempfile.TemporaryDirectory() as folder:
        result = {name: measured(work) for name, work in works(Path(folder)).items()}
        result["log of 10,000 failed connects"] = {"lines": flood(Path(folder) / "run.log")}
    for name, figures in result.items():
        print(f"{name}: " + ", ".join(f"{figure} {value:g}" for figure, value in figures.items()))
    if target is not None:
        write_atomic(target, json.dumps(result, indent=2).encode())


def works(folder: Path) -> dict[str, Callable[[], object]]:
    """Name -> what is done once."""
    board = StatusBoard("night", [("cam-l", "left"), ("cam-r", "right")])
    for number in range(300):
        board.frame("cam-l" if number % 2 else "cam-r")
    for stage in STAGES:
        board.stage(stage, 0.01)
    probe, _ = choose_probe(read_environment(), "cpu")
    server = ControlServer(run_socket(folder), lambda command: Reply(True, data=board.snapshot().as_dict()))

    def frame() -> None:
        board.frame("cam-l")
        board.placed("cam-l")
        for stage in STAGES:
            board.stage(stage, 0.01)

    return {
        "all entries of one frame": frame,
        "a snapshot": board.snapshot,
        "a page of metrics": lambda: metrics_text(board.snapshot),
        "a reading of the device": lambda: read_device(probe, folder),
        "a status over the control socket": lambda: ask(server.path, StatusQuery()),
    }


def measured(work: Callable[[], object]) -> dict[str, float]:
    """Microseconds of one piece: the median of the rounds, and their spread."""
    timer = timeit.Timer(work)
    count = max(1, timer.autorange()[0] // 4)
    rounds = [time_s / count * 1e6 for time_s in timer.repeat(ROUNDS, count)]
    return {
        "median_us": round(statistics.median(rounds), 2),
        "least_us": round(min(rounds), 2),
        "most_us": round(max(rounds), 2),
    }


def flood(path: Path) -> int:
    """Lines of the log after ten thousand attempts at a camera that is away, two kinds of line each."""
    log = logging.getLogger("edgekit.bench")
    with run_log(LogSettings(file=path)):
        for attempt in range(10_000):
            log.warning("cannot connect to rtsp://10.0.0.7:554 (attempt %d): refused", attempt)
            log.info("trying again in %.2f s", attempt % 8 + os.getpid() / 1e6)
    return path.read_text().count("\n")


if __name__ == "__main__":
    main()
