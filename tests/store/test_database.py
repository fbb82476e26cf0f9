import sqlite3
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from edgekit.contracts import Instances, MaskCrop, TileResult, TileSpec
from edgekit.errors import RunDamagedError, RunFolderError, StorageError
from edgekit.store import MergedFruit, PanoramaShape, RunPlan, RunReader, RunRecorder, SourcePlan
from edgekit.store.database import open_reader, open_writer
from edgekit.store.mask_columns import from_columns, to_columns

PLAN = RunPlan(
    model={"file": "m.onnx", "class_names": ["fruit"], "score_floor": 0.05},
    model_id="abc",
    settings={"tiles.overlap_px": 96},
    threshold=0.5,
    threshold_from="option",
    sources=(SourcePlan("row", "frames", "f"),),
)
PLANES = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=20))


def objects(scores):
    n = len(scores)
    masks = tuple(MaskCrop(np.eye(4, dtype=np.bool_), 10 * i, 3) for i in range(n))
    boxes = np.array([[10 * i, 3, 10 * i + 4, 7] for i in range(n)], np.float32).reshape(n, 4)
    return Instances(boxes, np.array(scores, np.float32), np.zeros(n, np.int32), masks)


def tile(number, scores=(0.9, 0.3)):
    return TileSpec(number, 416 * number, 0, 512), TileResult(objects(scores), len(scores))


@pytest.fixture
def recorder(tmp_path):
    opened = RunRecorder(tmp_path / "run.sqlite")
    opened.begin(PLAN)
    yield opened
    opened.close()


@given(PLANES, st.integers(-5, 600), st.integers(-5, 600))
def test_masks_come_back_from_their_columns(plane, x_px, y_px):
    columns = to_columns(MaskCrop(plane, x_px, y_px))
    assert [type(value) for value in columns] == [int, int, int, int, str]
    back = from_columns(columns)
    assert back[1:] == (x_px, y_px)
    assert back.plane.dtype == np.bool_
    assert np.array_equal(back.plane, plane)


def test_tiles_come_back_as_they_were_stored(recorder):
    stored = [tile(0), tile(1, ()), tile(2, (0.1,))]
    recorder.add_tiles(1, stored)
    back = list(recorder.reader.tiles(1))
    assert [item.spec for item in back] == [spec for spec, _ in stored]
    for item, (_, result) in zip(back, stored, strict=True):
        assert np.array_equal(item.instances.scores, result.instances.scores)
        assert np.array_equal(item.instances.boxes_xyxy, result.instances.boxes_xyxy)
        pairs = zip(item.instances.masks, result.instances.masks, strict=True)
        assert all(np.array_equal(a.plane, b.plane) and a[1:] == b[1:] for a, b in pairs)


def test_a_batch_is_stored_whole_or_not_at_all(recorder):
    recorder.add_tiles(1, [tile(0)])
    with pytest.raises(sqlite3.IntegrityError):
        recorder.add_tiles(1, [tile(1), tile(2), tile(0)])  # tile 0 is there already
    recorder.commit()
    assert [spec.number for spec in recorder.reader.tile_specs(1)] == [0]


def test_what_is_not_committed_is_lost_and_the_rest_is_whole(tmp_path):
    path = tmp_path / "run.sqlite"
    first = RunRecorder(path)
    first.begin(PLAN)
    first.add_tiles(1, [tile(0)])
    first.commit()
    first.add_tiles(1, [tile(1)])
    reader = RunReader.open(path)
    assert reader.count_tiles(1) == 1
    reader.close()
    first.close()
    reader = RunReader.open(path)
    assert reader.count_tiles(1) == 2  # an orderly end commits
    reader.close()


def test_commits_are_gathered(recorder, monkeypatch):
    monkeypatch.setattr("edgekit.store.recorder.COMMIT_EVERY_S", 0.05)
    recorder.add_tiles(1, [tile(0)])
    assert not recorder.commit_if_due()
    time.sleep(0.06)
    assert recorder.commit_if_due()


@pytest.mark.parametrize("threshold", [0.3, 0.7, 0.1, 0.55])
def test_a_score_that_equals_the_threshold_counts(recorder, threshold):
    scores = [np.float32(threshold), np.nextafter(np.float32(threshold), np.float32(0))]
    recorder.put_fruit(1, MergedFruit(objects(scores), (False, False), (1, 1)))
    assert recorder.reader.count_fruit(1, threshold) == 1
    assert len(recorder.reader.fruit(1, threshold=threshold)) == 1


def test_a_panorama_that_grew_to_the_left_is_settled(recorder):
    recorder.add_tiles(1, [tile(0), tile(1)])
    recorder.close_source(1, PanoramaShape(9, (928, 512), 1, direction=-1))
    assert [spec.x_px for spec in recorder.reader.tile_specs(1)] == [416, 0]


def test_foreign_keys_hold(recorder):
    with pytest.raises(sqlite3.IntegrityError):
        recorder.add_tiles(7, [tile(0)])


def test_the_file_says_what_it_is(tmp_path, recorder):
    connection = sqlite3.connect(tmp_path / "run.sqlite")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA user_version").fetchone() == (3,)
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"runs", "sources", "tiles", "detections", "fruit", "events"} <= names
    connection.close()


def test_readers_and_the_writer_do_not_disturb_each_other(tmp_path, recorder):
    faults, stop = [], threading.Event()

    def read():
        try:
            reader = RunReader.open(tmp_path / "run.sqlite")
            while not stop.is_set():
                counted = reader.count_tiles(1)
                assert counted <= len(list(reader.tiles(1)))
            reader.close()
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 1.5
    number = 0
    while time.monotonic() < until:
        recorder.add_tiles(1, [tile(number)])
        recorder.commit()
        number += 1
    stop.set()
    for thread in threads:
        thread.join()
    assert not faults
    assert recorder.reader.count_tiles(1) == number


@pytest.mark.parametrize(
    "data", [b"not a database, only text that is long enough to be a header" * 20, b"SQLite format 3\0"]
)
@pytest.mark.parametrize("opener", [open_writer, open_reader])
def test_a_file_that_is_no_database_is_told(tmp_path, data, opener):
    path = tmp_path / "run.sqlite"
    path.write_bytes(data)
    with pytest.raises((RunDamagedError, RunFolderError)):
        opener(path)


def test_a_damaged_database_is_told(tmp_path):
    path = tmp_path / "run.sqlite"
    recorder = RunRecorder(path)
    recorder.begin(PLAN)
    for number in range(200):
        recorder.add_tiles(1, [tile(number)])
    recorder.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * 12288 + whole[20480:])
    with pytest.raises(RunDamagedError, match="damaged"):
        open_writer(path)


def test_a_database_that_was_cut_before_its_tables_is_filled(tmp_path):
    path = tmp_path / "run.sqlite"
    path.touch()
    recorder = RunRecorder(path)
    assert recorder.begin(PLAN) == 1
    recorder.close()


def test_another_programs_database_and_another_version_are_refused(tmp_path):
    path = tmp_path / "run.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (x)")
    with pytest.raises(RunFolderError, match="not a run of edgekit"):
        open_writer(path)
    path = tmp_path / "newer.sqlite"
    RunRecorder(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(RunFolderError, match="schema version 99"):
        open_reader(path)


def test_a_locked_database_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("edgekit.store.database.BUSY_TIMEOUT_S", 0.05)
    path = tmp_path / "run.sqlite"
    recorder = RunRecorder(path)
    recorder.begin(PLAN)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(RunFolderError, match="in use"):
        recorder.add_tiles(1, [tile(0)])
    other.close()
    recorder.close()


def test_a_full_database_is_a_storage_error_and_keeps_what_was_committed(tmp_path):
    path = tmp_path / "run.sqlite"
    recorder = RunRecorder(path)
    recorder.begin(PLAN)
    recorder.add_tiles(1, [tile(0)])
    recorder.commit()
    pages = recorder._connection.execute("PRAGMA page_count").fetchone()[0]
    recorder._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageError, match="the disk is full"):
        recorder.add_tiles(1, [tile(number) for number in range(1, 400)])
    recorder.close()
    reader = RunReader.open(path)
    assert reader.count_tiles(1) >= 1
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)
    reader.close()


def test_a_reader_without_a_run_says_so(tmp_path):
    with pytest.raises(RunFolderError, match="holds no run"):
        RunReader.open(tmp_path / "run.sqlite")


def test_reading_leaves_no_file_and_changes_nothing(tmp_path):
    recorder = RunRecorder(tmp_path / "run.sqlite")
    recorder.begin(PLAN)
    recorder.add_tiles(1, [tile(0)])
    recorder.close()
    before = (tmp_path / "run.sqlite").read_bytes()
    for _ in range(2):
        connection = open_reader(tmp_path / "run.sqlite")
        assert connection.execute("SELECT count(*) FROM tiles").fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM tiles")
        connection.close()
    assert [path.name for path in tmp_path.iterdir()] == ["run.sqlite"]
    assert (tmp_path / "run.sqlite").read_bytes() == before


def test_what_a_killed_run_left_is_read_and_left(tmp_path, recorder):
    recorder.add_tiles(1, [tile(0)])
    recorder.commit()
    copy = tmp_path / "killed"
    copy.mkdir()
    for path in tmp_path.glob("run.sqlite*"):
        (copy / path.name).write_bytes(path.read_bytes())
    left = (copy / "run.sqlite-wal").read_bytes()
    reader = RunReader.open(copy / "run.sqlite")
    assert reader.count_tiles(1) == 1
    reader.close()
    assert (copy / "run.sqlite-wal").read_bytes() == left
