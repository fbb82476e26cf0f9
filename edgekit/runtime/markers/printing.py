"""Markers to be printed."""

from __future__ import annotations

import cv2
import numpy as np

from edgekit.contracts import Image

_QUIET_MODULES = 4
"""White border that a QR code needs (ISO/IEC 18004)."""


def qr_picture(text: str, side_px: int) -> Image:
    """A QR code with its white border, about side_px wide: whole pixels a module."""
    code = np.asarray(cv2.QRCodeEncoder.create().encode(text), np.uint8)
    used = np.flatnonzero((code < 128).any(axis=1))
    code = code[used[0] : used[-1] + 1, used[0] : used[-1] + 1]
    code = np.pad(code, _QUIET_MODULES, constant_values=255)
    module_px = max(1, side_px // code.shape[0])
    return np.repeat(np.kron(code, np.ones((module_px, module_px), np.uint8))[:, :, None], 3, axis=2)
