"""How far the scene moved: measured where the fruit hangs, to a fraction of a pixel; predicted where that fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgekit.contracts import Displacement, FloatArray, Frame
from edgekit.errors import SourceError
from edgekit.runtime.motion.blocks import BlockMatches, match_blocks
from edgekit.runtime.motion.coarse import DEPTH, CoarseMatcher
from edgekit.runtime.motion.external import ExternalDisplacement
from edgekit.runtime.motion.planes import PlaneMaker, Planes
from edgekit.runtime.motion.robust import agree, hill
from edgekit.runtime.motion.settings import DisplacementSettings

_KEY_SHARE = 0.03
"""Share of the width after which the frame becomes the one that later frames are measured against. Measuring against a
frame that lies back, not against the last one, keeps noise from adding up while the trolley creeps or stands."""
_LEAST_SIDE_PX = 16
"""Frames below it have no band of even one block, whatever they show."""
_LEAST_BLOCKS = 5
_LEAST_CONFIDENCE = 0.12
_LOST_SHARE = 0.35
"""Share of the width after which a frame that is no longer found is given up."""
_LEAST_SPREAD, _SPREAD_SHARE = 0.01, 0.5
"""Standard deviation of what is expected: half of it, but at least that share of the width; hand-pushed trolleys jerk
from 40 to 120 px a frame. It shrinks with the frame, or in small frames a layer behind the row passes for a jerk."""
_LEAST_LAYER, _LAYER_SHARE = 0.0025, 0.25
"""Standard deviation of a layer's displacements: that share of the width at least, or of what is expected."""
_OTHER_LAYER = 0.4
"""Weight of blocks that move at another speed than the row did so far: a branch that passes close by counts less; a
jerk of the trolley, which moves all blocks alike, changes nothing."""
_LEAST_HILL_PX = 1.5
"""Blocks that differ by no more than that pass for one layer, however slow: noise moves them as much."""
_SPEED_MEMORY = 0.5
"""Weight of the newest speed."""


class _Match(NamedTuple):
    dx_px: float
    dy_px: float
    confidence: float
    reason: str | None


@dataclass(frozen=True, eq=False)
class _Reference:
    """A frame that later ones are measured against, and how far the scene has moved since."""

    planes: Planes
    dx_px: float = 0.0
    dy_px: float = 0.0


class CanopyDisplacement:
    """Measures displacement in a band of many depths; keeps two frames at reduced size.

    Args:
        settings: the band and the limits.
        external: what an encoder says; where it says something, that is expected in place of the last speed.
    """

    def __init__(self, settings: DisplacementSettings, *, external: ExternalDisplacement | None = None) -> None:
        self._settings = settings
        self._external = external
        self._maker: PlaneMaker | None = None
        self._coarse: CoarseMatcher | None = None
        self._width_px = 0
        self._key: _Reference | None = None
        self._last: Planes | None = None
        self._last_time_s = 0.0
        self._speed_px_s: float | None = None

    def measure(self, frame: Frame) -> Displacement | None:
        """Displacement since the last frame; None for the first one. A reason in it means that it was predicted.

        Raises:
            SourceError: frames that are too small to follow anything.
        """
        planes = self._planes(frame)
        key, last = self._key, self._last
        last_time_s, elapsed_s = self._last_time_s, frame.time_s - self._last_time_s
        self._last, self._last_time_s = planes, frame.time_s
        if key is None or last is None:
            self._key = _Reference(planes)
            return None
        told_px = None if self._external is None else self._external.expected_px(last_time_s, frame.time_s)
        expected_px = (self._speed_px_s or 0.0) * elapsed_s if told_px is None else told_px
        match = self._match(key, planes, expected_px)
        if match.reason is None:
            return self._accept(key, planes, match, elapsed_s)
        previous = _Reference(last)
        again = self._match(previous, planes, expected_px)
        if again.reason is None:
            return self._accept(previous, planes, again, elapsed_s)
        return self._predict(key, planes, match._replace(dx_px=expected_px))

    def _planes(self, frame: Frame) -> Planes:
        if self._maker is None or self._coarse is None:
            height, self._width_px = frame.image.shape[:2]
            if min(height, self._width_px) < _LEAST_SIDE_PX:
                what = f"frames of {self._width_px} x {height} px are too small to follow a row"
                raise SourceError(what, mend=f"give frames of at least {_LEAST_SIDE_PX} px each way")
            self._maker = PlaneMaker(self._settings, (self._width_px, height))
            unit_px = 2 * self._maker.factor
            reach, lift = self._settings.reach * self._width_px / unit_px, self._settings.lift_px / (2 * unit_px)
            lift = min(lift, self._maker.spectrum_rows // 3)
            self._coarse = CoarseMatcher(self._maker.transform_px, round(reach), round(lift))
        return self._maker(frame.image)

    def _match(self, reference: _Reference, planes: Planes, expected_px: float) -> _Match:
        """Displacement of the scene since the reference frame."""
        assert self._maker is not None
        assert self._coarse is not None
        unit_px = 2 * self._maker.factor
        prior = None
        if self._speed_px_s is not None:
            spread_px = max(_LEAST_SPREAD * self._width_px, _SPREAD_SHARE * abs(expected_px))
            prior = (reference.dx_px + expected_px, spread_px)
        coarse = self._coarse.match(reference.planes, planes, prior and (prior[0] / unit_px, prior[1] / unit_px))
        factors = (self._maker.factor, self._maker.sharp_factor)
        blocks = match_blocks(reference.planes, planes, coarse, factors)
        return self._judge(blocks, prior and prior[0])

    def _judge(self, blocks: BlockMatches, expected_px: float | None) -> _Match:
        """One displacement of many, and whether to believe it."""
        if blocks.textured < _LEAST_BLOCKS:
            return _Match(0.0, 0.0, 0.0, f"featureless: {blocks.textured} blocks show anything")
        if len(blocks.dx) < _LEAST_BLOCKS:
            return _Match(0.0, 0.0, 0.0, f"{len(blocks.dx)} of {blocks.textured} blocks were found again")
        weights = self._weights(blocks, expected_px)
        layer = hill(blocks.dx, weights, DEPTH, _LEAST_HILL_PX)
        across, down = agree(blocks.dx, weights, layer), agree(blocks.dy, weights, layer)
        confidence = across.share * min(blocks.found / blocks.textured, 1.0)
        agreeing = f"{across.share * blocks.found:.0f} of {blocks.textured} blocks agree"
        return _Match(across.value, down.value, confidence, None if confidence >= _LEAST_CONFIDENCE else agreeing)

    def _weights(self, blocks: BlockMatches, expected_px: float | None) -> FloatArray:
        """How much each block counts: by its distance from the middle, and, where layers part, by what is expected."""
        off = (blocks.x - self._width_px / 2) / (self._settings.focus * self._width_px)
        weights = np.exp(-0.5 * off**2) + np.float32(1e-6)
        if expected_px is not None:
            spread_px = max(_LEAST_LAYER * self._width_px, _LAYER_SHARE * abs(expected_px))
            near = np.exp(-0.5 * ((blocks.dx - expected_px) / spread_px) ** 2)
            weights = weights * (_OTHER_LAYER + (1 - _OTHER_LAYER) * near)
        return np.asarray(weights, np.float32)

    def _accept(self, reference: _Reference, planes: Planes, match: _Match, elapsed_s: float) -> Displacement:
        """Take a measured displacement; a frame that lies far from its reference becomes the next one."""
        moved_px, lifted_px = match.dx_px - reference.dx_px, match.dy_px - reference.dy_px
        if elapsed_s > 0:
            speed_px_s = moved_px / elapsed_s
            before = speed_px_s if self._speed_px_s is None else self._speed_px_s
            self._speed_px_s = before + _SPEED_MEMORY * (speed_px_s - before)
        near = abs(match.dx_px) < _KEY_SHARE * self._width_px and reference is self._key
        self._key = _Reference(reference.planes, match.dx_px, match.dy_px) if near else _Reference(planes)
        return Displacement(moved_px, lifted_px, match.confidence)

    def _predict(self, key: _Reference, planes: Planes, guess: _Match) -> Displacement:
        """Go on at the last speed; the frame that was found last is kept as long as it may come back into view."""
        dx_px = key.dx_px + guess.dx_px
        lost = abs(dx_px) > _LOST_SHARE * self._width_px
        self._key = _Reference(planes) if lost else _Reference(key.planes, dx_px, key.dy_px)
        return Displacement(guess.dx_px, 0.0, guess.confidence, guess.reason)
