"""How a camera is mounted: quarter turns and mirrors, which move pixels and change none."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from edgekit.contracts import Image
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
