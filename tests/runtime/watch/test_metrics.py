"""Metrics and health over HTTP: every figure, the right codes, the token, loopback, taken ports, bad clients."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest
from boards import Clock, two_cameras
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from edgekit.errors import SettingsError
from edgekit.runtime.watch import DeviceStatus, ModelStatus
from edgekit.runtime.watch.http_server import MOST_CLIENTS, MetricsServer, serve_metrics
from edgekit.runtime.watch.metrics import metrics_text
from edgekit.runtime.watch.settings import MetricsSettings

TOKEN = "0123456789abcdef"
LOCAL = MetricsSettings(port=0)


def get(server: MetricsServer, path: str, *, token: str | None = None, method: str = "GET"):
    """Status, body and headers."""
    headers = {} if token is None else {"Authorization": token}
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def samples(text: bytes) -> dict[tuple, float]:
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def busy_board():
    clock = Clock()
    board = two_cameras(clock)
    for _ in range(3):
        board.frame("cam-l", dropped=1)
        clock.wait(0.1)
    board.placed("cam-l", 2)
    board.camera_fault("cam-r", "gone")
    board.row_opened("left", "12")
    board.row_counts("left", fruit=9)
    board.tiles_done(5)
    board.backlog(4, oldest_age_s=2)
    board.stage("infer", 0.3)
    board.stage("infer", 30.0)
    board.device(DeviceStatus({"gpu": 51.5}, 8.25, None, 10**9, 10**10, 200.0))
    return board


def test_every_figure_is_there() -> None:
    board = busy_board()
    board.model(ModelStatus("yolo11", "cpu", "cpu", season="may"))
    assert not any("confidence" in key[0] for key in samples(metrics_text(board.snapshot)))  # not judged: no sample
    board.drift("confidences have drifted", drifted=True, rank_shift=-0.2)
    found = samples(metrics_text(board.snapshot))
    assert found["edgekit_confidences_drifted",] == 1
    assert found["edgekit_confidence_rank_shift",] == -0.2
    left, right = (("camera", "cam-l"), ("side", "left")), (("camera", "cam-r"), ("side", "right"))
    assert found[("edgekit_frames_total", *left)] == 3
    assert found[("edgekit_frames_dropped_total", *left)] == 3
    assert found[("edgekit_frames_placed_total", *left)] == 2
    assert found[("edgekit_camera_rate_hertz", *left)] == pytest.approx(10)
    assert ("edgekit_camera_rate_hertz", *right) not in found  # unknown is not 0
    assert found[("edgekit_camera_faults_total", *right)] == 1
    assert (found[("edgekit_camera_up", *left)], found[("edgekit_camera_up", *right)]) == (1, 0)
    assert found["edgekit_tiles_total",] == 5
    assert found["edgekit_fruit",] == 9
    assert found["edgekit_row_fruit", ("side", "left")] == 9
    assert ("edgekit_row_fruit", ("side", "right")) not in found
    assert (found["edgekit_backlog_tiles",], found["edgekit_lag_seconds",]) == (4, 2)
    assert found["edgekit_health",] == 2
    assert found["edgekit_temperature_celsius", ("sensor", "gpu")] == 51.5
    assert (found["edgekit_power_watts",], found["edgekit_disk_free_bytes",]) == (8.25, 1e9)
    assert found["edgekit_stage_seconds_bucket", ("le", "0.5"), ("stage", "infer")] == 1
    assert found["edgekit_stage_seconds_bucket", ("le", "+Inf"), ("stage", "infer")] == 2
    assert found["edgekit_stage_seconds_sum", ("stage", "infer")] == pytest.approx(30.3)


def test_what_the_device_does_not_tell_has_no_sample() -> None:
    found = samples(metrics_text(two_cameras().snapshot))
    assert not any(key[0] in ("edgekit_power_watts", "edgekit_temperature_celsius") for key in found)


def test_two_runs_in_one_process_do_not_meet() -> None:
    one, two = two_cameras(), two_cameras()
    one.tiles_done(3)
    assert samples(metrics_text(one.snapshot))["edgekit_tiles_total",] == 3
    assert samples(metrics_text(two.snapshot))["edgekit_tiles_total",] == 0


def test_http_codes() -> None:
    board = two_cameras()
    with MetricsServer(board.snapshot, LOCAL) as server:
        status, body, headers = get(server, "/metrics")
        assert status == 200
        assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert samples(body)["edgekit_health",] == 0
        status, body, headers = get(server, "/healthz")
        assert (status, json.loads(body)["status"], headers["Content-Type"]) == (200, "ok", "application/json")
        board.problem("space", "little space is left")
        assert get(server, "/healthz")[0] == 200  # it still counts
        board.problem("stalled", "5 tiles wait", level="fault")
        status, body, _ = get(server, "/healthz?verbose")
        assert (status, json.loads(body)["problems"]) == (503, ["5 tiles wait", "little space is left"])
        assert get(server, "/healthz", method="HEAD")[:2] == (503, b"")
        assert get(server, "/")[0] == 404
        assert get(server, "/metrics/../../etc/passwd")[0] == 404
        assert get(server, "/metrics", method="POST")[0] == 501


def test_the_token_is_asked_for() -> None:
    with MetricsServer(two_cameras().snapshot, MetricsSettings(port=0, token=TOKEN)) as server:
        for path in ("/metrics", "/healthz", "/"):
            status, _, headers = get(server, path)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
        for wrong in (f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer ", "Bearer \xe4"):
            assert get(server, "/metrics", token=wrong)[0] == 401
        assert get(server, "/metrics", token=f"Bearer {TOKEN}")[0] == 200


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.20", "::ffff:127.0.0.1%eth0", "trolley.local", "", "300.1"]
)
def test_beyond_loopback_only_with_a_token(host) -> None:
    with pytest.raises(SettingsError):
        MetricsSettings(host=host)


def test_tokens_and_ports_are_checked(tmp_path: Path) -> None:
    assert MetricsSettings(host="0.0.0.0", token=TOKEN).address == "0.0.0.0"
    assert MetricsSettings(host="localhost").address == "127.0.0.1"
    for wrong in ("short", "with blanks within it", "ä" * 20, "x" * 20 + "\n"):
        with pytest.raises(SettingsError, match="token"):
            MetricsSettings(token=wrong)
    with pytest.raises(SettingsError, match="port"):
        MetricsSettings(port=70_000)
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert MetricsSettings(host="0.0.0.0", token_file=file).read_token() == TOKEN
    file.write_text("")
    with pytest.raises(SettingsError):
        MetricsSettings(host="0.0.0.0", token_file=file).read_token()
    with pytest.raises(SettingsError, match="cannot read"):
        MetricsServer(two_cameras().snapshot, MetricsSettings(port=0, token_file=tmp_path / "none"))


def listening() -> set[tuple[str, int]]:
    connections = psutil.Process(os.getpid()).net_connections(kind="inet")
    return {(found.laddr.ip, found.laddr.port) for found in connections if found.status == psutil.CONN_LISTEN}


def test_nothing_listens_beyond_loopback_by_itself() -> None:
    before = listening()
    with MetricsServer(two_cameras().snapshot, LOCAL) as server:
        assert listening() - before == {("127.0.0.1", server.port)}
    with MetricsServer(two_cameras().snapshot, MetricsSettings(port=0, host="0.0.0.0", token=TOKEN)) as server:
        assert listening() - before == {("0.0.0.0", server.port)}
    assert listening() == before


def test_a_taken_port_is_one_line_and_the_run_goes_on(caplog) -> None:
    with MetricsServer(two_cameras().snapshot, LOCAL) as server:
        assert serve_metrics(two_cameras().snapshot, MetricsSettings(port=server.port)) is None
    (record,) = caplog.records
    assert record.getMessage().startswith(
        f"no metrics: cannot listen at 127.0.0.1:{server.port}: Address already in use"
    )
    assert serve_metrics(two_cameras().snapshot, MetricsSettings(enabled=False)) is None


def test_clients_that_say_nothing_do_not_shut_the_others_out(monkeypatch) -> None:
    monkeypatch.setattr("edgekit.runtime.watch.http_server.REQUEST_WITHIN_S", 0.5)
    with MetricsServer(two_cameras().snapshot, LOCAL) as server:
        silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(MOST_CLIENTS + 3)]
        time.sleep(1.0)
        assert get(server, "/metrics")[0] == 200
        for client in silent:
            client.close()


@pytest.fixture(scope="module")
def guarded():
    """A server with a token, for many clients."""
    with MetricsServer(two_cameras().snapshot, MetricsSettings(port=0, token=TOKEN)) as server:
        yield server


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", b"GET ", b"GET /metrics HTTP/1.1\r\nAuthorization: Bearer "]))
def test_any_bytes_are_survived(guarded, noise, start) -> None:
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=5) as client:
        answer = b""
        with contextlib.suppress(ConnectionError):  # the server may close before it has read everything
            client.sendall(start + noise)
            client.shutdown(socket.SHUT_WR)
            while chunk := client.recv(65536):
                answer += chunk
    assert b"edgekit_tiles" not in answer
    assert get(guarded, "/healthz", token=f"Bearer {TOKEN}")[0] == 200
