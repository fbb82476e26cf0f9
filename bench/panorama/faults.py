"""The faults of a camera on a trolley, each at two strengths, as the row maker makes them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from edgekit.contracts import Image
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.rowmaker import Blank, DepthLayer, Layer, Look, Motion, Posts, Spell, leaves

SPEED_SHARE = 0.0095
"""Widths a frame: 12 px of 1280, a trolley at 0.3 m/s whose camera sees 1 m at 30 frames a second."""

NO_REFERENCE = ("near leaves", "far holes")
"""Layers at another depth: no strip shows what the camera saw, since what is hidden changes on the way."""


@dataclass(frozen=True)
class Case:
    """One made row."""

    name: str
    motion: Motion
    look: Look = field(default_factory=Look)
    layers: Callable[[Image], Sequence[Layer]] = lambda strip: ()
    mosaic: MosaicSettings = field(default_factory=MosaicSettings)


def near_leaves(share: float) -> Callable[[Image], Sequence[Layer]]:
    """Leaves before the row that move half as fast again."""
    return lambda strip: (DepthLayer(strip[:, ::-1], leaves(strip, share=share, seed=1), speed=1.5),)


def far_holes(share: float) -> Callable[[Image], Sequence[Layer]]:
    """Holes in the row through which something far away is seen."""
    return lambda strip: (DepthLayer(np.roll(strip, 700, axis=1), leaves(strip, share=share, seed=2), speed=0.3),)


def spells(frames: int, length: int, speed_px: float, count: int) -> tuple[Spell, ...]:
    """`count` spells at equal distances."""
    starts = np.linspace(0.2, 0.8, count) * frames
    return tuple(Spell(int(start), length, speed_px) for start in starts)


def cases(frames: int, speed_px: float) -> list[Case]:
    """The clean case, then each fault at two strengths."""
    moved = partial(Motion, frames=frames, speed_px=speed_px)
    return [Case("clean", moved()), *(case for strong in (False, True) for case in _faults(moved, strong))]


def _faults(moved: Callable[..., Motion], strong: bool) -> list[Case]:
    """Every fault at one strength."""

    def pick(weak: Any, much: Any) -> Any:
        return much if strong else weak

    clean = moved()
    frames, speed_px = clean.frames, clean.speed_px
    motions = {
        "jerk": moved(jerk=pick(0.2, 0.5)),
        "reversals": moved(spells=spells(frames, pick(10, 30), -speed_px, pick(1, 3))),
        "jitter": moved(jitter_px=pick(1.0, 3.0)),
        "drift": moved(drift_px=pick(5.0, 20.0)),
        "roll": moved(roll_deg=pick(0.5, 2.0)),
        "sway": moved(sway_deg=pick(0.2, 0.6)),
        "lost": moved(lost=pick(0.02, 0.1)),
        "repeated": moved(repeated=pick(0.02, 0.1)),
    }
    steps = ((frames // 3, pick(0.75, 0.5)), (2 * frames // 3, pick(1.15, 1.3)))
    looks = {
        "exposure": Look(exposure=steps),
        "vignetting": Look(vignetting=pick(0.2, 0.5)),
        "noise": Look(noise=pick(3.0, 8.0)),
        "dirt": Look(dirt=pick(5, 25)),
    }
    sheet_px, width_px = int(frames * speed_px / 2), speed_px / SPEED_SHARE
    sheet_end_px = sheet_px + int(width_px * pick(0.6, 2.0))
    # while nothing but the sheet is in view, the trolley slows down unseen
    blind = Spell(frames // 2 + 2, int(0.8 / SPEED_SHARE), 0.6 * speed_px)
    layers: dict[str, Callable[[Image], Sequence[Layer]]] = {
        "near leaves": near_leaves(pick(0.05, 0.15)),
        "far holes": far_holes(pick(0.15, 0.35)),
        "posts": lambda strip: (Posts(period_px=40, width_px=pick(8, 16)),),
    }
    stop = moved(spells=spells(frames, 40, 0.0, pick(1, 3)))
    creep = moved(spells=spells(frames, 60, pick(0.5, 0.1), 2))
    sheet = moved(spells=pick((), (blind,)))
    mark = pick("weak", "strong")
    return [
        Case(f"featureless {mark}", sheet, layers=lambda strip: (Blank(sheet_px, sheet_end_px),)),
        *(Case(f"{name} {mark}", motion) for name, motion in motions.items()),
        Case(f"stops {mark}", stop, Look(noise=2.0)),
        Case(f"creeping {mark}", creep, Look(noise=2.0)),
        *(Case(f"{name} {mark}", clean, look) for name, look in looks.items()),
        *(Case(f"{name} {mark}", clean, layers=layer) for name, layer in layers.items()),
        Case(f"exposure {mark}, not evened", clean, looks["exposure"], mosaic=MosaicSettings(even_exposure=False)),
    ]
