"""Two live cameras on one small machine: does it keep up, and does it count what the offline run counts?

    python bench/live/two_streams.py STREAMS --out WORK [--seconds 600] [--model M.onnx] [--json F]

STREAMS comes from make_streams.py. FFmpeg sends each side's cycle.mkv at its pace (`-re`, coded frames copied) over a
local TCP port; `edgekit run --site` receives both, opens a row when the trolley moves and ends it when it stands for
5 s. Every second the run is asked over its control socket, and its memory is read. When the streams have ended and
nothing waits, it gets SIGTERM. Then the same coded frames are counted offline, and the counts compared row by row.

Told: frames sent, received, dropped; the lag over time; resident memory after the first minute and at the end; shares
of the processor; counts. Exit code 1 where a frame was dropped, memory grew by 30 MB or counts differ by over 1 %.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from edgekit.errors import EdgekitError
from edgekit.runtime.control import StatusQuery, ask, run_socket
from edgekit.runtime.live.runs import run_folders
from edgekit.store import RunFolder, RunReader

SIDES = ("left", "right")
RATE_HZ = 15
SITE = """out = "runs"
run_per = "start"
{model}
[rows]
opened_by = ["movement"]
stop_s = 5.0
[space]
reserve_mb = 100.0
[metrics]
enabled = false
[patience]
longest_pause_s = 60.0
{cameras}
"""
CAMERA = """[[cameras]]
name = "{side}"
[cameras.camera]
kind = "stream"
address = "tcp://127.0.0.1:{port}"
side = "{side}"
"""


def write_site(site: Path, ports: dict[str, int], model: Path | None) -> None:
    """A site file with a camera at each port."""
    cameras = "\n".join(CAMERA.format(side=side, port=port) for side, port in ports.items())
    chosen = f'model = "{model.resolve()}"' if model else ""
    site.write_text(SITE.format(model=chosen, cameras=cameras))


@dataclass(frozen=True)
class Look:
    """The run at one moment."""

    second: float
    frames: int
    dropped: int
    placed: int
    tiles: int
    waiting: int
    lag_s: float
    rss_mb: float


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def senders(streams: Path, ports: dict[str, int], cycles: int) -> Iterator[list[psutil.Process]]:
    """One FFmpeg a side; it starts to send when somebody connects."""
    started = []
    for side, port in ports.items():
        command = [
            "ffmpeg",
            "-v",
            "error",
            "-re",
            "-stream_loop",
            str(cycles - 1),
            "-i",
            str(streams / side / "cycle.mkv"),
        ]
        command += ["-c", "copy", "-f", "nut", f"tcp://127.0.0.1:{port}?listen=1"]
        started.append(psutil.Popen(command))
    try:
        yield started
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()


def cpu_s(process: psutil.Process) -> float:
    """Seconds of processor time of a process and of those that it started and that still live."""
    total = 0.0
    for one in (process, *process.children(recursive=True)):
        try:
            times = one.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def look(place: Path, process: psutil.Process, began_s: float) -> Look | None:
    try:
        now = ask(place, StatusQuery()).data
    except EdgekitError:
        return None
    cameras = now["cameras"]
    return Look(
        round(time.monotonic() - began_s, 1),
        sum(camera["frames"] for camera in cameras),
        sum(camera["dropped"] for camera in cameras),
        sum(camera["placed"] for camera in cameras),
        now["tiles"],
        now["backlog_tiles"],
        round(now["lag_s"], 1),
        round(process.memory_info().rss / 2**20, 1),
    )


def watch(
    place: Path, process: psutil.Process, sending: list[psutil.Process], began_s: float
) -> tuple[list[Look], dict]:
    """Look every second until the streams have ended and nothing waits."""
    looks: list[Look] = []
    shares: dict[str, float] = {}
    while process.poll() is None:
        time.sleep(1.0)
        seen = look(place, process, began_s)
        if seen is None:
            continue
        looks.append(seen)
        print(f"\r{seen}", end="", file=sys.stderr)
        alive = [sender for sender in sending if sender.poll() is None]
        if alive:
            seconds = time.monotonic() - began_s
            shares = {"run and its readers": cpu_s(process) / seconds, "senders": sum(map(cpu_s, alive)) / seconds}
        elif seen.waiting == 0 and seen.placed >= seen.frames:
            break
    print(file=sys.stderr)
    return looks, {name: round(share, 3) for name, share in shares.items()}


def live(options: argparse.Namespace, cycles: int) -> tuple[list[Look], dict, int]:
    ports = {side: free_port() for side in SIDES}
    site = options.out / "trolley.toml"
    write_site(site, ports, options.model)
    with senders(options.streams, ports, cycles) as sending:
        time.sleep(1.0)
        with (options.out / "run.log").open("w") as log:
            process = psutil.Popen([sys.executable, "-m", "edgekit", "run", "--site", str(site)], stderr=log)
        began_s = time.monotonic()
        try:
            looks, shares = watch(run_socket(options.out / "runs"), process, sending, began_s)
            process.send_signal(signal.SIGTERM)
            code = process.wait(120)
        finally:
            if process.poll() is None:
                process.kill()
    return looks, shares, code


def offline(options: argparse.Namespace) -> dict[str, dict[str, int]]:
    """Fruit and width of each ride, from its own file; a finished offline run of the same frames is used again."""
    out = options.offline or options.out / "offline"
    files = [options.streams / side / f"{way}.mkv" for side in SIDES for way in ("there", "back")]
    command = [sys.executable, "-m", "edgekit", "run", *map(str, files), "--out", str(out), "--quiet"]
    command += ["--model", str(options.model)] if options.model else []
    if not (out / "summary.json").exists():
        subprocess.run(command, check=True, capture_output=True)
    summary = json.loads((out / "summary.json").read_text())
    pairs = zip(files, summary["rows"], strict=True)
    return {
        f"{file.parent.name} {file.stem}": {"fruit": row["fruit"], "px": row["panorama"]["width_px"]}
        for file, row in pairs
    }


def counted(out: Path) -> list[dict]:
    """The rows of the live run in their order."""
    reader = RunReader.open(RunFolder(run_folders(out)[-1]).database)
    threshold = reader.run().plan.threshold
    remarks = [
        (event.source_id, event.message) for event in reader.events() if event.kind in ("remark", "source fault")
    ]
    rows = [
        {
            "row": source.path, "side": source.side, "state": source.state, "px": source.width_px,
            "frames": source.frames, "fruit": reader.count_fruit(source.id, threshold),
            "remarks": [text for row, text in remarks if row == source.id],
        }
        for source in reader.sources()
    ]  # fmt: skip
    reader.close()
    return rows


def compared(rows: list[dict], reference: dict[str, dict[str, int]]) -> dict:
    """Each live row beside the offline run of the same frames."""
    seen = dict.fromkeys(SIDES, 0)
    for row in rows:
        way = ("there", "back")[seen[row["side"]] % 2]
        seen[row["side"]] += 1
        row["offline_fruit"] = reference[f"{row['side']} {way}"]["fruit"]
        row["offline_px"] = reference[f"{row['side']} {way}"]["px"]
    fruit, wanted = sum(row["fruit"] for row in rows), sum(row["offline_fruit"] for row in rows)
    worst = max((abs(row["fruit"] / max(row["offline_fruit"], 1) - 1) for row in rows), default=1.0)
    return {
        "rows": len(rows), "fruit": fruit, "offline_fruit": wanted,
        "difference_percent": round(100 * (fruit / max(wanted, 1) - 1), 2), "worst_row_percent": round(100 * worst, 2),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs; emptied")
    parser.add_argument("--seconds", type=float, default=600.0, help="of streaming, in whole cycles")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--offline", type=Path, help="run folder of the offline count, made where it is missing")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    cycle_s = frames_of(options.streams / "left/cycle.mkv") / RATE_HZ
    cycles = max(1, round(options.seconds / cycle_s))
    looks, shares, code = live(options, cycles)
    rows = counted(options.out / "runs")
    found = compared(rows, offline(options))
    settled = [item for item in looks if item.second >= 60.0] or looks[-1:]
    told = {
        "cores": os.cpu_count(), "stream_seconds": round(cycles * cycle_s), "exit_code": code,
        "frames_sent": 2 * cycles * frames_of(options.streams / "left/cycle.mkv"), "frames": looks[-1].frames,
        "dropped": looks[-1].dropped, "largest_lag_s": max(item.lag_s for item in looks),
        "largest_backlog_tiles": max(item.waiting for item in looks), "tiles": looks[-1].tiles,
        "drained_after_s": round(looks[-1].second - cycles * cycle_s, 1),
        "rss_after_a_minute_mb": settled[0].rss_mb,
        "rss_growth_mb": round(max(item.rss_mb for item in settled) - settled[0].rss_mb, 1),
        "cores_used": shares, **found,
    }  # fmt: skip
    print(json.dumps(told, indent=2))
    if options.json:
        curve = [asdict(item) for item in looks[:: max(1, len(looks) // 120)]]
        options.json.write_text(json.dumps({**told, "by_row": rows, "curve": curve}, indent=1) + "\n")
    good = told["dropped"] == 0 and told["rss_growth_mb"] < 30 and abs(found["difference_percent"]) <= 1 and code == 0
    sys.exit(0 if good else 1)


def frames_of(path: Path) -> int:
    command = [
        "ffprobe",
        "-v",
        "error",
        "-count_packets",
        "-select_streams",
        "v",
        "-show_entries",
        "stream=nb_read_packets",
    ]
    done = subprocess.run([*command, "-of", "csv=p=0", str(path)], check=True, capture_output=True, text=True)
    return int(done.stdout.strip().strip(","))


if __name__ == "__main__":
    main()
