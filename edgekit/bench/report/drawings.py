"""The worst pictures, with misses, false alarms and poor outlines drawn, as JPEG data for a web page."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgekit.bench.accuracy.objects import Predictions, Truth
from edgekit.bench.predict import read_picture
from edgekit.contracts import Image, MaskCrop

WIDTH_PX = 720
"""Pictures are scaled to this width, so that the page stays a few megabytes."""
JPEG_QUALITY = 82
COLOURS_RGB = {
    "found": (80, 200, 120),
    "missed": (255, 60, 60),
    "false_alarms": (255, 170, 0),
    "poor_outlines": (90, 160, 255),
}


def draw_worst(worst: Mapping[str, Any], images: Path, truth: Truth, predictions: Predictions) -> str:
    """One picture as a data address.

    Args:
        worst: an entry of the section's `worst`.
        images: folder of the pictures.
        truth: the labels; missed ones are drawn.
        predictions: the predictions; all others are.

    Raises:
        LabelsError: the picture cannot be read.
    """
    import cv2

    picture = read_picture(images / worst["picture"])
    scale = min(WIDTH_PX / picture.shape[1], 1.0)
    size = (round(picture.shape[1] * scale), round(picture.shape[0] * scale))
    canvas: Image = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    for kind, colour in COLOURS_RGB.items():
        source: Sequence[MaskCrop] = truth.masks if kind == "missed" else predictions.masks or ()
        for row in worst[kind]:
            if row < len(source):
                _outline(canvas, source[row], scale, colour)
    _, data = cv2.imencode(".jpg", cv2.cvtColor(canvas, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return "data:image/jpeg;base64," + base64.b64encode(data.tobytes()).decode("ascii")


def _outline(canvas: Image, mask: MaskCrop, scale: float, colour: tuple[int, int, int]) -> None:
    import cv2

    if not mask.plane.size:
        return
    contours, _ = cv2.findContours(np.ascontiguousarray(mask.plane, np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    for contour in contours:
        moved = ((contour + np.array([mask.x_px, mask.y_px])) * scale).astype(np.int32)
        cv2.polylines(canvas, [moved], True, (0, 0, 0), 4, cv2.LINE_AA)
        cv2.polylines(canvas, [moved], True, colour, 2, cv2.LINE_AA)
