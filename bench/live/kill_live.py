"""Kill a live run with SIGKILL at random moments, start it again each time, and see what is left.

    python bench/live/kill_live.py STREAMS --out WORK [--kills 20] [--seed 1] [--model M.onnx] [--json F]

STREAMS comes from make_streams.py; both sides are sent at their pace, from the beginning after each start. After each
kill SQLite must find the database whole, and no tile and no segment that was there before may be gone. After the last
kill the run is started once more, without cameras, works off what waits and is stopped. Then every row must have its
count, and that must be the count of its stored panorama, made anew by `edgekit run --panorama`. Exit code 1 where not.
"""

import argparse
import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from two_streams import SIDES, counted, free_port, senders, write_site

from edgekit.errors import EdgekitError
from edgekit.runtime.control import StatusQuery, ask, run_socket
from edgekit.runtime.live.runs import run_folders
from edgekit.store import RunFolder


def started(site: Path, log: Path) -> subprocess.Popen:
    with log.open("a") as stream:
        return subprocess.Popen([sys.executable, "-m", "edgekit", "run", "--site", str(site)], stderr=stream)


def state(out: Path) -> tuple[str, int, set[str], int]:
    """SQLite's verdict; stored tiles, segments on the disk, rows that wait."""
    runs = run_folders(out)
    if not runs or not (runs[-1] / "run.sqlite").exists():
        return "ok", 0, set(), 0
    connection = sqlite3.connect(runs[-1] / "run.sqlite", timeout=5.0)
    try:
        verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
        if not connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'tiles'").fetchone()[0]:
            return verdict, 0, set(), 0
        tiles = connection.execute("SELECT count(*) FROM tiles").fetchone()[0]
        waiting = connection.execute("SELECT count(*) FROM sources WHERE state IN ('open', 'waiting')").fetchone()[0]
    finally:
        connection.close()
    return verdict, tiles, {str(path.relative_to(out)) for path in out.rglob("segment_*.jpg")}, waiting


def wait_for_run(out: Path, process: subprocess.Popen) -> None:
    """Until it takes commands, so that the moments are spread over the work whatever else the machine does."""
    while process.poll() is None:
        try:
            ask(run_socket(out), StatusQuery())
        except EdgekitError:
            time.sleep(0.2)
            continue
        return


def kill_again_and_again(options: argparse.Namespace) -> dict:
    dice, site, out = random.Random(options.seed), options.out / "trolley.toml", options.out / "runs"
    verdicts, lost_tiles, lost_segments, tiles_before, segments_before = [], 0, 0, 0, set()
    for _ in range(options.kills):
        ports = {side: free_port() for side in SIDES}
        write_site(site, ports, options.model)
        with senders(options.streams, ports, 1):
            process = started(site, options.out / "run.log")
            if dice.random() < 0.8:  # the others fall while it starts
                wait_for_run(out, process)
            time.sleep(dice.uniform(0.0, options.longest))
            process.kill()
            process.wait()
        verdict, tiles, segments, _ = state(out)
        verdicts.append(verdict)
        lost_tiles += max(tiles_before - tiles, 0)
        lost_segments += len(segments_before - segments)
        tiles_before, segments_before = tiles, segments
        print(f"{len(verdicts)}: {verdict}, {tiles} tiles, {len(segments)} segments", file=sys.stderr)
    return {"kills": options.kills, "integrity": verdicts, "lost_tiles": lost_tiles, "lost_segments": lost_segments}


def worked_off(options: argparse.Namespace) -> int:
    """Start once more and wait until nothing waits; the exit code after SIGTERM."""
    site = options.out / "trolley.toml"
    write_site(site, {side: free_port() for side in SIDES}, options.model)
    process = started(site, options.out / "run.log")
    while state(options.out / "runs")[3] and process.poll() is None:
        time.sleep(1.0)
    time.sleep(2.0)
    process.send_signal(signal.SIGTERM)
    return process.wait(120)


def recounted(options: argparse.Namespace, rows: list[dict]) -> list[int]:
    """Fruit of each counted row's stored panorama, counted anew."""
    folder = RunFolder(run_folders(options.out / "runs")[-1])
    panoramas = [str(folder.segments(number)) for number, row in enumerate(rows) if row["state"] == "merged"]
    command = [sys.executable, "-m", "edgekit", "run", "--panorama", *panoramas, "--out", str(options.out / "again")]
    command += ["--json", "--quiet", *(["--model", str(options.model)] if options.model else [])]
    summary = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [row["fruit"] for row in summary["rows"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs; emptied")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--longest", type=float, default=15.0, help="seconds from a start to its kill, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    told = kill_again_and_again(options)
    told["exit_code"] = worked_off(options)
    rows = counted(options.out / "runs")
    fruit = [row["fruit"] for row in rows if row["state"] == "merged"]
    told |= {"rows": len(rows), "counted_rows": len(fruit), "fruit": sum(fruit)}
    told["without_a_segment"] = sum(row["state"] == "failed" for row in rows)
    again = recounted(options, rows)
    told |= {"fruit_counted_anew": sum(again), "same_counts": again == fruit}
    print(json.dumps(told, indent=2))
    if options.json:
        options.json.write_text(json.dumps({**told, "by_row": rows}, indent=1) + "\n")
    whole = all(verdict == "ok" for verdict in told["integrity"]) and not lost(told)
    sys.exit(0 if whole and told["same_counts"] and told["exit_code"] == 0 else 1)


def lost(told: dict) -> bool:
    uncounted = told["rows"] - told["counted_rows"] - told["without_a_segment"]
    return bool(told["lost_tiles"] or told["lost_segments"] or uncounted)


if __name__ == "__main__":
    main()
