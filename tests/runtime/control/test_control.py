"""The control socket: commands there and answers back, one server a place, bad clients, leftovers of a kill."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from edgekit.errors import NothingRunsError, RunFolderError, SettingsError, StorageError
from edgekit.runtime.control import (
    ControlServer,
    Reply,
    RowStart,
    RowStop,
    StatusQuery,
    Stop,
    ask,
    run_socket,
    usual_socket,
    usual_sockets,
)
from edgekit.runtime.control.place import short_address
from edgekit.runtime.control.server import MOST_CLIENTS
from edgekit.runtime.control.wire import LONGEST_COMMAND, decode_command, decode_reply, encode_command, encode_reply

SERVE = """
import sys, time
from pathlib import Path
from edgekit.runtime.control import ControlServer, Reply
server = ControlServer(Path(sys.argv[1]), lambda command: Reply(True, "here"))
print("ready", flush=True)
time.sleep(60)
"""


def echo(command) -> Reply:
    return Reply(True, repr(command), {"seen": type(command).__name__})


def raw(path: Path, data: bytes, *, close: bool = True) -> bytes:
    """What the server says to these bytes."""
    with socket.socket(socket.AF_UNIX) as client, short_address(path) as address:
        client.settimeout(5)
        client.connect(address)
        answer = b""
        with suppress(ConnectionError):
            client.sendall(data)
            if close:
                client.shutdown(socket.SHUT_WR)
            while chunk := client.recv(65536):
                answer += chunk
        return answer


@pytest.mark.parametrize(
    "command",
    [RowStart("12", "left"), RowStart("Ä_1"), RowStop("right"), RowStop(), StatusQuery(), Stop(), Stop(finish=True)],
)
def test_commands_arrive_as_they_were_sent(tmp_path: Path, command) -> None:
    assert decode_command(encode_command(command).strip()) == command
    seen = []
    with ControlServer(run_socket(tmp_path), lambda got: seen.append(got) or Reply(True, "done")) as server:
        assert ask(server.path, command) == Reply(True, "done")
    assert seen == [command]


def test_answers_go_there_and_back() -> None:
    reply = Reply(False, "no side 'centre'\nä", {"cameras": [1, None]})
    assert decode_reply(encode_reply(reply).strip()) == reply
    for line in (b"{}", b"[]", b'{"version":1}', b'{"version":1,"ok":1,"message":"","data":{}}'):
        with pytest.raises(SettingsError):
            decode_reply(line)


@pytest.mark.parametrize(("line", "told"), [
    (b"", "no line of JSON"), (b"status", "no line of JSON"), (b"\xff\xfe", "no line of JSON"),
    (b"[" * 4000, "no line"), (b"3", "no JSON object"), (b"{}", "version None"),
    (b'{"version":2,"command":"status"}', "version 2"),
    (b'{"version":true,"command":"status"}', "version True"), (b'{"version":1}', "no such command: None"),
    (b'{"version":1,"command":["status"]}', "no such command"),
    (b'{"version":1,"command":"row_start","row":12}', "name of the row is 12"),
    (b'{"version":1,"command":"row_start","row":"../../etc"}', "is no name for a row"),
    (b'{"version":1,"command":"row_start","row":"12","side":3}', "side is 3"),
    (b'{"version":1,"command":"stop","finish":1}', "finish is 1"),
    (b'{"version":1,"command":"status","row":"12"}', "status takes no 'row'"),
    (b'{"version":1,"command":"row_stop","side":"' + b"x" * 99 + b'"}', "side is"),
    (b'{"version":1,"command":"row_start","row":' + b"9" * 5000 + b"}", "no line of JSON"),
])  # fmt: skip
def test_what_is_no_command_is_refused_in_one_line(line, told) -> None:
    with pytest.raises(SettingsError, match=told) as found:
        decode_command(line)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 400


def test_only_the_user_reaches_it_and_it_goes_with_the_run(tmp_path: Path) -> None:
    before = {found.laddr for found in psutil.Process().net_connections(kind="inet")}
    with ControlServer(run_socket(tmp_path), echo) as server:
        assert stat.S_IMODE(server.path.stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "control.sock.lock").stat().st_mode) == 0o600
        assert {found.laddr for found in psutil.Process().net_connections(kind="inet")} == before
    assert not server.path.exists()
    server.close()
    with pytest.raises(NothingRunsError, match="nothing runs"):
        ask(server.path, StatusQuery())
    with pytest.raises(NothingRunsError):
        ask(tmp_path / "no folder" / "control.sock", StatusQuery())


def test_the_mode_holds_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with ControlServer(run_socket(tmp_path), echo) as server:
            assert stat.S_IMODE(server.path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_a_deep_folder_is_no_trouble(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120) / ("y" * 120)
    deep.mkdir(parents=True)
    with ControlServer(run_socket(deep), echo) as server:
        assert ask(server.path, StatusQuery()).ok


def test_errors_of_the_handler_are_told(tmp_path: Path, caplog) -> None:
    def handle(command) -> Reply:
        if isinstance(command, RowStart):
            raise SettingsError("no side 'top'", mend="use left or right")
        raise KeyError("bug")

    with ControlServer(run_socket(tmp_path), handle) as server:
        assert ask(server.path, RowStart("1", "top")) == Reply(False, "no side 'top' - use left or right")
        assert "log has the trace" in ask(server.path, Stop()).message
        assert "KeyError: 'bug'" in caplog.text
        assert not ask(server.path, RowStart("2")).ok  # it lives on


def test_a_second_server_is_refused_also_in_the_same_process(tmp_path: Path) -> None:
    path = run_socket(tmp_path)
    with ControlServer(path, echo), pytest.raises(RunFolderError, match="another edgekit runs here already"):
        ControlServer(path, echo)
    with ControlServer(path, echo) as server:
        assert ask(server.path, StatusQuery()).ok


def test_two_processes_and_the_socket_of_a_killed_one(tmp_path: Path) -> None:
    path = run_socket(tmp_path)
    with subprocess.Popen([sys.executable, "-c", SERVE, str(path)], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "ready\n"
            assert ask(path, StatusQuery()).message == "here"
            with pytest.raises(RunFolderError, match="another edgekit runs here already"):
                ControlServer(path, echo)
            assert ask(path, StatusQuery()).message == "here"  # the refused one took nothing from it
        finally:
            other.send_signal(signal.SIGKILL)
    assert path.is_socket()  # left by the kill
    with pytest.raises(NothingRunsError):
        ask(path, StatusQuery())
    with ControlServer(path, echo):
        assert ask(path, StatusQuery()).data == {"seen": "StatusQuery"}


def test_places_that_cannot_hold_a_socket(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        ControlServer(run_socket(tmp_path / "gone"), echo)
    run_socket(tmp_path).write_text("a person's file")
    with pytest.raises(StorageError, match="cannot make the control socket"):
        ControlServer(run_socket(tmp_path), echo)
    assert run_socket(tmp_path).read_text() == "a person's file"


def test_long_lines_and_lines_that_never_end(tmp_path: Path) -> None:
    with ControlServer(run_socket(tmp_path), echo, line_within_s=0.5) as server:
        answer = json.loads(raw(server.path, b"x" * (LONGEST_COMMAND + 1), close=False))
        assert f"more than {LONGEST_COMMAND} bytes" in answer["message"]
        answer = json.loads(raw(server.path, b'{"version":1', close=False))
        assert answer["message"] == "no whole line within 0.5 s"
        assert raw(server.path, b'{"version":1') == b""  # left in the middle of a line
        assert ask(server.path, StatusQuery()).ok


def test_bytes_that_trickle_do_not_extend_the_time(tmp_path: Path) -> None:
    with (
        ControlServer(run_socket(tmp_path), echo, line_within_s=0.5) as server,
        socket.socket(socket.AF_UNIX) as client,
    ):
        client.connect(str(server.path))
        client.settimeout(0.1)
        begun_s = time.monotonic()
        with suppress(BrokenPipeError, ConnectionResetError):
            while time.monotonic() - begun_s < 5:
                client.send(b"x")
                with suppress(TimeoutError):
                    if b"no whole line" in client.recv(4096):
                        break
        assert 0.4 < time.monotonic() - begun_s < 4.5


def test_silent_clients_do_not_shut_the_others_out_for_long(tmp_path: Path) -> None:
    with ControlServer(run_socket(tmp_path), echo, line_within_s=1.5) as server:
        silent = [socket.socket(socket.AF_UNIX) for _ in range(MOST_CLIENTS)]
        for client in silent:
            client.connect(str(server.path))
        assert "busy" in ask(server.path, StatusQuery()).message
        until_s = time.monotonic() + 20
        while not ask(server.path, StatusQuery()).ok:
            assert time.monotonic() < until_s
            time.sleep(0.1)
        for client in silent:
            client.close()


def test_a_client_that_leaves_before_its_answer(tmp_path: Path) -> None:
    left = threading.Event()

    def handle(command) -> Reply:
        left.wait(5)
        return Reply(True, "x" * 500_000)

    with ControlServer(run_socket(tmp_path), handle) as server:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(server.path))
            client.sendall(encode_command(Stop()))
        left.set()
        assert len(ask(server.path, StatusQuery()).message) == 500_000


def test_a_run_that_does_not_answer(tmp_path: Path) -> None:
    release = threading.Event()
    with ControlServer(run_socket(tmp_path), lambda command: Reply(release.wait(5))) as server:
        with pytest.raises(RunFolderError, match="does not answer"):
            ask(server.path, StatusQuery(), within_s=0.3)
        release.set()


def test_usual_places() -> None:
    systemd = {"RUNTIME_DIRECTORY": "/run/edgekit:/run/other", "XDG_RUNTIME_DIR": "/run/user/1000"}
    assert usual_socket(systemd) == Path("/run/edgekit/control.sock")
    assert usual_socket({"XDG_RUNTIME_DIR": "/run/user/1000"}) == Path("/run/user/1000/edgekit/control.sock")
    assert usual_socket({}) is None
    assert [str(path.parent) for path in usual_sockets(systemd)] == ["/run/edgekit", "/run/user/1000/edgekit"]
