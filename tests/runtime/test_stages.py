"""The small tools of the pipeline: clock, working ahead, copies of the model, the annotated picture."""

import threading
import time

import numpy as np
import pytest

from edgekit.contracts import Instances, TileSpec
from edgekit.errors import ModelError, SettingsError, SourceError
from edgekit.runtime.ahead import ahead
from edgekit.runtime.annotate import LARGEST_PX, LINE_PX, Row, annotated, picture_shrink
from edgekit.runtime.memory import peak_rss_mb
from edgekit.runtime.models import segment_all, share_threads
from edgekit.runtime.row_pass import Batch
from edgekit.runtime.settings import RunSettings
from edgekit.runtime.stage_clock import StageClock
from edgekit.settings_file import read_settings, settings_from
from edgekit.store import MergedFruit


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("edgekit")]


def test_items_come_in_order_and_the_thread_ends():
    assert list(ahead(iter(range(100)), 3)) == list(range(100))
    assert not threads()


def test_no_more_is_made_ahead_than_was_asked_for():
    made = []

    def items():
        for number in range(100):
            made.append(number)
            yield number

    taken = ahead(items(), 2)
    assert next(taken) == 0
    time.sleep(0.2)
    assert len(made) <= 4  # one taken, two in the queue, one at the door
    taken.close()
    assert not threads()


def test_an_error_comes_after_the_items_before_it():
    def items():
        yield 1
        yield 2
        raise OSError("disk")

    taken, seen = ahead(items(), 5), []
    with pytest.raises(OSError, match="disk"):
        seen.extend(taken)
    assert not threads()


def test_closing_early_closes_the_source():
    closed = []

    def items():
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    taken = ahead(items(), 2)
    next(taken)
    taken.close()
    assert closed == [True]
    assert not threads()


def test_stages_within_stages_are_not_counted_twice():
    clock = StageClock()

    def inner():
        for number in range(3):
            time.sleep(0.03)
            yield number

    def outer():
        for number in clock.each("inner", inner()):
            time.sleep(0.01)
            yield number

    began = time.perf_counter()
    assert list(clock.each("outer", outer())) == [0, 1, 2]
    total_ms = (time.perf_counter() - began) * 1e3
    spent = clock.spent_ms()
    assert spent["inner"] >= 85
    assert 25 <= spent["outer"] <= total_ms - spent["inner"] + 1


class Numbered:
    """Answers a tile with its own number; later tiles are faster."""

    def __init__(self):
        self.info = None
        self.provider = None

    def segment(self, tiles):
        time.sleep(0.02 / (1 + int(tiles[0, 0, 0, 0])))
        if tiles[0, 0, 0, 0] == 7:
            raise ModelError("seven")
        return [int(tile[0, 0, 0]) for tile in tiles]

    def close(self):
        pass


def numbered(count):
    for number in range(count):
        yield Batch(None, (TileSpec(number, 0, 0, 1),), np.full((1, 1, 1, 3), number, np.uint8))


@pytest.mark.parametrize("copies", [1, 2, 4])
def test_results_keep_the_order_of_the_batches(copies):
    found = [results for _, results in segment_all(numbered(7), [Numbered() for _ in range(copies)])]
    assert found == [[number] for number in range(7)]


@pytest.mark.parametrize("copies", [1, 3])
def test_an_error_of_the_model_comes_after_the_results_before_it(copies):
    found = []
    with pytest.raises(ModelError, match="seven"):
        found.extend(results for _, results in segment_all(numbered(20), [Numbered() for _ in range(copies)]))
    assert found == [[number] for number in range(7)]
    assert not threads()


@pytest.mark.parametrize("copies", [1, 3])
def test_what_was_cut_before_a_source_failed_is_still_segmented(copies):
    def failing():
        yield from numbered(5)
        raise SourceError("the file ends here")

    found = []
    with pytest.raises(SourceError, match="ends here"):
        found.extend(results for _, results in segment_all(failing(), [Numbered() for _ in range(copies)]))
    assert found == [[number] for number in range(5)]


@pytest.mark.parametrize(
    ("given", "shared"), [(1, (1, 1)), (2, (2, 1)), (4, (4, 1)), (6, (3, 2)), (8, (4, 2)), (7, (1, 7)), (16, (4, 4))]
)
def test_threads_are_shared_among_copies(given, shared):
    assert share_threads(given) == shared


def row(width_px, height_px=720):
    nothing = MergedFruit(Instances.empty(), (), ())

    def overview(shrink):
        return np.full((max(height_px // shrink, 1), max(width_px // shrink, 1), 3), 100, np.uint8)

    return Row("row", (width_px, height_px), overview, nothing)


@pytest.mark.parametrize(
    "rows", [[row(3800)], [row(120_000)], [row(1512, 2016)] * 19, [row(1, 1)], [row(70_000, 64)], []]
)
def test_the_picture_stays_within_its_limits(rows):
    picture = annotated(rows)
    drawn = (picture == 100).all(axis=2).sum()
    shrink = picture_shrink([item.size_wh for item in rows])
    assert drawn == pytest.approx(sum(item.size_wh[0] * item.size_wh[1] for item in rows) / shrink**2, rel=0.02)
    assert drawn <= LARGEST_PX
    assert picture.shape[1] <= LINE_PX
    assert picture.shape[0] <= 1.5 * max(picture.shape[1], 1) + 100


def test_many_pictures_are_several_lines_and_say_that_they_are_reduced(monkeypatch):
    """Nineteen pictures of 3 megapixels lay side by side, fourteen times as wide as high."""
    titles = []
    monkeypatch.setattr("edgekit.runtime.annotate.cv2.putText", lambda _, text, *rest: titles.append(text))
    picture = annotated([row(1512, 2016) for _ in range(19)])
    assert picture.shape[1] <= 4000
    assert picture.shape[0] > 1000
    assert titles == ["row, at 1/4 of its size"] * 19
    titles.clear()
    annotated([row(1200)])
    assert titles == ["row"]


def test_the_settings_that_are_written_out_are_the_defaults(repository):
    assert read_settings(repository / "runtime/run.toml", RunSettings) == RunSettings()


def test_settings_read_and_written_are_the_same():
    written = RunSettings(px_per_metre=900.0).nested()
    assert settings_from(written, RunSettings) == RunSettings(px_per_metre=900.0)


@pytest.mark.parametrize("wrong", [{"px_per_metre": 0.0}, {"segments": {"kind": "gif"}}, {"tiles": {"overlap": 5}}])
def test_settings_that_cannot_be_are_refused(wrong):
    with pytest.raises(SettingsError):
        settings_from(wrong, RunSettings)


def test_peak_memory_is_that_of_this_process():
    before = peak_rss_mb()
    block = np.ones(40_000_000, np.uint8)
    assert peak_rss_mb() >= before
    assert peak_rss_mb() > block.nbytes / 1024**2
