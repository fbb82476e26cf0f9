"""Where results go when there is a network: the table [sync] of a site file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

from edgekit.errors import SettingsError

TOPIC_FIELDS = ("device", "run", "row")
"""What may stand in braces in a topic."""
_FIELD = re.compile(r"\{([^}]*)\}")


@dataclass(frozen=True)
class RetrySettings:
    """How long a network that fails is tried again."""

    attempts: int = 6
    """Times that a step is tried before the sync gives up; the next sync goes on where it ended."""
    first_wait_s: float = 1.0
    """Wait after the first failure, seconds; it doubles after each further one."""
    longest_wait_s: float = 60.0
    """Longest wait between two attempts, seconds."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise SettingsError(f"attempts = {self.attempts}", mend="write 1 or more")
        if not 0 <= self.first_wait_s <= self.longest_wait_s:
            waits = f"first_wait_s = {self.first_wait_s:g}, longest_wait_s = {self.longest_wait_s:g}"
            raise SettingsError(waits, mend="write two numbers from 0 on, the first not above the second")

    def waits_s(self) -> tuple[float, ...]:
        """The wait after each failed attempt but the last."""
        return tuple(min(self.first_wait_s * 2.0**number, self.longest_wait_s) for number in range(self.attempts - 1))


@dataclass(frozen=True)
class MqttSettings:
    """The broker that gets the count of each row: the table [sync.mqtt]."""

    url: str
    """mqtt://host[:port] or, with TLS, mqtts://host[:port]; `/topic` behind it stands for `topic`."""
    topic: str = "edgekit/{device}/rows"
    """Topic of the messages; {device}, {run} and {row} stand for their names."""
    device: str | None = None
    """Name of this device in messages and topics; None: the host name."""
    retain: bool = False
    """Whether the broker keeps the last message of a topic for those who come later; then let {run} and {row} stand
    in the topic, since it keeps one message a topic."""
    user: str | None = None
    """Name to sign in with."""
    password_file: Path | None = None
    """File that holds the password and nothing else, readable by its owner alone."""
    ca_file: Path | None = None
    """Certificates to trust instead of the system's."""
    certificate_file: Path | None = None
    """Certificate of this device, where the broker wants one."""
    key_file: Path | None = None
    """Its key."""
    version: Literal["5", "3.1.1"] = "5"
    """Of the protocol. With 3.1.1 a broker cannot say that it refuses a message."""
    wait_s: float = 30.0
    """Seconds without any acknowledgement after which the rest is left to the next sync."""

    def __post_init__(self) -> None:
        for name in _FIELD.findall(self.topic):
            if name not in TOPIC_FIELDS:
                known = ", ".join(f"{{{item}}}" for item in TOPIC_FIELDS)
                raise SettingsError(f"topic = {self.topic!r}: unknown field {{{name}}}", mend=f"use {known}")
        if not self.topic or any(sign in self.topic for sign in "+#\0") or self.topic.startswith("$"):
            raise SettingsError(f"topic = {self.topic!r}", mend="write a topic without +, # or a leading $")
        if (self.certificate_file is None) != (self.key_file is None):
            raise SettingsError("certificate_file and key_file go together", mend="write both or neither")
        if self.wait_s <= 0:
            raise SettingsError(f"wait_s = {self.wait_s:g}", mend="write a number above 0")


@dataclass(frozen=True)
class SyncSettings:
    """Where results go, and how patiently."""

    target: str | None = None
    """Folder or URL that finished runs are copied to: /media/usb, sftp://host/runs, s3://bucket/runs; None: nowhere."""
    options_file: Path | None = None
    """TOML file of options for the target's file system (fsspec): keys, endpoints; readable by its owner alone."""
    unfinished: bool = False
    """Whether the finished panorama segments of a run that still goes on are sent already."""
    retry: RetrySettings = field(default_factory=RetrySettings)
    """Patience with a network that fails."""
    mqtt: MqttSettings | None = None
    """Broker that gets the counts; None: none."""

    def within(self, folder: Path) -> SyncSettings:
        """The same with the paths of files taken from `folder`, where they are relative."""
        mqtt = self.mqtt and _placed(self.mqtt, folder, _MQTT_FILES)
        return replace(_placed(self, folder, ("options_file",)), mqtt=mqtt)


_MQTT_FILES = ("password_file", "ca_file", "certificate_file", "key_file")
_Settings = TypeVar("_Settings", MqttSettings, SyncSettings)


def _placed(settings: _Settings, folder: Path, names: tuple[str, ...]) -> _Settings:
    paths = {name: getattr(settings, name) for name in names}
    return replace(settings, **{name: folder / path for name, path in paths.items() if path is not None})
