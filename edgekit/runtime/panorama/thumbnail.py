"""A small picture of a panorama, gathered while it is built: bounded memory, whatever the row's length."""

from __future__ import annotations

import cv2
import numpy as np

from edgekit.contracts import Columns, Image

_HEIGHT_PX = 180
"""Of a line, at first."""
_LINE_PX = 1100
_MOST_PX = 4 * _LINE_PX
"""Columns that are kept; beyond them everything is halved."""
_GAP_PX = 6
_QUALITY = 80


class Thumbnail:
    """Keeps every so many columns, each the mean of those about it."""

    def __init__(self) -> None:
        self._step = 0
        self._parts: list[Image] = []
        self._width_px = 0
        self._left = False

    def take(self, columns: Columns) -> None:
        """Finished columns, in order."""
        height, width = columns.image.shape[:2]
        if not width or not height:
            return
        self._left = columns.x_px < 0
        self._step = self._step or max(1, round(height / _HEIGHT_PX))
        first, last = -(-columns.x_px // self._step), -(-(columns.x_px + width) // self._step)
        if last == first:
            return
        size_wh = (last - first, max(height // self._step, 1))
        self._parts.append(np.asarray(cv2.resize(columns.image, size_wh, interpolation=cv2.INTER_AREA), np.uint8))
        self._width_px += last - first
        if self._width_px > _MOST_PX:
            self._halve()

    def jpeg(self) -> bytes | None:
        """The whole, in lines as text has them; None where there was no column."""
        if not self._parts:
            return None
        whole = self._joined()
        lines = -(-whole.shape[1] // _LINE_PX)
        height = whole.shape[0]
        picture = np.full((lines * (height + _GAP_PX) - _GAP_PX, min(whole.shape[1], _LINE_PX), 3), 255, np.uint8)
        for line in range(lines):
            part, top = whole[:, line * _LINE_PX : (line + 1) * _LINE_PX], line * (height + _GAP_PX)
            picture[top : top + height, : part.shape[1]] = part
        _, data = cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
        return data.tobytes()

    def _joined(self) -> Image:
        """From left to right."""
        return np.concatenate(self._parts[::-1] if self._left else self._parts, axis=1)

    def _halve(self) -> None:
        whole = self._joined()
        size_wh = (whole.shape[1] // 2, max(whole.shape[0] // 2, 1))
        self._parts = [np.asarray(cv2.resize(whole, size_wh, interpolation=cv2.INTER_AREA), np.uint8)]
        self._width_px = size_wh[0]
        self._step *= 2
