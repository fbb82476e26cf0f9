"""Live runs on disks that are full, short of space, read-only, or failing for 2 s. Needs root (tmpfs) and a C compiler.

    python bench/live/bad_disks.py STREAMS --out WORK [--only CASE] [--model M.onnx] [--json F]

STREAMS comes from make_streams.py; the runs are written on a tmpfs of 200 MB. Each case streams both sides once.

- reserve: the free space is below the reserve from the start: pictures are not kept, every row is counted as ever.
- full: in the middle of a row not one byte is left: the run ends with one line and exit code 45; with the space back,
  the next start goes on and counts every row.
- read_only: the start is refused with one line and exit code 45.
- errors: every write and fsync of the run fails for 2 s (EIO, by failing_disk.c): nothing is lost, the run goes on.

The rows of `reserve` and `errors` must be as wide as those of `plain`, a run on a good disk, with as many fruit; one
more or less passes, since a row may begin a frame earlier or later. Exit code 1 where something is not as it says here.
"""

import argparse
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from two_streams import SIDES, counted, frames_of, free_port, senders, write_site

from edgekit.errors import EdgekitError
from edgekit.runtime.control import StatusQuery, ask, run_socket
from edgekit.runtime.live.runs import run_folders

SIZE_MB = 200
SHIM = Path(__file__).parents[1] / "crash/failing_disk.c"


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=False)
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, leave_mb: float) -> Path:
    """Ballast, so that so much space is left."""
    ballast = place / "ballast"
    free = shutil.disk_usage(place).free - int(leave_mb * 1e6)
    with ballast.open("wb") as stream:
        try:
            for _ in range(0, max(free, 0), 1 << 16):
                stream.write(bytes(1 << 16))
        except OSError:
            return ballast
    return ballast


class Case:
    """One live run on one disk.

    Args:
        options: of the command line.
        disk: where the runs go.
        environment: of the run.
    """

    def __init__(self, options: argparse.Namespace, disk: Path, environment: dict[str, str] | None = None) -> None:
        self.options, self.disk, self.out = options, disk, disk / "runs"
        self.log = options.out / f"{disk.name}.log"
        self.environment = {**os.environ, **(environment or {})}
        self.seconds = frames_of(options.streams / "left/cycle.mkv") / 15

    def start(self, ports: dict[str, int], reserve_mb: float) -> subprocess.Popen:
        site = self.disk / "trolley.toml"
        write_site(site, ports, self.options.model)
        site.write_text(site.read_text().replace("reserve_mb = 100.0", f"reserve_mb = {reserve_mb}"))
        with self.log.open("a") as log:
            command = [sys.executable, "-m", "edgekit", "run", "--site", str(site)]
            return subprocess.Popen(command, stderr=log, env=self.environment)

    def ports(self) -> dict[str, int]:
        return {side: free_port() for side in SIDES}

    def status(self) -> dict | None:
        try:
            return dict(ask(run_socket(self.out), StatusQuery()).data)
        except EdgekitError:
            return None

    def until(self, process: subprocess.Popen, holds: Callable[[dict], bool], seconds: float = 600.0) -> bool:
        """Wait until the status is as wanted; False where the run ended or took too long."""
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s and process.poll() is None:
            now = self.status()
            if now is not None and holds(now):
                return True
            time.sleep(0.5)
        return False

    def rows_done(self, now: dict) -> bool:
        return bool(now["rows_done"] >= 4 and now["backlog_tiles"] == 0 and now["lag_s"] == 0)

    def end(self, process: subprocess.Popen) -> int:
        if process.poll() is None:
            time.sleep(2.0)
            process.send_signal(signal.SIGTERM)
        return process.wait(120)

    def rows(self) -> list[tuple[str, str, int, int]]:
        """Name, state, width in pixels and fruit of each row."""
        return sorted((row["row"], row["state"], row["px"], row["fruit"]) for row in counted(self.out))

    def integrity(self) -> str:
        connection = sqlite3.connect(run_folders(self.out)[-1] / "run.sqlite")
        verdict: str = connection.execute("PRAGMA integrity_check").fetchone()[0]
        connection.close()
        return verdict

    def errors(self) -> list[str]:
        """Lines of the log that are no JSON: what a person sees."""
        return [line for line in self.log.read_text().splitlines() if line and not line.startswith("{")]


def whole_ride(case: Case, *, reserve_mb: float = 5.0, meanwhile: Callable[[], None] | None = None) -> int:
    """Stream both sides once; the exit code after SIGTERM."""
    ports = case.ports()
    with senders(case.options.streams, ports, 1):
        process = case.start(ports, reserve_mb)
        if meanwhile is not None:  # in the middle of a row
            case.until(process, lambda now: sum(camera["placed"] for camera in now["cameras"]) >= 150)
            meanwhile()
        case.until(process, lambda now: sum(camera["frames"] for camera in now["cameras"]) > 0, 60)
        time.sleep(case.seconds)
        case.until(process, case.rows_done)
    return case.end(process)


def plain(options: argparse.Namespace, disk: Path) -> dict:
    case = Case(options, disk)
    code = whole_ride(case)
    return {"exit_code": code, "rows": case.rows(), "good": code == 0}


def reserve(options: argparse.Namespace, disk: Path) -> dict:
    case = Case(options, disk)
    fill(disk, 60.0)
    code = whole_ride(case, reserve_mb=100.0)
    left = sum(path.stat().st_size for path in case.out.rglob("segment_*.jpg")) / 1e6
    told = [line for line in case.log.read_text().splitlines() if "pictures of row" in line]
    return {
        "exit_code": code, "rows": case.rows(), "pictures_left_mb": round(left, 2), "told": len(told),
        "good": code == 0 and len(told) > 0,
    }  # fmt: skip


def full(options: argparse.Namespace, disk: Path) -> dict:
    case = Case(options, disk)
    ports = case.ports()
    with senders(options.streams, ports, 1):
        process = case.start(ports, 0.0)
        case.until(process, lambda now: now["tiles"] >= 6)
        ballast = fill(disk, 0.0)
        code = process.wait(180)
    verdict, said = case.integrity(), case.errors()
    ballast.unlink()
    process = case.start(case.ports(), 0.0)
    resumed = case.until(process, lambda now: now["backlog_tiles"] == 0 and now["uptime_s"] > 5)
    again = case.end(process)
    states = {state for _, state, _, _ in case.rows()}
    good = (
        code == 45 and len(said) == 1 and verdict == "ok" and resumed and again == 0 and states <= {"merged", "failed"}
    )
    return {"exit_code": code, "said": said, "integrity": verdict, "resumed": again, "rows": case.rows(), "good": good}


def read_only(options: argparse.Namespace, disk: Path) -> dict:
    case = Case(options, disk)
    write_site(disk / "trolley.toml", case.ports(), options.model)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    command = [sys.executable, "-m", "edgekit", "run", "--site", str(disk / "trolley.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if line]
    return {"exit_code": done.returncode, "said": said, "good": done.returncode == 45 and len(said) == 1}


def errors(options: argparse.Namespace, disk: Path) -> dict:
    shim, flag = options.out / "failing_disk.so", options.out / "fail"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(shim), str(SHIM), "-ldl"], check=True)
    case = Case(options, disk, {"LD_PRELOAD": str(shim.resolve()), "EDGEKIT_FAIL_FLAG": str(flag.resolve())})

    def for_two_seconds() -> None:
        flag.touch()
        time.sleep(2.0)
        flag.unlink()

    code = whole_ride(case, meanwhile=for_two_seconds)
    # the line that says "trying again" goes to a file as well, and fails with it
    told = [line for line in case.log.read_text().splitlines() if "the disk is well again" in line]
    return {
        "exit_code": code, "rows": case.rows(), "told": len(told), "integrity": case.integrity(),
        "good": code == 0 and len(told) > 0 and case.integrity() == "ok",
    }  # fmt: skip


def same(rows: list[tuple[str, str, int, int]], wanted: list[tuple[str, str, int, int]]) -> bool:
    """True where the rows are the same, give or take a fruit each."""
    return [row[:3] for row in rows] == [row[:3] for row in wanted] and all(
        abs(row[3] - other[3]) <= 1 for row, other in zip(rows, wanted, strict=True)
    )


CASES = {"plain": plain, "reserve": reserve, "full": full, "read_only": read_only, "errors": errors}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for disks and logs; emptied")
    parser.add_argument("--only", choices=CASES, action="append")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    told: dict[str, dict] = {}
    for name in options.only or CASES:
        with small_disk(options.out / name) as disk:
            told[name] = CASES[name](options, disk)
        print(json.dumps({name: told[name]}), flush=True)
    for name in {"reserve", "errors"} & told.keys() if "plain" in told else ():
        told[name]["same_counts"] = same(told[name]["rows"], told["plain"]["rows"])
        told[name]["good"] &= told[name]["same_counts"]
    print(json.dumps({name: case["good"] for name, case in told.items()}))
    if options.json:
        options.json.write_text(json.dumps(told, indent=1) + "\n")
    sys.exit(0 if all(case["good"] for case in told.values()) else 1)


if __name__ == "__main__":
    main()
