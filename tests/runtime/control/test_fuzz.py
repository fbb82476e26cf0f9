"""Any bytes on the socket: the server lives, nothing is opened or written outside the run's folder."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgekit.errors import SettingsError
from edgekit.runtime.control import ControlServer, Reply, RowStart, StatusQuery, ask, row_name, run_socket
from edgekit.runtime.control.wire import decode_command

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NEAR = st.fixed_dictionaries({}, optional={
    "version": st.sampled_from([1, 1, 1, 0, 2, "1", None, True]),
    "command": st.sampled_from(["row_start", "row_stop", "status", "stop", "rm", None]) | JSON,
    "row": st.text(max_size=80) | st.sampled_from(["../x", "/etc", "..", "a/b", "\0"]) | JSON,
    "side": st.text(max_size=40) | JSON,
    "more": JSON,
})  # fmt: skip
LINES = st.one_of(
    st.binary(max_size=200),
    NEAR.map(lambda words: json.dumps(words).encode()), JSON.map(lambda value: json.dumps(value).encode()),
    st.integers(1, 20_000).map(lambda count: b"[" * count), st.integers(1, 20_000).map(lambda count: b"1" * count),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(LINES)
def test_a_line_is_a_command_or_is_refused(line) -> None:
    refusal, command = "", None
    try:
        command = decode_command(line)
    except SettingsError as error:
        refusal = str(error)
    assert refusal.isprintable()
    if isinstance(command, RowStart):
        assert row_name(command.row) == command.row


class FolderHandler:
    """Does what a run does with a row's name: makes a folder of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, command) -> Reply:
        if isinstance(command, RowStart):
            (self.folder / command.row).mkdir(exist_ok=True)
        return Reply(True)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server, the run's folder, and the folder above it, in which nothing may appear."""
    above = tmp_path_factory.mktemp("above")
    run, state = above / "run", above / "state"
    run.mkdir()
    state.mkdir()
    with ControlServer(run_socket(state), FolderHandler(run), line_within_s=0.5) as server:
        yield server, above
    assert sorted(entry.name for entry in above.iterdir()) == ["run", "state"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, min_size=1, max_size=3), st.booleans(), st.integers(1, 64))
def test_any_bytes_on_the_socket(served, lines, whole, piece) -> None:
    server, above = served
    data = b"\n".join(lines) + (b"\n" if whole else b"")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        client.connect(str(server.path))
        answer = b""
        with suppress(ConnectionError):
            for start in range(0, min(len(data), 8 * piece), piece):  # the first bytes in pieces
                client.sendall(data[start : start + piece])
            client.sendall(data[8 * piece :])
            client.shutdown(socket.SHUT_WR)
            while chunk := client.recv(65536):
                answer += chunk
    if answer:
        words = json.loads(answer)
        assert answer.count(b"\n") == 1
        assert isinstance(words["ok"], bool)
    assert ask(server.path, StatusQuery()).ok
    assert sorted(entry.name for entry in above.iterdir()) == ["run", "state"]


def test_many_rude_clients_at_once_leave_no_threads_and_no_handles(served) -> None:
    server, _ = served
    process = psutil.Process()
    handles, threads = process.num_fds(), threading.active_count()
    rng = random.Random(5)

    def rude() -> None:
        for _ in range(15):
            with socket.socket(socket.AF_UNIX) as client, suppress(OSError):
                client.settimeout(1)
                client.connect(str(server.path))
                client.sendall(os.urandom(rng.choice([0, 1, 100, 5000, 100_000])))
                if rng.random() < 0.5:
                    client.recv(100)

    crowd = [threading.Thread(target=rude) for _ in range(12)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join(30)
    until_s = time.monotonic() + 5
    while (process.num_fds() > handles or threading.active_count() > threads) and time.monotonic() < until_s:
        time.sleep(0.05)
    assert process.num_fds() <= handles
    assert threading.active_count() <= threads
    assert ask(server.path, StatusQuery()).ok


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_names_from_anywhere_make_folders_within_the_run_alone(served, text) -> None:
    _, above = served
    with suppress(SettingsError):
        folder = above / "run" / row_name(text)
        folder.mkdir(exist_ok=True)
        assert folder.resolve().parent == (above / "run").resolve()
