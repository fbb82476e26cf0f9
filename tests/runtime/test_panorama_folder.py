"""The folder of a build: what is not the build's own is never touched, and one process writes at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_rows import SIZE_WH, made_strip
from run_scene import silent

from edgekit.contracts import Columns, Frame
from edgekit.errors import RunFinishedError, RunFolderError
from edgekit.folder_lock import locked
from edgekit.runtime.panorama.folder import build_panorama
from edgekit.runtime.panorama.segments import SegmentWriter
from edgekit.runtime.rowmaker import Motion, SlidingCamera
from edgekit.runtime.settings import RunSettings, SegmentSettings

SETTINGS = RunSettings(segments=SegmentSettings(width_px=64, kind="png"))
STRIP = made_strip(900)


class Row:
    """Frames of a camera that slides, and that breaks off after some of them."""

    name, length, faults = "row", 40, ()

    def __init__(self, breaks_at: int | None = None) -> None:
        self._breaks_at = breaks_at

    def __iter__(self):
        for frame in SlidingCamera(STRIP, Motion(frames=40, speed_px=8.0), size_wh=SIZE_WH):
            if frame.sequence == self._breaks_at:
                raise KeyboardInterrupt
            yield Frame(frame.image, frame.sequence, frame.time_s)

    def close(self) -> None:
        pass


def build(out: Path, row: Row | None = None) -> None:
    build_panorama(row or Row(), out, SETTINGS, progress=silent)


def cut_build(out: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        build(out, Row(breaks_at=30))
    assert (out / "segment_00000.png").exists()


@pytest.mark.parametrize("name", ["segment_00000.png", "segment_notes.txt", ".segment_old", "quality.html", "a.txt"])
def test_files_that_no_build_wrote_stay(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("keep me")
    with pytest.raises(RunFolderError, match=name):
        build(tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["keep me"]


def test_the_row_of_a_run_stays(tmp_path: Path) -> None:
    """A cut run leaves segments without an index, and no note of a build."""
    writer = SegmentWriter(tmp_path, width_px=64)
    for frame in SlidingCamera(STRIP, Motion(frames=1, speed_px=8.0), size_wh=SIZE_WH):
        writer.add(Columns(frame.image, 0))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(RunFolderError, match="segment_0000"):
        build(tmp_path)
    writer.finish()
    with pytest.raises(RunFinishedError):
        build(tmp_path)
    assert before.items() <= {path.name: path.read_bytes() for path in tmp_path.iterdir()}.items()


def test_a_build_that_was_cut_is_done_again_with_the_same_bytes(tmp_path: Path) -> None:
    build(tmp_path / "whole")
    cut_build(tmp_path / "cut")
    (tmp_path / "cut" / ".segment_00002.0123abcd.partial.png").write_bytes(b"half")
    build(tmp_path / "cut")
    whole, again = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("whole", "cut"))
    assert whole == again
    assert "building.json" not in again
    with pytest.raises(RunFinishedError):
        build(tmp_path / "cut")


def test_a_file_that_was_laid_beside_a_cut_build_stays(tmp_path: Path) -> None:
    cut_build(tmp_path)
    (tmp_path / "segment_mine.png").write_text("keep me")
    with pytest.raises(RunFolderError, match=r"segment_mine\.png"):
        build(tmp_path)
    assert (tmp_path / "segment_mine.png").exists()
    assert (tmp_path / "segment_00000.png").exists()


def test_two_builds_do_not_share_a_folder(tmp_path: Path) -> None:
    cut_build(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    with locked(tmp_path), pytest.raises(RunFolderError, match="another edgekit process"):
        build(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
