"""Counts to a real broker over TLS: certificates on both sides, and what is told where they do not fit."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from dataclasses import replace

import pytest

from edgekit.errors import SettingsError, SyncError
from edgekit.sync import MqttSettings
from edgekit.sync.deliver import deliver_kept, keep_counts
from tests.sync.places import Mosquitto, free_port, listening, make_run, silent


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def certify(folder, name, host):
    """A key and a certificate for it, signed by the folder's authority."""
    (folder / f"{name}.ext").write_text(f"subjectAltName={host}\n")
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
            "-subj", f"/CN={name}")  # fmt: skip
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", "2", "-out", f"{name}.crt", "-extfile", f"{name}.ext")  # fmt: skip


def authority(folder):
    folder.mkdir()
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt",
            "-days", "2", "-subj", f"/CN={folder.name}")  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = authority(tmp_path_factory.mktemp("keys") / "office")
    certify(folder, "broker", "IP:127.0.0.1")
    certify(folder, "trolley1", "DNS:trolley1")
    return folder


@pytest.fixture
def broker(tmp_path, keys):
    """On one port it speaks TLS and wants a certificate of the office; on the other it speaks plainly, for the test."""
    if shutil.which("mosquitto") is None and not shutil.which("/usr/sbin/mosquitto"):
        pytest.skip("mosquitto is not installed")
    found = SecureMosquitto(tmp_path / "mosquitto", keys)
    found.start()
    yield found
    found.stop()


class SecureMosquitto(Mosquitto):
    """A broker with a second listener that speaks TLS."""

    def __init__(self, folder, keys):
        self.tls_port = free_port()
        secure = [
            "allow_anonymous true", f"listener {self.tls_port} 127.0.0.1", f"cafile {keys}/ca.crt",
            f"certfile {keys}/broker.crt", f"keyfile {keys}/broker.key", "require_certificate true",
        ]  # fmt: skip
        super().__init__(folder, more=secure)


def settings(broker, keys, **changes):
    base = MqttSettings(
        f"mqtts://127.0.0.1:{broker.tls_port}", device="trolley1", wait_s=15.0, ca_file=keys / "ca.crt",
        certificate_file=keys / "trolley1.crt", key_file=keys / "trolley1.key",
    )  # fmt: skip
    return replace(base, **changes)


def test_counts_arrive_over_tls_with_certificates_on_both_sides(tmp_path, broker, keys):
    run = make_run(tmp_path / "runs" / "row12", rows=(3, 5))
    secure = settings(broker, keys)
    with listening(broker, "edgekit/trolley1/rows") as heard:
        keep_counts(run, secure)
        told = deliver_kept(tmp_path / "runs", secure, report=silent)
        assert (told.acknowledged, told.waiting, told.broker) == (2, 0, f"mqtts://127.0.0.1:{broker.tls_port}")
        end_s = time.monotonic() + 10
        while len(heard) < 2 and time.monotonic() < end_s:
            time.sleep(0.05)
    assert sorted(json.loads(payload)["fruit"] for _, payload in heard) == [3, 5]


def test_a_broker_of_another_authority_is_not_trusted(tmp_path, broker, keys):
    run = make_run(tmp_path / "runs" / "row12", rows=(3,))
    stranger = settings(broker, keys, ca_file=authority(tmp_path / "stranger") / "ca.crt")
    keep_counts(run, stranger)
    with pytest.raises(SyncError, match="no trusted TLS connection") as told:
        deliver_kept(tmp_path / "runs", stranger, report=silent)
    assert "\n" not in str(told.value)
    assert deliver_kept(tmp_path / "runs", settings(broker, keys), report=silent).acknowledged == 1


def test_a_port_without_tls_and_a_device_without_certificate(tmp_path, broker, keys):
    run = make_run(tmp_path / "runs" / "row12", rows=(3,))
    plain_port = settings(broker, keys, url=f"mqtts://127.0.0.1:{broker.port}", wait_s=4.0)
    bare = settings(broker, keys, certificate_file=None, key_file=None, wait_s=4.0)
    for mistaken in (plain_port, bare):
        keep_counts(run, mistaken)
        told = deliver_kept(tmp_path / "runs", mistaken, report=silent)
        assert (told.acknowledged, told.waiting) == (0, 1)
        assert told.reason is not None
    with pytest.raises(SettingsError, match="certificate or key"):
        deliver_kept(tmp_path / "runs", settings(broker, keys, ca_file=tmp_path / "none.crt"), report=silent)
