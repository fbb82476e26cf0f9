"""Metrics and health on a local port."""

from __future__ import annotations

import hmac
import json
import logging
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from edgekit.runtime.watch.metrics import metrics_text
from edgekit.runtime.watch.settings import MetricsSettings
from edgekit.runtime.watch.snapshot import Snapshot

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
REQUEST_WITHIN_S = 5.0
"""Seconds from a connection to its end: a scrape takes milliseconds."""
MOST_CLIENTS = 8
"""Connections at once; one more is closed at once."""
_log = logging.getLogger(__name__)


class MetricsServer:
    """`/metrics` for Prometheus and `/healthz` for anybody who asks whether the run is well.

    `/healthz` answers 200 while the run counts (ok or degraded) and 503 where a part of it does not. With a token both
    need `Authorization: Bearer TOKEN`; without the right one the answer is 401.

    Args:
        snapshot: gives the run's state.
        settings: where to listen, and the token.

    Raises:
        OSError: the port is taken, or the address is not of this machine.
        SettingsError: the token cannot be read.
    """

    def __init__(self, snapshot: Callable[[], Snapshot], settings: MetricsSettings) -> None:
        token = settings.read_token()
        self._server = _Server(settings.address, settings.port, snapshot, None if token is None else token.encode())
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that was opened."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> MetricsServer:
        """The server itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def serve_metrics(snapshot: Callable[[], Snapshot], settings: MetricsSettings) -> MetricsServer | None:
    """Open the port; None where that is not wanted, or does not go: one line tells why, and the run goes on without.

    Raises:
        SettingsError: the token cannot be read.
    """
    if not settings.enabled:
        return None
    try:
        return MetricsServer(snapshot, settings)
    except OSError as error:
        place = f"{settings.address}:{settings.port}"
        _log.warning("no metrics: cannot listen at %s: %s; the run goes on without", place, error.strerror)
        return None


class _Server(ThreadingHTTPServer):
    """Few clients at once, none for long."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, address: str, port: int, snapshot: Callable[[], Snapshot], token: bytes | None) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.snapshot, self.token = snapshot, token
        self._places = threading.BoundedSemaphore(MOST_CLIENTS)
        super().__init__((address, port), _Handler)

    def server_bind(self) -> None:
        """Bind without looking up the host's name, which takes seconds where there is no network."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a client where there is a place for it."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a client, and end it when its time is up: bytes that trickle in one by one do not extend it."""
        timer = threading.Timer(REQUEST_WITHIN_S, _cut, [request])
        timer.daemon = True
        timer.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            timer.cancel()
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that broke off is no news; anything else goes to the log, not to standard error."""
        _log.debug("a client of the metrics port broke off", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "edgekit"
    sys_version = ""
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        """Answer."""
        if not self._allowed():
            self._send(HTTPStatus.UNAUTHORIZED, b"a token is needed\n", "text/plain", {"WWW-Authenticate": "Bearer"})
            return
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._send(HTTPStatus.OK, metrics_text(self.server.snapshot), METRICS_TYPE)
        elif path == "/healthz":
            now = self.server.snapshot()
            status = HTTPStatus.SERVICE_UNAVAILABLE if now.health == "fault" else HTTPStatus.OK
            self._send(status, json.dumps(health(now), ensure_ascii=False).encode() + b"\n", "application/json")
        else:
            self._send(HTTPStatus.NOT_FOUND, b"there are /metrics and /healthz\n", "text/plain")

    def do_HEAD(self) -> None:
        """Answer without a body."""
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""

    def _allowed(self) -> bool:
        if self.server.token is None:
            return True
        kind, _, given = self.headers.get("Authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self.server.token)
        return same and kind.lower() == "bearer"

    def _send(self, status: HTTPStatus, body: bytes, kind: str, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def health(now: Snapshot) -> dict[str, Any]:
    """What `/healthz` tells: plain types for JSON."""
    return {
        "status": now.health,
        "problems": [problem.text for problem in now.problems],
        "run": now.run,
        "uptime_s": round(now.uptime_s, 1),
        "starting": now.starting,
        "stopping": now.stopping,
        "cameras": {camera.name: camera.state for camera in now.cameras},
        "rows": {row.side: row.row for row in now.rows},
        "backlog_tiles": now.backlog_tiles,
        "lag_s": round(now.lag_s, 1),
    }


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # it is closed already
        return
