"""Counts to a real broker: each row once after those who receive drop what they have, whatever breaks in between."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from contextlib import closing
from dataclasses import replace

import pytest

from edgekit.errors import SettingsError, SyncError
from edgekit.sync import MqttSettings
from edgekit.sync.counts import row_messages
from edgekit.sync.deliver import deliver_kept, keep_counts
from edgekit.sync.mqtt import broker_of, deliver, settings_from_url
from edgekit.sync.outbox import Outbox
from tests.sync.places import Mosquitto, fruit, listening, make_run, silent

NOBODY = MqttSettings("mqtt://127.0.0.1:9", device="trolley1", wait_s=0.5)


def at(broker, **changes):
    return replace(NOBODY, url=broker.url, wait_s=15.0, **changes)


def wait_for(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()


def counts_of(heard):
    """Row -> fruit by the latest revision, after dropping what came twice by its id."""
    once = {message["id"]: message for message in (json.loads(payload) for _, payload in heard)}
    newest = sorted(once.values(), key=lambda message: message["revision"])
    return {(message["run"], message["row"]): message["fruit"] for message in newest}, len(once)


def test_each_row_arrives_with_what_its_count_stands_on(tmp_path, broker):
    run = make_run(tmp_path / "runs" / "row12", rows=(3, None, 0), finished=False)
    with listening(broker, "edgekit/trolley1/rows") as heard:
        assert keep_counts(run, at(broker)) == 2
        assert deliver_kept(tmp_path / "runs", at(broker), report=silent).acknowledged == 2
        wait_for(lambda: len(heard) == 2)
    first, third = (json.loads(payload) for _, payload in heard)
    assert (first["row"], first["fruit"], third["row"], third["fruit"]) == (0, 3, 2, 0)
    assert first["fruit_by_class"] == {"pepper": 3}
    assert first["schema"] == 1
    assert first["threshold"] == 0.5
    assert first["id"].startswith(first["run_id"])


def test_a_count_is_sent_once_and_again_only_when_it_changes(tmp_path, broker):
    from edgekit.store import RunFolder, RunRecorder

    run = make_run(tmp_path / "runs" / "row12", rows=(3, 5))
    settings = at(broker)
    with listening(broker, "edgekit/#") as heard:
        for _ in range(3):
            keep_counts(run, settings)
            deliver_kept(tmp_path / "runs", settings, report=silent)
        recorder = RunRecorder(RunFolder(run).database)
        recorder.put_fruit(recorder.reader.sources()[0].id, fruit(4))
        recorder.close()
        assert keep_counts(run, settings) == 1
        assert deliver_kept(tmp_path / "runs", settings, report=silent).acknowledged == 1
        wait_for(lambda: len(heard) == 3)
        time.sleep(0.3)
    assert len(heard) == 3
    assert counts_of(heard)[0] == {("row12", 0): 4, ("row12", 1): 5}


def test_a_live_row_tells_its_name_and_side_while_the_run_goes_on(tmp_path):
    from edgekit.store import PanoramaShape, RunFolder, RunRecorder
    from edgekit.store.records import LiveRowPlan

    run = make_run(tmp_path / "runs" / "tonight", rows=(), finished=False)
    recorder = RunRecorder(RunFolder(run).database)
    for name, count in (("12", 7), ("13", None)):
        source_id, _ = recorder.open_row(1, LiveRowPlan(name, "left", "command"))
        if count is not None:
            recorder.end_row(source_id, PanoramaShape(30, (4096, 720), 1, 1))
            recorder.put_fruit(source_id, fruit(count))
    recorder.commit()
    (message,) = row_messages(run, NOBODY, "trolley1")
    recorder.close()
    told = json.loads(message.payload(1))
    assert (told["row_name"], told["side"], told["fruit"], told["row"]) == ("12", "left", 7, 0)


def test_without_a_broker_counts_wait_and_a_newer_one_takes_the_place_of_an_older(tmp_path):
    from edgekit.store import RunFolder, RunRecorder

    run = make_run(tmp_path / "runs" / "row12", rows=(3, 5))
    keep_counts(run, NOBODY)
    done = deliver_kept(tmp_path / "runs", NOBODY, report=silent)
    assert (done.acknowledged, done.waiting) == (0, 2)
    assert "does not answer" in done.reason
    recorder = RunRecorder(RunFolder(run).database)
    recorder.put_fruit(recorder.reader.sources()[0].id, fruit(4))
    recorder.close()
    keep_counts(run, NOBODY)
    with closing(Outbox(tmp_path / "runs" / "outbox.sqlite", broker_of(NOBODY).name)) as outbox:
        waiting = [json.loads(item.payload) for item in outbox.waiting()]
    assert [(item["row"], item["fruit"], item["revision"]) for item in waiting] == [(1, 5, 1), (0, 4, 2)]


def test_counts_wait_at_the_broker_for_an_office_that_is_away_even_over_a_restart(tmp_path, broker):
    with listening(broker, "edgekit/#"):
        pass  # its session stays
    keep_counts(make_run(tmp_path / "runs" / "row12", rows=(3, 5)), at(broker))
    assert deliver_kept(tmp_path / "runs", at(broker), report=silent).acknowledged == 2
    broker.stop()
    broker.start()
    with listening(broker, "edgekit/#") as heard:
        wait_for(lambda: len(heard) == 2)
    assert counts_of(heard)[0] == {("row12", 0): 3, ("row12", 1): 5}


def test_a_broker_that_restarts_in_between_gets_every_count(tmp_path, broker):
    rows = tuple(range(40))
    runs = [make_run(tmp_path / "runs" / f"night{i}", rows=rows, segments=1, segment_bytes=10) for i in range(5)]
    settings = at(broker)
    restarted = threading.Event()

    def restart():
        broker.stop()
        time.sleep(0.3)
        broker.start()
        restarted.set()

    def report(stage, done, total=None):
        if done == 60:
            threading.Thread(target=restart).start()

    with listening(broker, "edgekit/#") as heard:
        for run in runs:
            keep_counts(run, settings)
        done = deliver_kept(tmp_path / "runs", settings, report=report)
        assert (done.acknowledged, done.waiting) == (200, 0)
        assert restarted.wait(10)
        wait_for(lambda: counts_of(heard)[1] == 200, seconds=60)
    assert counts_of(heard)[0] == {(run.name, row): row for run in runs for row in rows}


def test_a_cut_between_the_brokers_acknowledgement_and_ours_sends_the_same_id_again(tmp_path, broker, monkeypatch):
    run = make_run(tmp_path / "runs" / "row12", rows=(3, 5))
    settings = at(broker)
    keep_counts(run, settings)

    def cut(self, message_id):
        raise KeyboardInterrupt

    with listening(broker, "edgekit/#") as heard:
        with monkeypatch.context() as patch:
            patch.setattr(Outbox, "acknowledge", cut)
            with pytest.raises(KeyboardInterrupt):
                deliver_kept(tmp_path / "runs", settings, report=silent)
        deliver_kept(tmp_path / "runs", settings, report=silent)
        wait_for(lambda: len(heard) == 4)
    counts, once = counts_of(heard)
    assert (counts, once) == ({("row12", 0): 3, ("row12", 1): 5}, 2)


def test_ids_do_not_depend_on_the_outbox(tmp_path):
    run = make_run(tmp_path / "runs" / "row12", rows=(3, 5))
    ids = [item.message_id(1) for item in row_messages(run, NOBODY, "a")]
    moved = run.rename(tmp_path / "row13")
    assert ids == [item.message_id(1) for item in row_messages(moved, NOBODY, "b")]
    other = make_run(tmp_path / "other", rows=(3, 5))
    assert not set(ids) & {item.message_id(1) for item in row_messages(other, NOBODY, "a")}


def test_retained_counts_wait_for_those_who_come_later(tmp_path, broker):
    run = make_run(tmp_path / "runs" / "row+12#", rows=(3, 5))
    settings = at(broker, retain=True, topic="house/{run}/{row}")
    keep_counts(run, settings)
    deliver_kept(tmp_path / "runs", settings, report=silent)
    with listening(broker, "house/#") as heard:
        wait_for(lambda: len(heard) == 2)
    assert {topic for topic, _ in heard} == {"house/row_12_/0", "house/row_12_/1"}


@pytest.fixture
def guarded(tmp_path):
    """A broker that wants a password, and lets `trolley` write to edgekit/# alone."""
    import shutil

    if shutil.which("mosquitto_passwd") is None:
        pytest.skip("mosquitto is not installed")
    (tmp_path / "acl").write_text("user trolley\ntopic write edgekit/#\n")
    subprocess.run(["mosquitto_passwd", "-b", "-c", tmp_path / "passwd", "trolley", "tomato"], check=True)
    lines = ["allow_anonymous false", f"password_file {tmp_path}/passwd", f"acl_file {tmp_path}/acl"]
    found = Mosquitto(tmp_path / "mosquitto", more=lines)
    found.start()
    yield found
    found.stop()


def test_a_password_comes_from_a_file_that_others_cannot_read(tmp_path, guarded):
    run = make_run(tmp_path / "runs" / "row12")
    secret = tmp_path / "secret"
    secret.write_text("tomato\n")
    secret.chmod(0o644)
    settings = at(guarded, user="trolley", password_file=secret)
    keep_counts(run, settings)
    with pytest.raises(SettingsError, match="chmod 600"):
        deliver_kept(tmp_path / "runs", settings, report=silent)
    secret.chmod(0o600)
    assert deliver_kept(tmp_path / "runs", settings, report=silent).acknowledged == 1


def test_a_wrong_password_is_told(tmp_path, guarded):
    secret = tmp_path / "secret"
    secret.write_text("pepper")
    secret.chmod(0o600)
    settings = at(guarded, user="trolley", password_file=secret)
    keep_counts(make_run(tmp_path / "runs" / "row12"), settings)
    with pytest.raises(SyncError, match=r"refused: Not authorized.*password_file"):
        deliver_kept(tmp_path / "runs", settings, report=silent)


def test_a_topic_that_may_not_be_written_leaves_the_count_waiting(tmp_path, guarded):
    secret = tmp_path / "secret"
    secret.write_text("tomato")
    secret.chmod(0o600)
    settings = at(guarded, user="trolley", password_file=secret, topic="office/rows")
    keep_counts(make_run(tmp_path / "runs" / "row12"), settings)
    done = deliver_kept(tmp_path / "runs", settings, report=silent)
    assert (done.acknowledged, done.waiting) == (0, 1)
    assert "Not authorized" in done.reason


def test_nothing_waiting_needs_no_broker(tmp_path):
    with closing(Outbox(tmp_path / "outbox.sqlite", "mqtt://nobody:1883")) as outbox:
        assert deliver(outbox, NOBODY, report=silent).waiting == 0


def test_a_url_tells_broker_user_and_topic():
    settings = settings_from_url("mqtts://trolley@office.local:8884/house%201/rows")
    assert (settings.url, settings.user, settings.topic) == (
        "mqtts://office.local:8884", "trolley", "house 1/rows",
    )  # fmt: skip
    assert broker_of(settings).name == "mqtts://office.local:8884"


@pytest.mark.parametrize(
    "make",
    [
        lambda: settings_from_url("mqtt://trolley:tomato@office/rows"),
        lambda: broker_of(MqttSettings("http://office")),
        lambda: broker_of(MqttSettings("mqtt://office:99999999")),
        lambda: MqttSettings("mqtt://office", topic="rows/#"),
        lambda: MqttSettings("mqtt://office", topic="rows/{field}"),
        lambda: MqttSettings("mqtt://office", wait_s=0),
    ],
)
def test_what_cannot_be_used_is_refused(make):
    with pytest.raises(SettingsError) as told:
        make()
    assert "tomato" not in str(told.value)
