"""SFTP to hosts that are known: fsspec's own class would take any host's key for the right one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import paramiko
from fsspec.implementations.sftp import SFTPFileSystem
from fsspec.utils import infer_storage_options

TIMEOUT_S = 30.0
"""For opening a connection and for each answer."""
KEEPALIVE_S = 15


class UnknownHostError(paramiko.SSHException):
    """The host's key is not among the known ones."""


class _RefuseUnknown(paramiko.MissingHostKeyPolicy):
    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        """Say how the host becomes known."""
        host = hostname.strip("[]").replace("]:", " -p ")
        raise UnknownHostError(
            f"{hostname} is not a known host; compare its key {key.get_name()} {key.fingerprint} with the host's own,"
            f" then: ssh-keyscan {host} >> ~/.ssh/known_hosts"
        )


class KnownHostsSftp(SFTPFileSystem):  # type: ignore[misc]
    """fsspec's SFTP, with known hosts and time limits."""

    protocol = ("sftp", "ssh")

    def _connect(self) -> None:
        settings = dict(self.ssh_kwargs)
        known_hosts = settings.pop("known_hosts", None)
        self.client = paramiko.SSHClient()
        if known_hosts is None:
            self.client.load_system_host_keys()
        else:
            self.client.load_host_keys(str(Path(known_hosts).expanduser()))
        self.client.set_missing_host_key_policy(_RefuseUnknown())
        limits = {"timeout": TIMEOUT_S, "banner_timeout": TIMEOUT_S, "auth_timeout": TIMEOUT_S}
        self.client.connect(self.host, **{**limits, **settings})
        transport = self.client.get_transport()
        if transport is None:
            raise TimeoutError("the connection was closed at once")
        transport.set_keepalive(KEEPALIVE_S)
        self.ftp = self.client.open_sftp()
        channel = self.ftp.get_channel()
        if channel is not None:
            channel.settimeout(TIMEOUT_S)


def open_sftp(url: str, options: Mapping[str, Any]) -> tuple[KnownHostsSftp, str]:
    """Connect; the file system and the folder of the URL.

    Args:
        url: sftp://user@host:port/folder.
        options: what paramiko's `connect` takes (`key_filename`, `password`, ...), and `known_hosts`, a file.
    """
    found = infer_storage_options(url)
    path = found.pop("path")
    found.pop("protocol", None)
    host = found.pop("host")
    return KnownHostsSftp(host, skip_instance_cache=True, **{**found, **options}), path.rstrip("/")
