"""SIGKILL a sync at random moments; does it end with the same digests, and with nothing twice?

    python bench/sync/interrupt.py --kills 20 --json bench/sync/results/interrupt.json

It makes a run of random segments. Targets are a folder and a real S3 server (moto, in a process of its own). The clock
of a kill starts when something new shows at the target, so that a busy machine does not move every kill before the
first file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from edgekit.atomic import write_atomic
from edgekit.store import PanoramaShape, RunFolder, RunPlan, RunRecorder, SourcePlan
from edgekit.sync.files import run_files

BUCKET = "harvest"


class Place(Protocol):
    """A target whose content can be listed."""

    url: str
    options: Path | None

    def digests(self) -> dict[str, str]:
        """Path -> SHA-256 of everything that lies there."""
        ...

    def count(self) -> int:
        """Files that lie there, half-written ones included where the target shows them."""
        ...

    def leftovers(self) -> int:
        """Uploads that were begun and never ended, where the target keeps such."""
        ...

    def close(self) -> None:
        """End what was started for it."""
        ...


class Folder:
    """A folder of this machine."""

    options = None

    def __init__(self, path: Path) -> None:
        path.mkdir()
        self._path, self.url = path, str(path)

    def digests(self) -> dict[str, str]:
        files = [path for path in self._path.rglob("*") if path.is_file()]
        return {path.relative_to(self._path).as_posix(): sha256(path.read_bytes()) for path in files}

    def count(self) -> int:
        return sum(path.is_file() for path in self._path.rglob("*"))

    def leftovers(self) -> int:
        return 0

    def close(self) -> None:
        """Nothing runs."""


class Bucket:
    """A bucket of a moto server that this starts."""

    url = f"s3://{BUCKET}/trolley1"

    def __init__(self, folder: Path, port: int) -> None:
        import boto3

        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        self._server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        endpoint = f"http://127.0.0.1:{port}"
        keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
        self._client = boto3.client("s3", endpoint_url=endpoint, **keys)
        for _ in range(100):
            try:
                self._client.create_bucket(Bucket=BUCKET)
                break
            except Exception:
                time.sleep(0.1)
        self.options = folder / "s3.toml"
        self.options.write_text(
            f'key = "key"\nsecret = "secret"\n[client_kwargs]\nendpoint_url = "{endpoint}"\nregion_name = "us-east-1"\n'
        )
        self.options.chmod(0o600)

    def digests(self) -> dict[str, str]:
        found = {}
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
            for item in page.get("Contents", []):
                content = self._client.get_object(Bucket=BUCKET, Key=item["Key"])["Body"].read()
                found[item["Key"].removeprefix("trolley1/")] = sha256(content)
        return found

    def count(self) -> int:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        return sum(len(page.get("Contents", [])) for page in pages)

    def leftovers(self) -> int:
        return len(self._client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []))

    def close(self) -> None:
        self._server.terminate()
        self._server.wait()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def make_run(folder: Path, *, segments: int, segment_bytes: int) -> Path:
    """A finished run with segments of random bytes."""
    run = RunFolder(folder)
    run.segments(0).mkdir(parents=True)
    recorder = RunRecorder(run.database)
    model: dict[str, Any] = {"class_names": ["pepper"], "score_floor": 0.05}
    run_id = recorder.begin(RunPlan(model, "1" * 64, {}, 0.5, "bench", (SourcePlan("row.mp4", "frames", "1"),)))
    recorder.close_source(recorder.reader.sources()[0].id, PanoramaShape(900, (4096 * segments, 720), segments, 1))
    for number in range(segments):
        (run.segments(0) / f"{number:06d}.jpg").write_bytes(random.Random(number).randbytes(segment_bytes))
    run.summary.write_text("{}")
    recorder.finish(run_id)
    recorder.close()
    return folder


def command(run: Path, place: Place) -> list[str]:
    options = ["--options", str(place.options)] if place.options else []
    return [sys.executable, "-m", "edgekit", "sync", str(run), place.url, "--json", *options]


def finish(run: Path, place: Place) -> dict[str, Any]:
    done = subprocess.run(command(run, place), capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)["runs"][0]
    return answer


def kill_once(run: Path, place: Place, after_s: float) -> str:
    """Start a sync and kill it some time after it has brought something; tell how far it was."""
    before = place.count()
    process = subprocess.Popen(command(run, place), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and place.count() == before:
        time.sleep(0.02)
    try:
        process.wait(timeout=after_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
    else:
        return "finished before"
    return "after the end" if is_complete(run, place) else "while sending"


def is_complete(run: Path, place: Place) -> bool:
    """What the run's own record says of this target."""
    if not (run / "sync.json").is_file():
        return False
    targets = json.loads((run / "sync.json").read_bytes())["targets"]
    return any(item["complete"] for item in targets.values())


def try_place(run: Path, place: Place, *, kills: int, chance: random.Random) -> dict[str, Any]:
    """Kill syncs until `kills` have met one at work, then let one finish, and compare."""
    wanted = {f"{run.name}/{p.relative_to(run).as_posix()}": sha256(p.read_bytes()) for p in run_files(run)}
    start_s = time.monotonic()
    moments: dict[str, int] = {}
    while moments.get("while sending", 0) < kills:
        told = kill_once(run, place, chance.uniform(0, 0.1))
        moments[told] = moments.get(told, 0) + 1
        if told in ("finished before", "after the end"):
            break
    last = finish(run, place)
    again = finish(run, place)
    there = place.digests()
    manifest = there.pop(f"{run.name}/manifest.json", None)
    return {
        "files": len(wanted),
        "bytes": sum(path.stat().st_size for path in run_files(run)),
        "killed": moments,
        "sent_by_the_last": last["sent"],
        "sent_when_complete": again["sent"],
        "same_digests": there == wanted and manifest is not None,
        "more_than_the_run": sorted(there.keys() - wanted.keys()),
        "unfinished_uploads": place.leftovers(),
        "seconds": round(time.monotonic() - start_s, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--segments", type=int, default=600)
    parser.add_argument("--segment-bytes", type=int, default=600_000)
    parser.add_argument("--port", type=int, default=5555, help="of the S3 server that is started")
    parser.add_argument("--only", choices=("folder", "s3"), help="of the targets")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    chance, results = random.Random(arguments.seed), {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = {"segments": arguments.segments, "segment_bytes": arguments.segment_bytes}
        for kind in (arguments.only,) if arguments.only else ("folder", "s3"):
            place = Folder(folder / "usb") if kind == "folder" else Bucket(folder, arguments.port)
            try:
                run = make_run(folder / kind / "night", **size)
                results[kind] = try_place(run, place, kills=arguments.kills, chance=chance)
            finally:
                place.close()
    print(json.dumps(results, indent=1))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(arguments.json, json.dumps(results, indent=1).encode())
    sys.exit(0 if all(good(item, arguments.kills) for item in results.values()) else 1)


def good(item: dict[str, Any], kills: int) -> bool:
    met = item["killed"].get("while sending", 0) >= kills
    return bool(met and item["same_digests"] and not item["sent_when_complete"] and not item["more_than_the_run"])


if __name__ == "__main__":
    main()
