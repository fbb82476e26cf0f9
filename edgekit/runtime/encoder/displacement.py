"""Displacement from pictures and encoder together."""

from __future__ import annotations

from edgekit.contracts import Displacement, Frame
from edgekit.runtime.encoder.scale import Scale
from edgekit.runtime.encoder.settings import Mode
from edgekit.runtime.encoder.track import Odometer, Track
from edgekit.runtime.motion.displacement import CanopyDisplacement
from edgekit.runtime.motion.settings import DisplacementSettings

_CONFIDENCE = 0.5
"""Of a displacement that only the encoder saw: the wheel may slip, and the plants may hang at another distance."""
_TRUSTED = 0.25
"""Confidence of a picture's displacement from which it teaches the scale."""
_SPANS_DIFFER, _SPANS_DIFFER_S = 0.1, 0.25
_UNKNOWN_SHARE = 0.1
"""Of the frames: the encoder may start a moment after the camera."""


class EncodedDisplacement:
    """Measures like the estimator for canopies, told by the encoder what to expect.

    The scale between the two, sign included, is learnt from frames on which they agree; until then, and where the
    encoder says nothing, the pictures alone count. In mode `assist` the encoder replaces predictions, so that a
    featureless stretch is no bridge; in mode `override` it replaces every horizontal displacement.

    Args:
        settings: band and limits of the pictures' displacement.
        odometer: says where the trolley was.
        mode: assist or override.
    """

    def __init__(self, settings: DisplacementSettings, odometer: Odometer, mode: Mode) -> None:
        self._odometer = odometer
        self._mode = mode
        self._scale = Scale()
        self._pictures = CanopyDisplacement(settings, external=self)
        self._last_s: float | None = None
        self._frames = 0
        self._unknown = 0
        self._span_s: tuple[float, float] | None = None

    def doubt(self, rate_hz: float | None) -> str | None:
        """What is wrong with the times of frames and encoder beside each other; None where nothing is.

        Args:
            rate_hz: at which the frames' times were made up, where they are pictures that carry none.
        """
        if not isinstance(self._odometer, Track) or self._span_s is None:  # a port goes on while frames come
            return None
        (first_s, last_s), (from_s, to_s) = self._span_s, self._odometer.span_s
        seen_s, encoded_s = last_s - first_s, to_s - from_s
        if rate_hz is not None and abs(encoded_s - seen_s) > max(_SPANS_DIFFER_S, _SPANS_DIFFER * seen_s):
            return (
                f"the encoder's readings span {encoded_s:.2f} s, the pictures, taken for {rate_hz:g} a second,"
                f" {seen_s:.2f} s: scale and speed are wrong where they belong together - say by --fps how many"
                " pictures were taken a second"
            )
        if self._unknown > _UNKNOWN_SHARE * self._frames:
            return (
                f"the encoder says nothing at {self._unknown} of {self._frames} frames: its readings go from"
                f" {from_s:.2f} to {to_s:.2f} s, the frames from {first_s:.2f} to {last_s:.2f} s - set offset_s of the"
                " encoder"
            )
        return None

    @property
    def px_per_metre(self) -> float | None:
        """Scale of the panorama at the plants' distance; None before it is sure."""
        return self._scale.px_per_metre

    def expected_px(self, from_s: float, to_s: float) -> float | None:
        """What the encoder says of the movement between two times, in pixels of the picture."""
        moved_mm, px_per_mm = self._moved_mm(from_s, to_s), self._scale.px_per_mm
        return None if moved_mm is None or px_per_mm is None else moved_mm * px_per_mm

    def measure(self, frame: Frame) -> Displacement | None:
        """Displacement since the last frame; None for the first one. A reason in it means that it was predicted.

        Raises:
            SourceError: frames that are too small to follow anything.
        """
        last_s, self._last_s = self._last_s, frame.time_s
        self._note(frame.time_s)
        seen = self._pictures.measure(frame)
        if seen is None or last_s is None:
            return seen
        told_px = self.expected_px(last_s, frame.time_s)
        moved_mm = self._moved_mm(last_s, frame.time_s)
        if moved_mm is not None and seen.reason is None and seen.confidence >= _TRUSTED:
            self._scale.learn(seen.dx_px, moved_mm)
        if told_px is None:
            return seen
        if self._mode == "override":
            return Displacement(told_px, seen.dy_px, 1.0)
        return seen if seen.reason is None else seen._replace(confidence=_CONFIDENCE, reason=None)

    def _note(self, time_s: float) -> None:
        self._frames += 1
        self._unknown += self._odometer.position_mm(time_s) is None
        self._span_s = (time_s if self._span_s is None else self._span_s[0], time_s)

    def _moved_mm(self, from_s: float, to_s: float) -> float | None:
        here_mm, there_mm = self._odometer.position_mm(from_s), self._odometer.position_mm(to_s)
        return None if here_mm is None or there_mm is None else there_mm - here_mm
