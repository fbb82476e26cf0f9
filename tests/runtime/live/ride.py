"""A trolley that rides in a test: cameras that slide over made scenes at a pace, and a service in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from run_scene import MagentaSegmenter, settings, spread, strip

from edgekit.contracts import Frame, Image
from edgekit.runtime.control import Command, Reply, RowStart, RowStop, ask, run_socket
from edgekit.runtime.job import Job
from edgekit.runtime.live.front import Front
from edgekit.runtime.live.runs import run_folders
from edgekit.runtime.live.service import Service
from edgekit.runtime.live.site import LiveSegmentSettings, ReadyCamera, Site, SiteCamera
from edgekit.runtime.live.space import SpaceSettings
from edgekit.runtime.settings import SegmentSettings
from edgekit.runtime.sources import CameraDescription
from edgekit.runtime.watch.board import StatusBoard
from edgekit.runtime.watch.settings import MetricsSettings
from edgekit.runtime.watch.snapshot import Snapshot
from edgekit.store import RunFolder, RunReader

SIZE_WH = (1500, 200)
DISCS = spread(60, SIZE_WH)
WINDOW_PX = 250
SEGMENT_PX = 300


def window_frames(scene: Image, *, step_px: int = 25) -> list[Image]:
    """The pictures of a ride along a scene; to the left where the step is negative."""
    places = list(range(0, scene.shape[1] - WINDOW_PX + 1, abs(step_px)))
    return [scene[:, x : x + WINDOW_PX].copy() for x in (places if step_px > 0 else places[::-1])]


def still(image: Image, count: int) -> list[Image]:
    """The trolley stands: the picture stays the same but for the noise of the camera."""
    rng = np.random.default_rng(1)
    noise = rng.integers(0, 3, (count, *image.shape), np.uint8)
    return [np.clip(image.astype(np.int16) + part - 1, 0, 255).astype(np.uint8) for part in noise]


class PacedCamera:
    """Frames at a pace, each with its number; what they show can be changed while it runs; silent without pictures."""

    def __init__(self, pictures: Sequence[Image] = (), *, rate_hz: float = 60.0, ends: bool = False) -> None:
        self.name, self.length, self.faults, self.dropped = "paced", None, (), 0
        self._pictures: list[Image] = list(pictures)
        self._rate_hz = rate_hz
        self._closed = threading.Event()
        self.given = 0

    def show(self, pictures: Sequence[Image]) -> None:
        self._pictures = [*self._pictures, *pictures]

    @property
    def done(self) -> bool:
        return not self._pictures

    def __iter__(self) -> Iterator[Frame]:
        while not self._closed.wait(1 / self._rate_hz):
            if self._pictures:
                picture, self._pictures = self._pictures[0], self._pictures[1:]
                yield Frame(picture, self.given, time.monotonic())
                self.given += 1

    def close(self) -> None:
        self._closed.set()


def site(out: Path, sides: Sequence[str] = ("left", "right"), **changes: object) -> Site:
    cameras = tuple(SiteCamera(side, camera=CameraDescription("stream", "nowhere", side=side)) for side in sides)  # type: ignore[arg-type]
    values: dict[str, object] = {
        "segments": LiveSegmentSettings(width_px=SEGMENT_PX, kind="png"),
        "metrics": MetricsSettings(enabled=False),
        "control": run_socket(out),
        "space": SpaceSettings(reserve_mb=1.0),
    }
    return Site(out, cameras, **{**values, **changes})  # type: ignore[arg-type]


class Ride:
    """A service in a thread; used as a context, it is stopped at the end and its error is raised."""

    def __init__(
        self, where: Site, cameras: dict[str, PacedCamera], models: Sequence[MagentaSegmenter] | None = None
    ) -> None:
        self.site = where
        self.cameras = cameras
        self.stop = threading.Event()
        self.failure: BaseException | None = None
        ready = tuple(
            ReadyCamera(item.name, item.camera.side, item.camera.side, item.camera)  # type: ignore[union-attr]
            for item in where.cameras
        )
        run_settings = settings(segments=SegmentSettings(where.segments.width_px, where.segments.kind))
        job = Job((), "stub.onnx", run_settings, 0.5, "test")
        board = StatusBoard(where.out.name, [(camera.name, camera.label) for camera in ready])
        self._front = Front(where, board, self.stop)
        self._service = Service(
            where, ready, job, models=models or [MagentaSegmenter()], front=self._front,
            opened=lambda camera: cameras[camera.name],
        )  # fmt: skip
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Ride:
        self._thread.start()
        self.until(lambda: self._answers())
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        self.stop.set()
        self.end_by_itself()

    def end_by_itself(self) -> None:
        self._thread.join(30)
        assert not self._thread.is_alive()
        if self.failure is not None:
            raise self.failure

    def ask(self, command: Command) -> Reply:
        return ask(run_socket(self.site.out), command)

    def start(self, row: str, side: str | None = None) -> None:
        reply = self.ask(RowStart(row, side))
        assert reply.ok, reply
        self.until(lambda: row in self.open_rows())

    def stop_row(self, side: str | None = None) -> None:
        assert self.ask(RowStop(side)).ok
        self.until(lambda: not any(row for entry, row in self._rows().items() if side in (None, entry)))

    def status(self) -> Snapshot:
        from edgekit.runtime.control import StatusQuery

        return Snapshot.from_dict(dict(self.ask(StatusQuery()).data))

    def open_rows(self) -> list[str | None]:
        return list(self._rows().values())

    def until(self, holds: Callable[[], bool], seconds: float = 30.0) -> None:
        end_s = time.monotonic() + seconds
        while not holds():
            if self.failure is not None:
                raise self.failure
            assert time.monotonic() < end_s, "it never came"
            time.sleep(0.02)

    def _rows(self) -> dict[str, str | None]:
        return {row.side: row.row for row in self.status().rows}

    def _answers(self) -> bool:
        from edgekit.errors import EdgekitError
        from edgekit.runtime.control import StatusQuery

        try:
            return self.ask(StatusQuery()).ok and bool(self._service._lanes)
        except EdgekitError:
            return False

    def _serve(self) -> None:
        try:
            with self._front:
                self._service.serve()
        except BaseException as error:
            self.failure = error


def stored(out: Path, number: int = -1) -> SimpleNamespace:
    """What the database of a run holds: rows by name and side, with count, state and remarks."""
    folder = RunFolder(run_folders(out)[number])
    reader = RunReader.open(folder.database)
    try:
        events = reader.events()
        rows = {
            source.path: SimpleNamespace(
                state=source.state,
                fruit=reader.count_fruit(source.id, 0.5) if source.state == "merged" else None,
                tiles=reader.count_tiles(source.id),
                width_px=source.width_px,
                pictures=source.pictures,
                remarks=[event.message for event in events if event.source_id == source.id],
            )
            for source in reader.sources()
        }
        return SimpleNamespace(folder=folder, rows=rows, events=events, finished=reader.run().finished)
    finally:
        reader.close()


def scene(seed: int = 5, count: int = 60) -> Image:
    return strip(SIZE_WH, spread(count, SIZE_WH, seed))


def ride_two_rows(out):
    """A ride that is over: row 12 on the left with 60 fruit, row 13 on the right, ridden the other way, with 31."""
    cameras = {"left": PacedCamera(), "right": PacedCamera()}
    with Ride(site(out), cameras) as ride:
        ride.start("12", "left")
        ride.start("13", "right")
        cameras["left"].show(window_frames(scene(5, 60)))
        cameras["right"].show(window_frames(scene(6, 31), step_px=-25))
        ride.until(lambda: all(camera.done for camera in cameras.values()))
        ride.stop_row()
        ride.until(lambda: ride.status().fruit == 91)
