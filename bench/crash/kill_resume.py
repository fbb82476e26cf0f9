"""Kill a run with SIGKILL at random moments, resume it, and compare it with a run that nobody killed.

    python bench/crash/kill_resume.py --folder WORK [--kills 20] [--seed 1] -- edgekit run SOURCE --model M.onnx --out

The command is given without the folder of the run, which is appended. Moments are drawn over the whole run, every
fourth one before its first tile is stored, the others after. A run is killed again and again until it happens to
finish; then the next one begins, until there were enough kills. After each kill SQLite must find the database whole,
and every tile and segment that was there after the kill before must still be there; each finished run must have the
counts of the reference and the same fruit, byte for byte. Exit code 1 where not.
"""

import argparse
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

COUNTS = ("frames", "panorama", "tiles", "detections", "fruit")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where the runs are written")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("command", nargs="+", help="the run's command, without its folder")
    return parser.parse_args()


def start(command: list[str], out: Path) -> subprocess.Popen:
    return subprocess.Popen([*command, str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen) -> None:
    _, said = process.communicate()
    if process.returncode:
        sys.exit(f"the run failed with {process.returncode}: {said.decode()}")


def timed_reference(command: list[str], out: Path) -> tuple[float, float]:
    """Run to the end; seconds until the first tile was stored, and until the end."""
    began, first_s = time.monotonic(), None
    process = start(command, out)
    while process.poll() is None:
        if first_s is None and (out / "run.sqlite").exists() and integrity(out, quick=True)[1]:
            first_s = time.monotonic() - began
        time.sleep(0.02)
    finish(process)
    whole_s = time.monotonic() - began
    return min(first_s or whole_s, whole_s), whole_s


def killed_after(process: subprocess.Popen, seconds: float) -> bool:
    """Kill the process after some time; False where it had finished by then."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True
    finish(process)
    return False


def integrity(out: Path, *, quick: bool = False) -> tuple[str, int]:
    """SQLite's verdict, and how many tiles outlived the kill; a run that was killed before it began is whole too."""
    if not (out / "run.sqlite").exists():
        return "ok", 0
    connection = sqlite3.connect(out / "run.sqlite", timeout=5.0)
    try:
        verdict = "not asked" if quick else connection.execute("PRAGMA integrity_check").fetchone()[0]
        begun = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'tiles'").fetchone()[0]
        tiles = connection.execute("SELECT count(*) FROM tiles").fetchone()[0] if begun else 0
    finally:
        connection.close()
    return verdict, tiles


def segments(out: Path) -> dict[str, int]:
    """Bytes of each segment on the disk."""
    return {str(path.relative_to(out)): path.stat().st_size for path in out.rglob("segment_?????.???")}


def outcome(out: Path) -> tuple[dict, bytes]:
    summary = json.loads((out / "summary.json").read_text())
    return {key: summary[key] for key in COUNTS}, (out / "fruit.coco.json").read_bytes()


@dataclass
class Tally:
    """What came of the kills."""

    verdicts: list[str] = field(default_factory=list)
    tiles_after_kill: list[int] = field(default_factory=list)
    segments_after_kill: list[int] = field(default_factory=list)
    lost: int = 0
    """Tiles and segments that a later kill or start took away."""
    finished_runs: int = 0
    same: bool = True

    def note(self, out: Path, before: tuple[int, dict[str, int]]) -> tuple[int, dict[str, int]]:
        """What a kill left, beside what the one before had left of the same run."""
        verdict, tiles = integrity(out)
        found = segments(out)
        self.verdicts.append(verdict)
        self.tiles_after_kill.append(tiles)
        self.segments_after_kill.append(len(found))
        self.lost += max(before[0] - tiles, 0)
        self.lost += sum(found.get(name) != size for name, size in before[1].items())
        return tiles, found

    @property
    def whole(self) -> bool:
        return all(verdict == "ok" for verdict in self.verdicts)


def is_finished(out: Path) -> bool:
    """True where the kill came after the run had ended, but before its process had."""
    if not (out / "summary.json").exists():
        return False
    connection = sqlite3.connect(out / "run.sqlite")
    state = connection.execute("SELECT state FROM runs").fetchone()[0]
    connection.close()
    return state == "finished"


def kill_again_and_again(
    settings: argparse.Namespace, reference: Path, cut: Path, times_s: tuple[float, float]
) -> Tally:
    dice, tally = random.Random(settings.seed), Tally()
    left: tuple[int, dict[str, int]] = (0, {})
    while len(tally.verdicts) < settings.kills:
        fresh, began = not cut.exists(), time.monotonic()
        early = len(tally.verdicts) % 4 == 0
        moment_s = dice.uniform(0.0, times_s[0]) if early else dice.uniform(*times_s)
        if killed_after(start(settings.command, cut), moment_s):
            left = tally.note(cut, left)
            if not is_finished(cut):
                if len(tally.verdicts) < settings.kills:
                    continue
                finish(start(settings.command, cut))
        elif fresh:  # the machine has become faster since the reference: aim at the time that a run takes now
            pace = min((time.monotonic() - began) / times_s[1], 1.0)
            times_s = (times_s[0] * pace, times_s[1] * pace)
        tally.finished_runs += 1
        tally.same = tally.same and outcome(cut) == outcome(reference)
        shutil.rmtree(cut)
        left = (0, {})
    return tally


def main() -> None:
    settings = options()
    reference, cut = settings.folder / "reference", settings.folder / "cut"
    for old in (reference, cut):
        shutil.rmtree(old, ignore_errors=True)
    first_s, whole_s = timed_reference(settings.command, reference)
    tally = kill_again_and_again(settings, reference, cut, (first_s, whole_s))
    counts = outcome(reference)[0]
    if settings.json:
        told = {"kills": len(tally.verdicts), "integrity": tally.verdicts, "tiles_after_kill": tally.tiles_after_kill}
        told |= {"segments_after_kill": tally.segments_after_kill, "lost_tiles_and_segments": tally.lost}
        told |= {"finished_runs": tally.finished_runs, "same_counts": tally.same, "seconds": whole_s, "counts": counts}
        print(json.dumps(told, indent=2))
    else:
        print(f"{len(tally.verdicts)} kills within {whole_s:.1f} s, the first tile was stored after {first_s:.1f} s")
        print(f"tiles that outlived the kills: {tally.tiles_after_kill}")
        print(f"tiles and segments that were lost again: {tally.lost}")
        print(f"integrity: {'ok each time' if tally.whole else tally.verdicts}")
        verdict = "the same counts and fruit as" if tally.same else "OTHER counts than"
        print(f"{tally.finished_runs} runs that ended: {verdict} {counts}")
    sys.exit(0 if tally.whole and tally.same and not tally.lost else 1)


if __name__ == "__main__":
    main()
