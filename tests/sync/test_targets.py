"""The same run at a real S3 server and at a real SFTP server."""

from __future__ import annotations

import hashlib

import pytest

from edgekit.errors import SyncError
from edgekit.sync import RetrySettings, SendSettings, Target, send_run
from tests.sync.places import silent
from tests.sync.test_send import AT_ONCE, assert_arrived, wanted


def bucket(options):
    import boto3

    keys = {"aws_access_key_id": options["key"], "aws_secret_access_key": options["secret"]}
    client = boto3.client("s3", **keys, **options["client_kwargs"])
    items = client.list_objects_v2(Bucket="harvest").get("Contents", [])
    read = {item["Key"]: client.get_object(Bucket="harvest", Key=item["Key"])["Body"].read() for item in items}
    return client, {key: hashlib.sha256(content).hexdigest() for key, content in read.items()}


def test_s3(run, s3_options):
    target = Target("s3://harvest/trolley1", s3_options)
    first = send_run(run, target, AT_ONCE, report=silent)
    assert first.complete
    client, there = bucket(s3_options)
    del there["trolley1/row12/manifest.json"]
    assert there == {f"trolley1/row12/{path}": digest for path, digest in wanted(run).items()}
    client.put_object(Bucket="harvest", Key="trolley1/row12/summary.json", Body=b"[]")  # same length, other bytes
    assert send_run(run, target, SendSettings(verify=True), report=silent).sent == 1
    assert send_run(run, target, AT_ONCE, report=silent).sent == 0


def test_a_bucket_that_is_not_there_is_told_and_not_made(run, s3_options):
    with pytest.raises(SyncError, match="bucket"):
        send_run(run, Target("s3://harvets/trolley1", s3_options), AT_ONCE, report=silent)
    assert [item["Name"] for item in bucket(s3_options)[0].list_buckets()["Buckets"]] == ["harvest"]


def test_an_s3_server_that_is_not_there_is_told(run):
    keys = {"key": "k", "secret": "s", "client_kwargs": {"endpoint_url": "http://127.0.0.1:9"}}
    quick = {**keys, "config_kwargs": {"retries": {"max_attempts": 0}, "connect_timeout": 1}}
    with pytest.raises(SyncError, match="sync again when the network is back"):
        send_run(run, Target("s3://harvest/x", quick), AT_ONCE, report=silent)


def sftp_target(sftp, tmp_path, folder="harvest"):
    (sftp.root / "harvest").mkdir(exist_ok=True)
    known = sftp.known_hosts(tmp_path / "known_hosts")
    options = {"password": "tomato", "known_hosts": str(known), "look_for_keys": False, "allow_agent": False}
    return Target(f"{sftp.url}/{folder}", options)


def test_sftp(run, sftp, tmp_path):
    target = sftp_target(sftp, tmp_path)
    assert send_run(run, target, AT_ONCE, report=silent).complete
    assert_arrived(run, sftp.root / "harvest" / "row12")
    assert send_run(run, target, AT_ONCE, report=silent).sent == 0


def test_sftp_goes_on_where_a_copy_was_cut(run, sftp, tmp_path):
    target = sftp_target(sftp, tmp_path)
    folder = sftp.root / "harvest" / "row12" / "panorama" / "row_000"
    folder.mkdir(parents=True)
    source = run / "panorama" / "row_000" / "000001.jpg"
    (folder / ".000001.jpg.partial").write_bytes(source.read_bytes()[:12_345])
    assert send_run(run, target, AT_ONCE, report=silent).complete
    assert_arrived(run, sftp.root / "harvest" / "row12")


def test_sftp_survives_connections_that_are_cut(run, sftp, tmp_path):
    target, steps = sftp_target(sftp, tmp_path), []

    def cut(stage, done, total=None):
        steps.append(stage)
        if len(steps) % 3 == 0:
            sftp.drop()

    how = SendSettings(retry=RetrySettings(attempts=5, first_wait_s=0.01))
    assert send_run(run, target, how, report=cut).complete
    assert_arrived(run, sftp.root / "harvest" / "row12")


@pytest.mark.parametrize(
    ("change", "told"),
    [({"password": "pepper"}, "check user, key"), ({"known_hosts": "/dev/null"}, "not a known host")],
)
def test_sftp_that_does_not_let_in_or_is_not_known_is_told(run, sftp, tmp_path, change, told):
    sftp.root.joinpath("harvest").mkdir()
    known = str(sftp.known_hosts(tmp_path / "known_hosts"))
    options = {"password": "tomato", "known_hosts": known, "look_for_keys": False, "allow_agent": False, **change}
    with pytest.raises(SyncError, match=told):
        send_run(run, Target(f"{sftp.url}/harvest", options), AT_ONCE, report=silent)


def test_a_folder_that_is_not_there_is_told(run, sftp, tmp_path):
    with pytest.raises(SyncError, match="is not there"):
        send_run(run, sftp_target(sftp, tmp_path, "harvets"), AT_ONCE, report=silent)
