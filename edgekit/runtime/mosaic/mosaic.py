"""The panorama of one row: frames in, finished columns out, memory constant."""

from __future__ import annotations

from dataclasses import replace

from edgekit.contracts import Columns, DisplacementEstimator, Frame, Image
from edgekit.runtime.mosaic.draw import Optics, Placed
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.mosaic.strips import StripWriter
from edgekit.runtime.mosaic.track import DriftBound, Position, Track
from edgekit.runtime.motion.displacement import CanopyDisplacement
from edgekit.runtime.motion.settings import DisplacementSettings
from edgekit.runtime.records import FrameRecord
from edgekit.runtime.same_picture import same_picture

_DECIDE_SHARE = 0.1
"""Share of the width that the scene must move before the direction of travel is settled: a trolley that jerks back at
the start does not decide it."""
_BLIND_SHARE = 0.35
"""A stretch in which nothing can be measured is drawn from predicted positions once it is this share of the width long;
up to there a frame that sees both ends is waited for."""


class StripMosaic:
    """Builds the panorama of one row; deterministic: the same frames give the same bytes.

    Columns are in scene orientation, x growing to the right. `direction` says in which order they are finished: +1 from
    column 0 upwards, -1 from column 0 downwards (the first columns end at 0, every x is negative). It is known once the
    first columns were returned and never changes after. See `edgekit.runtime.orientation`.

    Args:
        settings: band, travel, strips, seams.
        estimator: measures displacement; by default the one for canopies.
        optics: of the camera; None: its pictures are straight and even.
    """

    def __init__(
        self,
        settings: MosaicSettings,
        *,
        estimator: DisplacementEstimator | None = None,
        optics: Optics | None = None,
    ) -> None:
        self._settings = settings
        self._optics = optics
        self._estimator = estimator or CanopyDisplacement(DisplacementSettings(band=settings.band))
        self._track = Track()
        self._first: Frame | None = None
        self._drift = DriftBound(0.0)
        self._last_image: Image | None = None
        self._waiting: list[Placed] = []
        self._furthest: Placed | None = None
        self._strips: StripWriter | None = None
        self._direction = {"auto": 0, "left": -1, "right": 1}[settings.travel]
        self._width_px = 0
        self._records: list[FrameRecord] = []

    @property
    def direction(self) -> int:
        """+1: columns are finished from left to right; -1: from right to left."""
        return self._direction or 1

    @property
    def width_px(self) -> int:
        """Columns that were returned so far."""
        return self._width_px

    @property
    def origin_px(self) -> int:
        """Where the finished panorama's left edge lies in the coordinates of the records; settled by `finish`."""
        if self.direction > 0 or self._first is None:
            return 0
        return int(self._first.image.shape[1]) - self._width_px

    @property
    def overlap_residual_grey(self) -> float | None:
        """Mean difference of neighbouring frames where they meet, grey levels; None where none met."""
        return self._strips.overlap_residual_grey if self._strips else None

    def drain_records(self) -> list[FrameRecord]:
        """What became of the frames since the last call, in order; x_px counts from the first frame's left edge."""
        records, self._records = self._records, []
        return records

    def add(self, frame: Frame) -> list[Columns]:
        """Take a frame; return the columns that it finished."""
        refusal = self._refusal(frame)
        if refusal:
            self._records.append(FrameRecord(frame.sequence, frame.time_s, None, None, None, "dropped", refusal))
            return []
        self._last_image = frame.image
        seen = (
            frame
            if self._optics is None
            else replace(frame, image=self._optics.straight(frame.image, self._settings.band))
        )
        displacement = self._estimator.measure(seen)
        if self._first is None:
            self._first = frame
            self._drift = DriftBound(self._settings.drift_share * frame.image.shape[0])
            displacement = None
        if displacement is None:
            position = Position(0.0, 0.0, "placed", 1.0, None)
        else:
            position = self._track.move(displacement, self._direction)
        self._note(frame, position)
        bridged = position.status == "bridged"
        placed = Placed(frame.image, position.x_px, self._drift.correct(position.y_px), bridged, self._optics)
        return self._emit(self._take(placed))

    def finish(self) -> list[Columns]:
        """No more frames; return what is left. Nothing where there was no frame."""
        if self._first is None:
            return []
        columns = [] if self._strips else self._begin()
        assert self._strips is not None
        if self._furthest and self._strips.advance_px(self._furthest.x_px) > 0:
            columns.append(self._strips.place(self._furthest))
        columns.append(self._strips.finish())
        return self._emit(columns)

    def _refusal(self, frame: Frame) -> str | None:
        """Why a frame cannot be used; None where it can."""
        if frame.fault is not None:
            return frame.fault
        if self._first is None or self._last_image is None:
            return None
        if frame.image.shape != self._first.image.shape:
            (height, width), (want_h, want_w) = frame.image.shape[:2], self._first.image.shape[:2]
            return f"{width} x {height}, the first frame is {want_w} x {want_h}"
        if same_picture(frame.image, self._last_image):
            return "bit for bit the frame before it"
        return None

    def _take(self, placed: Placed) -> list[Columns]:
        """Draw the frame if it lies far enough beyond the one that was drawn last, else remember it if it leads."""
        if self._strips is None:
            return self._wait(placed)
        share_px = _BLIND_SHARE * placed.image.shape[1]
        advance_px = self._strips.advance_px(placed.x_px)
        if advance_px >= (share_px if placed.bridged else self._settings.strip_px):
            self._furthest = None
            return [self._strips.place(placed)]
        lead_px = self._strips.advance_px(self._furthest.x_px) if self._furthest else 0.0
        measured_again = self._furthest is not None and self._furthest.bridged and not placed.bridged
        if advance_px > lead_px or measured_again:
            self._furthest = placed
        return []

    def _wait(self, placed: Placed) -> list[Columns]:
        """Keep the first frames until the direction of travel is clear: a tenth of the width, so a bounded number."""
        if not self._waiting or abs(placed.x_px - self._waiting[-1].x_px) >= self._settings.strip_px:
            self._waiting.append(placed)
        if self._furthest is None or abs(placed.x_px) > abs(self._furthest.x_px):
            self._furthest = placed
        if not self._direction and abs(placed.x_px) < _DECIDE_SHARE * placed.image.shape[1]:
            return []
        return self._begin()

    def _begin(self) -> list[Columns]:
        """Settle the direction by the frame that went furthest, and draw those that wait."""
        assert self._furthest is not None
        self._direction = self._direction or (-1 if self._furthest.x_px < 0 else 1)
        self._strips = StripWriter(self._waiting[0], self._direction, self._settings)
        waiting = [*self._waiting[1:], self._furthest]
        self._waiting, self._furthest = [], None
        return [columns for placed in waiting for columns in self._take(placed)]

    def _emit(self, columns: list[Columns]) -> list[Columns]:
        self._width_px += sum(part.image.shape[1] for part in columns)
        return columns

    def _note(self, frame: Frame, position: Position) -> None:
        x_px, y_px, status, confidence, reason = position
        self._records.append(FrameRecord(frame.sequence, frame.time_s, x_px, y_px, confidence, status, reason))
