"""Counts to an MQTT broker, quality of service 1: sent until acknowledged, across lost connections and restarts."""

from __future__ import annotations

import queue
import socket
import ssl
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from edgekit.contracts import Progress
from edgekit.errors import MissingDependencyError, SettingsError, SyncError
from edgekit.sync.outbox import Outbox, Waiting
from edgekit.sync.private_files import check_private
from edgekit.sync.settings import MqttSettings

PORTS = {"mqtt": 1883, "mqtts": 8883}
KEEPALIVE_S = 30
LONGEST_RECONNECT_S = 30
_REFUSED = "check user, password_file, ca_file, this device's certificate and clock, and the broker's access list"


@dataclass(frozen=True)
class Broker:
    """Where a broker listens."""

    host: str
    port: int
    tls: bool

    @property
    def name(self) -> str:
        """Its URL without anything secret."""
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"


@dataclass(frozen=True)
class Delivery:
    """What became of the messages."""

    broker: str
    acknowledged: int
    waiting: int
    """Left to the next sync."""
    reason: str | None
    """Why some wait; None where none does."""


def settings_from_url(url: str, settings: MqttSettings | None = None) -> MqttSettings:
    """Settings of `mqtt://[user@]host[:port][/topic]`; what the URL does not say is as in `settings`.

    Raises:
        SettingsError: no such URL, or a password in it.
    """
    parts = urlsplit(url)
    base = settings or MqttSettings(url)
    if parts.password is not None:
        raise SettingsError("a password does not belong in a URL", mend="write it to a file: password_file")
    topic = unquote(parts.path.strip("/")) or base.topic
    user = unquote(parts.username) if parts.username else base.user
    bare = parts._replace(path="", netloc=parts.netloc.rpartition("@")[2]).geturl()
    return replace(base, url=bare, topic=topic, user=user)


def broker_of(settings: MqttSettings) -> Broker:
    """Where the broker of some settings listens.

    Raises:
        SettingsError: the URL is none of a broker.
    """
    try:
        parts = urlsplit(settings.url)
        port = parts.port
    except ValueError as error:
        raise SettingsError(f"{settings.url}: {error}", mend="write mqtt://host:1883") from error
    if parts.scheme not in PORTS or not parts.hostname:
        raise SettingsError(f"{settings.url} names no broker", mend="write mqtt://host or, with TLS, mqtts://host")
    return Broker(parts.hostname, port or PORTS[parts.scheme], parts.scheme == "mqtts")


def device_name(settings: MqttSettings) -> str:
    """Name of this device in messages."""
    return settings.device or socket.gethostname()


def deliver(outbox: Outbox, settings: MqttSettings, *, report: Progress) -> Delivery:
    """Send what waits until each message is acknowledged, or nothing has been for `wait_s`.

    A message is acknowledged on the disk after the broker did; a cut in between sends it again under the same id.

    Raises:
        SettingsError: the URL, a password file or a certificate cannot be used.
        MissingDependencyError: paho-mqtt is not installed.
        SyncError: the broker refuses this device.
    """
    broker, messages = broker_of(settings), outbox.waiting()
    if not messages:
        return Delivery(broker.name, 0, 0, None)
    acknowledged = 0
    with _Link(broker, settings) as link:
        link.publish(messages)
        for message_id in link.acknowledgements(len(messages)):
            outbox.acknowledge(message_id)
            acknowledged += 1
            report("counts", acknowledged, len(messages))
        reason = link.reason
    left = len(messages) - acknowledged
    return Delivery(broker.name, acknowledged, left, reason or "no acknowledgement in time" if left else None)


class _Link:
    """A connection that comes back by itself, and the acknowledgements that arrive on it."""

    def __init__(self, broker: Broker, settings: MqttSettings) -> None:
        self._broker, self._settings = broker, settings
        self._arrived: queue.SimpleQueue[tuple[int, str | None]] = queue.SimpleQueue()
        self._pending: dict[int, str] = {}
        self._refusal: str | None = None
        self.reason: str | None = None
        """The last thing that went wrong."""
        self._client = _client(broker, settings)
        self._client.on_connect = self._on_connect
        self._client.on_connect_fail = self._on_connect_fail
        self._client.on_disconnect = self._on_disconnect
        self._client.on_publish = self._on_publish

    def __enter__(self) -> _Link:
        self._client.connect_async(self._broker.host, self._broker.port, keepalive=KEEPALIVE_S)
        self._client.loop_start()
        return self

    def __exit__(self, *error: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def publish(self, messages: list[Waiting]) -> None:
        """Hand the messages over; those that go while there is no connection go when it is back."""
        for message in messages:
            handed = self._client.publish(message.topic, message.payload, qos=1, retain=self._settings.retain)
            self._pending[handed.mid] = message.id

    def acknowledgements(self, count: int) -> Iterator[str]:
        """Ids as they are acknowledged; ends after `count`, or `wait_s` without any.

        Raises:
            SyncError: the broker refuses this device, or a message.
        """
        seen = 0
        last_s = time.monotonic()
        while seen < count and time.monotonic() - last_s < self._settings.wait_s:
            if self._refusal is not None:
                raise SyncError(f"{self._broker.name}: {self._refusal}", mend=_REFUSED)
            try:
                number, failure = self._arrived.get(timeout=0.2)
            except queue.Empty:
                continue
            seen, last_s = seen + 1, time.monotonic()
            if failure is None:
                yield self._pending.pop(number)
            else:
                self.reason = failure

    # The client calls these in its own thread, with more than is used here.

    def _on_connect(self, client: Any, userdata: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self._refusal = self.reason = f"refused: {reason}"

    def _on_connect_fail(self, client: Any, userdata: Any) -> None:
        """Called while the client handles the error, which it does not hand over."""
        error = sys.exc_info()[1]
        if isinstance(error, ssl.SSLError):
            why = getattr(error, "verify_message", "") or error.reason or str(error)
            self._refusal = self.reason = f"no trusted TLS connection ({why})"
        else:
            self.reason = f"{self._broker.name} does not answer"

    def _on_disconnect(self, client: Any, userdata: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self.reason = f"the connection was lost ({reason})"

    def _on_publish(self, client: Any, userdata: Any, number: int, reason: Any, properties: Any) -> None:
        self._arrived.put((number, str(reason) if reason.is_failure else None))


def _client(broker: Broker, settings: MqttSettings) -> Any:
    try:
        from paho.mqtt import client as paho
        from paho.mqtt.enums import CallbackAPIVersion
    except ImportError as error:
        raise MissingDependencyError("counts over MQTT need paho-mqtt", mend='pip install "edgekit[sync]"') from error
    protocol = paho.MQTTv5 if settings.version == "5" else paho.MQTTv311
    name = f"edgekit-{uuid.uuid4().hex[:12]}"  # of its own: a second client of one name would throw the first one out
    client = paho.Client(CallbackAPIVersion.VERSION2, name, protocol=protocol)
    client.reconnect_delay_set(1, LONGEST_RECONNECT_S)
    client.max_queued_messages_set(0)
    if settings.user is not None:
        client.username_pw_set(settings.user, _password(settings.password_file))
    if broker.tls:
        with _readable_certificates():
            client.tls_set(
                ca_certs=_text(settings.ca_file), certfile=_text(settings.certificate_file),
                keyfile=_text(settings.key_file), tls_version=ssl.PROTOCOL_TLS_CLIENT,
            )  # fmt: skip
    return client


def _password(path: Path | None) -> str | None:
    if path is None:
        return None
    check_private(path)
    return path.read_text("utf-8").strip()


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


@contextmanager
def _readable_certificates() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise SettingsError(f"a certificate or key cannot be used: {error}", mend="check the files' paths") from error
