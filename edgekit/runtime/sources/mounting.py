"""How a camera is mounted: quarter turns and mirrors, which move pixels and change none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import cv2
import numpy as np

from edgekit.contracts import Frame, FrameSource, Image
from edgekit.runtime.sources.description import CameraDescription

_CLOCKWISE = {90: cv2.ROTATE_90_CLOCKWISE, 180: cv2.ROTATE_180, 270: cv2.ROTATE_90_COUNTERCLOCKWISE}


def turning(camera: CameraDescription) -> Callable[[Image], Image] | None:
    """What sets the camera's picture upright; None where it stands upright already."""
    if not camera.turn_deg and not camera.mirror:
        return None

    def turn(image: Image) -> Image:
        upright = cv2.rotate(image, _CLOCKWISE[camera.turn_deg]) if camera.turn_deg else image
        return np.asarray(cv2.flip(upright, 1) if camera.mirror else upright, np.uint8)

    return turn


class Upright:
    """A recording of a camera that was mounted otherwise, its frames set upright.

    Args:
        source: the recording.
        turn: see `turning`.
    """

    def __init__(self, source: FrameSource, turn: Callable[[Image], Image]) -> None:
        self._source = source
        self._turn = turn

    @property
    def name(self) -> str:
        """Of the recording."""
        return self._source.name

    @property
    def length(self) -> int | None:
        """Of the recording."""
        return self._source.length

    @property
    def faults(self) -> tuple[str, ...]:
        """Of the recording."""
        return self._source.faults

    def __iter__(self) -> Iterator[Frame]:
        for frame in self._source:
            yield replace(frame, image=self._turn(frame.image))

    def close(self) -> None:
        """Let go of the recording."""
        self._source.close()
