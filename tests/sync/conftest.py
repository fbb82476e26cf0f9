"""A run, and places to send it to: a real S3 server (moto), a real SFTP server (paramiko), a real broker."""

from __future__ import annotations

import shutil

import pytest

from tests.sync.places import Mosquitto, make_run


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "runs" / "row12")


@pytest.fixture(scope="session")
def s3_server():
    server_module = pytest.importorskip("moto.server")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_options(s3_server, monkeypatch):
    """Options for an empty bucket `harvest` at the server."""
    boto3 = pytest.importorskip("boto3")
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=s3_server, **keys)
    client.create_bucket(Bucket="harvest")
    for item in client.list_objects_v2(Bucket="harvest").get("Contents", []):
        client.delete_object(Bucket="harvest", Key=item["Key"])
    return {"key": "key", "secret": "secret", "client_kwargs": {"endpoint_url": s3_server, "region_name": "us-east-1"}}


@pytest.fixture
def sftp(tmp_path):
    pytest.importorskip("paramiko")
    from tests.sync.sftp_server import SftpServer

    server = SftpServer(tmp_path / "sftp")
    yield server
    server.close()


@pytest.fixture
def broker(tmp_path):
    if shutil.which("mosquitto") is None and not shutil.which("/usr/sbin/mosquitto"):
        pytest.skip("mosquitto is not installed")
    found = Mosquitto(tmp_path / "mosquitto")
    found.start()
    yield found
    found.stop()
