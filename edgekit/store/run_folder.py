"""The folder of a run: its files, who may write in it, and what a cut left behind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgekit.atomic import PARTIAL_SUFFIX, storage_error
from edgekit.errors import RunFinishedError, RunFolderError
from edgekit.folder_lock import LOCK_NAME, locked
from edgekit.store.database import has_begun
from edgekit.store.reader import RunReader

_ASIDE_NAME = "set-aside"
_DATABASE_NAME = "run.sqlite"


class RunFolder:
    """Where the files of a run lie.

    Args:
        path: the folder; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / _DATABASE_NAME
        self.coco_results = path / "fruit.coco.json"
        self.coco_dataset = path / "panorama.coco.json"
        self.fruit_csv = path / "fruit.csv"
        self.annotated = path / "annotated.png"
        self.summary = path / "summary.json"

    @property
    def results(self) -> tuple[Path, ...]:
        """The files that are written from the database when a run ends."""
        return self.coco_results, self.coco_dataset, self.fruit_csv, self.annotated, self.summary

    @property
    def panorama(self) -> Path:
        """Folder of the panoramas of all sources."""
        return self.path / "panorama"

    def segments(self, number: int) -> Path:
        """Folder of the panorama segments of a source."""
        return self.panorama / f"row_{number:03d}"

    @contextmanager
    def claimed(self) -> Iterator[list[str]]:
        """Hold the folder for one writing process; yield what an earlier one left half done and was set aside.

        Raises:
            RunFinishedError: it holds a finished run.
            RunFolderError: it holds other things, or another process is writing a run there.
            StorageError: it cannot be made or written.
        """
        self._check_place()
        with locked(self.path):
            aside = self._set_aside_orphans() + self._set_aside_halves()
            self._check_unfinished()
            yield aside

    def check_free(self) -> None:
        """Refuse early, before long work, what `claimed` will refuse.

        Raises:
            RunFinishedError: it holds a finished run.
            RunFolderError: it holds other things.
        """
        self._check_place()
        self._check_unfinished()

    def _check_place(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise RunFolderError(f"{self.path} is a file", mend="name a folder that is new or holds an unfinished run")
        if not self.path.exists() or self.database.exists():
            return
        own = {LOCK_NAME, _ASIDE_NAME, *(item.name for item in self._of_a_run())}
        foreign = sorted(item.name for item in self.path.iterdir() if item.name not in own)
        if foreign:
            mend = "name a folder that is new, empty or holds an unfinished run"
            raise RunFolderError(f"{self.path} holds other files ({foreign[0]}, ...) and no run", mend=mend)

    def _check_unfinished(self) -> None:
        """A finished run is refused; one that lost a file that is written at the end may write it again."""
        if not has_begun(self.database):
            return
        reader = RunReader.open(self.database)
        try:
            run = reader.run_or_none()
        finally:
            reader.close()
        if run is not None and run.finished and all(item.exists() for item in self.results):
            mend = f"choose another --out, or read it with: edgekit count {self.path}"
            raise RunFinishedError(f"{self.path} holds a finished run", mend=mend)

    def _of_a_run(self) -> tuple[Path, ...]:
        """What a run leaves beside its database."""
        journals = (self.database.with_name(f"{_DATABASE_NAME}{ending}") for ending in ("-wal", "-shm"))
        return (self.panorama, *self.results, *journals)

    def _set_aside_orphans(self) -> list[str]:
        """Move what belongs to a run whose database was taken away or emptied, so that it is counted anew."""
        if has_begun(self.database):
            return []
        orphans = [item for item in self._of_a_run() if item.exists()]
        return [self._move_aside(item, "belonged to a run whose database is gone") for item in orphans]

    def _set_aside_halves(self) -> list[str]:
        """Move what was cut while it was written to a folder of its own: nothing is deleted."""
        halves = [item for item in self.path.rglob(f".*{PARTIAL_SUFFIX}*") if _ASIDE_NAME not in item.parts]
        halves += [item for item in (self.coco_results, self.coco_dataset, self.summary) if _is_torn(item)]
        return [self._move_aside(item, "was half written") for item in halves]

    def _move_aside(self, item: Path, why: str) -> str:
        aside = self.path / _ASIDE_NAME
        name = item.relative_to(self.path).as_posix().replace("/", "_").lstrip(".")
        taken = sum(1 for other in aside.glob(f"*-{name}")) if aside.exists() else 0
        try:
            aside.mkdir(exist_ok=True)
            shutil.move(item, aside / f"{taken + 1}-{name}")
        except OSError as error:
            raise storage_error(aside, error) from error
        return f"{item.relative_to(self.path)} {why}; it lies in {_ASIDE_NAME}/ now"


def _is_torn(path: Path) -> bool:
    """True for a JSON file that was cut."""
    try:
        json.loads(path.read_bytes())
    except FileNotFoundError:
        return False
    except ValueError:
        return True
    return False
