"""JSON and plain lines, floods that stay short, files of bounded size, and nothing global."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from boards import Clock
from hypothesis import given
from hypothesis import strategies as st

from edgekit.errors import SettingsError, StorageError
from edgekit.runtime.watch.board import StatusBoard
from edgekit.runtime.watch.log_limit import MOST_KINDS, Limit
from edgekit.runtime.watch.logs import _is_journal, run_log
from edgekit.runtime.watch.settings import LogSettings

LOG = logging.getLogger("edgekit.runtime.test")


def lines(settings: LogSettings, work, **more) -> list[str]:
    stream = io.StringIO()
    with run_log(settings, stream=stream, **more):
        work()
    return stream.getvalue().splitlines()


def test_json_lines_carry_extras_and_traces() -> None:
    def work() -> None:
        LOG.info("row %s opened", "12", extra={"side": "left", "level": "not mine"})
        try:
            raise RuntimeError("broken")
        except RuntimeError:
            LOG.exception("a stage failed")

    first, second = map(json.loads, lines(LogSettings(), work, run=lambda: "night 3"))
    assert first["text"] == "row 12 opened"
    assert (first["side"], first["level"], first["run"]) == ("left", "info", "night 3")
    assert first["time"].endswith("+00:00")
    assert "RuntimeError: broken" in second["trace"]


def test_the_run_of_a_line_is_the_folder_that_is_written_just_then() -> None:
    board = StatusBoard("rides", [])

    def work() -> None:
        LOG.info("loading")
        for folder in ("000001_2026-11-30", "000002_2026-12-01"):
            board.counting_into(folder)
            LOG.info("counting")

    found = [json.loads(line).get("run") for line in lines(LogSettings(), work, run=lambda: board.run)]
    assert found == [None, "000001_2026-11-30", "000002_2026-12-01"]


def test_plain_lines_stay_one_line_each() -> None:
    written = lines(LogSettings(form="plain"), lambda: LOG.warning("camera says %s", "x\n12:00:00 all is well\x1b[2J"))
    assert len(written) == 1
    assert written[0].endswith("warning: camera says x 12:00:00 all is well [2J")


def test_a_hundred_failed_connects_are_a_few_lines() -> None:
    """A camera that is away all night must not fill the disk (fault B5-08: fewer than 100 lines for 100 attempts)."""

    def work() -> None:
        for attempt in range(100):
            LOG.warning("cannot connect to rtsp://10.0.0.7:554 (attempt %d, 0x%x): refused", attempt, id(attempt))
            LOG.warning(f"trying again in {attempt / 7:.2f} s")

    written = [json.loads(line)["text"] for line in lines(LogSettings(), work)]
    assert len(written) == 12
    assert "95 more such lines, the last: cannot connect to rtsp://10.0.0.7:554 (attempt 99" in written[-2]


def test_counts_are_told_when_the_window_is_over() -> None:
    clock = Clock()
    limit = Limit(2, 60, 1000, clock=clock)
    passed = [text for _ in range(10) for text in say(limit, "lost frame 1")]
    assert passed == ["lost frame 1"] * 2
    clock.wait(61)
    assert say(limit, "lost frame 2") == ["8 more such lines, the last: lost frame 1", "lost frame 2"]
    assert limit.rest() == []


def test_lines_of_all_kinds_are_limited_too() -> None:
    clock = Clock()
    limit = Limit(5, 60, 20, clock=clock)
    assert sum(len(say(limit, "x" * n)) for n in range(1, 100)) == 20
    clock.wait(61)
    assert say(limit, "again") == ["79 lines of the log were left out: more than 20 in 60 s", "again"]


@given(st.lists(st.text(max_size=3), max_size=60), st.integers(1, 4))
def test_every_line_is_written_or_counted(texts, repeats) -> None:
    limit = Limit(repeats, 60, 10_000, clock=Clock())
    written = [record for text in texts for record in limit.passing(record_of(text))]
    told = sum(int(record.getMessage().split()[0]) for record in limit.rest())
    assert len(written) + told == len(texts)


def test_many_kinds_take_bounded_memory() -> None:
    limit = Limit(5, 60, 10**9, clock=Clock())
    for number in range(3 * MOST_KINDS):
        say(limit, "".join(chr(97 + int(digit)) for digit in str(number)))
    assert len(limit._kinds) <= MOST_KINDS


def say(limit: Limit, text: str) -> list[str]:
    return [record.getMessage() for record in limit.passing(record_of(text))]


def record_of(text: str) -> logging.LogRecord:
    return logging.LogRecord("edgekit.x", logging.WARNING, "", 0, text, None, None)


def test_a_file_keeps_its_size(tmp_path: Path) -> None:
    settings = LogSettings(file=tmp_path / "run.log", file_mb=0.01, repeats=10**6, lines_per_window=10**6)
    with run_log(settings):
        for number in range(2000):
            LOG.info("line %d", number)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 4
    assert all(file.stat().st_size <= 10_000 for file in files)
    assert "line 1999" in (tmp_path / "run.log").read_text()
    with pytest.raises(StorageError), run_log(LogSettings(file=tmp_path / "no" / "run.log")):
        pass


def test_nothing_is_left_behind() -> None:
    logger = logging.getLogger("edgekit")
    before = (logger.level, logger.propagate, list(logger.handlers), list(logging.root.handlers))
    lines(LogSettings(level="debug"), lambda: LOG.debug("x"))
    assert (logger.level, logger.propagate, list(logger.handlers), list(logging.root.handlers)) == before


def test_a_stream_without_a_reader_does_no_harm() -> None:
    stream = io.StringIO()
    with run_log(LogSettings(), stream=stream):
        stream.close()
        LOG.error("nobody hears")


def test_under_journald_lines_carry_their_priority() -> None:
    code = (
        "import logging, os, sys\n"
        "found = os.fstat(2); os.environ['JOURNAL_STREAM'] = f'{found.st_dev}:{found.st_ino}'\n"
        "from edgekit.runtime.watch.logs import run_log\n"
        "from edgekit.runtime.watch.settings import LogSettings\n"
        "with run_log(LogSettings()): logging.getLogger('edgekit.x').error('bad')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.startswith('<3>{"time"')
    with Path(os.devnull).open("w") as stream:
        assert not _is_journal(stream, {})


@pytest.mark.parametrize("limits", [{"repeats": 0}, {"window_s": 0.0}, {"lines_per_window": -1}, {"file_mb": 1e9}])
def test_limits_that_would_silence_the_log_are_refused(limits) -> None:
    with pytest.raises(SettingsError, match=f"log.{next(iter(limits))}"):
        LogSettings(**limits)
