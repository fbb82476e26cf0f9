"""`edgekit run --site` as a process of its own: two network cameras, and everything that can be asked from outside."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import cv2
import numpy as np
import psutil
import pytest
from ride import stored

from edgekit.runtime.control import StatusQuery, ask
from edgekit.runtime.live.runs import run_folders
from edgekit.runtime.watch import Snapshot

EDGEKIT = [sys.executable, "-c", "from edgekit.cli.main import main; main()"]
FRAME_WH = (640, 240)
STEP_PX, RATE_HZ = 8, 15
PATIENCE_S = 240.0
"""The machine of the tests may be busy with others."""


class Sender:
    """A camera on the network: a picture that slides along a textured scene, as MPEG transport stream over UDP."""

    def __init__(self, seed: int) -> None:
        self.port = free_port(socket.SOCK_DGRAM)
        noise = np.random.default_rng(seed).integers(0, 255, (60, 2000, 3), np.uint8)
        self._scene = cv2.resize(noise, (8000, FRAME_WH[1]), interpolation=cv2.INTER_CUBIC)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _send(self) -> None:
        with av.open(f"udp://127.0.0.1:{self.port}?pkt_size=1316", "w", format="mpegts") as target:
            stream = target.add_stream("mpeg2video", rate=25, options={"g": "5", "b": "6000000"})
            stream.width, stream.height, stream.pix_fmt = *FRAME_WH, "yuv420p"
            count = 0
            while not self._ended.wait(1 / RATE_HZ):
                x = count * STEP_PX % (self._scene.shape[1] - FRAME_WH[0])
                picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(self._scene[:, x : x + FRAME_WH[0]]), "rgb24")
                picture.pts = count
                for packet in stream.encode(picture):
                    target.mux(packet)
                count += 1


def free_port(kind: int = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Trolley:
    """The process, its site, and what systemd is told."""

    def __init__(self, folder: Path, senders: dict[str, Sender]) -> None:
        self.folder, self.port = folder, free_port()
        self.site = folder / "trolley.toml"
        cameras = "".join(
            f'[[cameras]]\nname = "cam-{side}"\nside = "{side}"\n[cameras.camera]\nkind = "stream"\n'
            f'address = "udp://127.0.0.1:{sender.port}"\n'
            for side, sender in senders.items()
        )
        self.site.write_text(
            f'out = "rides"\ncontrol = "edgekit.sock"\nthreads = 1\n{cameras}[metrics]\nport = {self.port}\n'
            '[log]\nfile = "run.log"\n[segments]\nwidth_px = 512\n'
        )
        self.told: list[str] = []
        self._manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._manager.bind(str(folder / "notify"))
        threading.Thread(target=self._listen, daemon=True).start()
        environment = {**os.environ, "NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": "3000000"}
        self.process = subprocess.Popen([*EDGEKIT, "run", "--site", str(self.site)], env=environment)

    def edgekit(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*EDGEKIT, *words, "--site", str(self.site)]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def status(self) -> Snapshot:
        return Snapshot.from_dict(ask(self.folder / "edgekit.sock", StatusQuery()).data)

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            return answer.read().decode()

    def until(self, holds: Callable[[], bool]) -> None:
        end_s = time.monotonic() + PATIENCE_S
        while not holds():
            log = self.folder / "run.log"
            assert time.monotonic() < end_s, log.read_text() if log.exists() else "no log"
            assert self.process.poll() is None, "edgekit ended"
            time.sleep(0.3)

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self.told.append(self._manager.recv(4096).decode())


@pytest.fixture
def trolley(tmp_path: Path) -> Iterator[Trolley]:
    senders = {side: Sender(seed) for seed, side in enumerate(("left", "right"))}
    started = Trolley(tmp_path, senders)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()
        for sender in senders.values():
            sender.close()


def test_a_night_from_outside(trolley: Trolley) -> None:
    trolley.until(lambda: "READY=1" in trolley.told)
    trolley.until(lambda: all(camera.frames > 15 for camera in trolley.status().cameras))

    refused = trolley.edgekit("row", "start", "12")
    assert refused.returncode != 0
    assert "--side left" in refused.stderr
    assert trolley.edgekit("row", "start", "12", "--side", "left").returncode == 0
    trolley.until(lambda: "12" in [row.row for row in trolley.status().rows])
    second = trolley.edgekit("run")
    assert (second.returncode, second.stderr.count("\n")) == (40, 1), second.stderr
    assert "another edgekit runs here already" in second.stderr

    edgekit = psutil.Process(trolley.process.pid)
    listening = {
        found.laddr[:2]
        for process in (edgekit, *edgekit.children(recursive=True))
        for found in process.net_connections("inet")
        if found.status == psutil.CONN_LISTEN
    }
    assert listening == {("127.0.0.1", trolley.port)}
    assert 'edgekit_row_open{side="left"} 1.0' in trolley.get("/metrics")
    assert json.loads(trolley.get("/healthz"))["status"] == "ok"

    trolley.until(lambda: trolley.status().rows[0].frames > 60)
    assert trolley.edgekit("row", "stop", "--side", "left").returncode == 0
    trolley.until(lambda: (now := trolley.status()).rows_done == 1 and now.backlog_tiles == 0 and now.tiles > 1)
    now = json.loads(trolley.edgekit("status", "--json").stdout)
    assert now["device"]["free_bytes"] > 0
    assert {stage["name"] for stage in now["stages"]} >= {"tile", "infer", "store", "merge"}
    assert trolley.told.count("WATCHDOG=1") >= 3

    trolley.process.send_signal(signal.SIGTERM)
    assert trolley.process.wait(PATIENCE_S) == 0
    assert "STOPPING=1" in trolley.told
    assert not (trolley.folder / "edgekit.sock").exists()
    assert trolley.edgekit("status").returncode == 43
    (row,) = stored(trolley.folder / "rides").rows.values()
    assert row.state == "merged"
    lines = [json.loads(line) for line in (trolley.folder / "run.log").read_text().splitlines()]
    counting = next(number for number, line in enumerate(lines) if line["text"].startswith("counting into"))
    (folder,) = run_folders(trolley.folder / "rides")
    assert {line["run"] for line in lines[counting:]} == {folder.name}
