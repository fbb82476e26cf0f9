"""Runs to send, and a real broker to send their counts to."""

from __future__ import annotations

import getpass
import random
import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager

import numpy as np

from edgekit.contracts import Instances, MaskCrop
from edgekit.store import MergedFruit, PanoramaShape, RunFolder, RunPlan, RunRecorder, SourcePlan


def fruit(count):
    """Fruit in a line, each counted at 0.5."""
    if not count:
        return MergedFruit(Instances.empty(), (), ())
    masks = tuple(MaskCrop(np.ones((4, 4), bool), 10 * i, 0) for i in range(count))
    boxes = np.array([[10 * i, 0, 10 * i + 4, 4] for i in range(count)], np.float32)
    found = Instances(boxes, np.full(count, 0.9, np.float32), np.zeros(count, np.int32), masks)
    return MergedFruit(found, (False,) * count, (1,) * count)


def make_run(folder, *, rows=(3,), segments=4, segment_bytes=20_000, finished=True, seed=0):
    """A run of some rows with `rows[i]` fruit each, and segments of random bytes."""
    chance = random.Random(f"{folder.name} {seed}")
    run = RunFolder(folder)
    folder.mkdir(parents=True)
    recorder = RunRecorder(run.database)
    model = {"class_names": ["pepper"], "score_floor": 0.05, "model": "yolo11", "file": "m.onnx", "model_id": "1" * 64}
    sources = tuple(SourcePlan(f"row{i}.mp4", "frames", f"{folder.name} {seed} {i}") for i in range(len(rows)))
    run_id = recorder.begin(RunPlan(model, "1" * 64, {}, 0.5, "option --threshold", sources))
    for source, count in zip(recorder.reader.sources(), rows, strict=True):
        if count is None:
            continue
        recorder.close_source(source.id, PanoramaShape(30, (4096, 720), segments, 1))
        recorder.put_fruit(source.id, fruit(count))
        place = run.segments(source.number)
        place.mkdir(parents=True)
        for number in range(segments):
            (place / f"{number:06d}.jpg").write_bytes(chance.randbytes(segment_bytes))
        (place / "segments.json").write_text("{}")
    if finished:
        run.summary.write_text("{}")
        recorder.finish(run_id)
    recorder.close()
    return folder


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Mosquitto:
    """A real broker that may be stopped and started again; what it holds outlives that."""

    def __init__(self, folder, *, more=()):
        self.port, self._folder = free_port(), folder
        folder.mkdir()
        self._config = folder / "mosquitto.conf"
        # Started by root it would work as another user, who cannot write into the folders of tests: then a restart
        # loses sessions and what waits for them, without a word.
        lines = [f"user {getpass.getuser()}", f"listener {self.port} 127.0.0.1"]
        lines += ["persistence true", f"persistence_location {folder}/"]
        self._config.write_text("\n".join([*lines, *(more or ["allow_anonymous true"])]) + "\n")
        self._process = None

    @property
    def url(self):
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self):
        program = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        self._process = subprocess.Popen([program, "-c", str(self._config)], stderr=subprocess.DEVNULL)
        for _ in range(100):
            with socket.socket() as sock:
                if sock.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the broker did not start")

    def stop(self):
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=60)
            self._process = None
            assert (self._config.parent / "mosquitto.db").is_file(), "the broker did not keep what it holds"


@contextmanager
def listening(broker, topic, *, name="office"):
    """A subscriber whose session the broker keeps; yields the list of (topic, payload) that grows."""
    from paho.mqtt import client as paho
    from paho.mqtt.enums import CallbackAPIVersion

    heard, subscribed = [], threading.Event()
    client = paho.Client(CallbackAPIVersion.VERSION2, name, clean_session=False)
    client.reconnect_delay_set(1, 1)
    client.on_connect = lambda c, *_: c.subscribe(topic, qos=1)
    client.on_subscribe = lambda *_: subscribed.set()
    client.on_message = lambda c, data, message: heard.append((message.topic, message.payload))
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    assert subscribed.wait(10)
    yield heard
    client.disconnect()
    client.loop_stop()


def silent(stage, done, total=None):
    """Shows nothing."""
