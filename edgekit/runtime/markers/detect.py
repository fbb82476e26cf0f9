"""Finds and reads markers in one picture (OpenCV)."""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import Image
from edgekit.runtime.markers.payload import RowMark, parse_payload
from edgekit.runtime.markers.settings import MarkerSettings

_DICTIONARIES = {
    "4x4_50": cv2.aruco.DICT_4X4_50,
    "5x5_100": cv2.aruco.DICT_5X5_100,
    "6x6_250": cv2.aruco.DICT_6X6_250,
    "apriltag_36h11": cv2.aruco.DICT_APRILTAG_36h11,
}
_QR_WIDTH_PX, _ARUCO_WIDTH_PX = 960, 640
"""Pictures are looked at at these widths at most: a QR code of a tenth of it and an ArUco marker of a twentieth are
still read."""


class Sighting(NamedTuple):
    """A marker in a picture."""

    mark: RowMark
    corners_xy: npt.NDArray[np.float64]
    """4 x 2, pixels of the picture."""

    @property
    def side_px(self) -> float:
        """Mean length of its horizontal sides: a marker that is turned away from the camera is foreshortened."""
        sides = np.roll(self.corners_xy, -1, axis=0) - self.corners_xy
        along = np.abs(sides[:, 0]) >= np.abs(sides[:, 1])
        return float(np.hypot(*sides[along].T).mean()) if along.any() else 0.0


class MarkerDetector:
    """Reads row markers.

    Args:
        settings: kinds and dictionary.
    """

    def __init__(self, settings: MarkerSettings) -> None:
        self._qr: Any = cv2.QRCodeDetectorAruco() if "qr" in settings.kinds else None
        self._aruco: Any = None
        if "aruco" in settings.kinds:
            dictionary = cv2.aruco.getPredefinedDictionary(_DICTIONARIES[settings.dictionary])
            parameters = cv2.aruco.DetectorParameters()
            parameters.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
            self._aruco = cv2.aruco.ArucoDetector(dictionary, parameters)

    def find(self, image: Image) -> list[Sighting]:
        """The row markers in a picture (H x W x 3), from left to right."""
        grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
        found = [*self._find_aruco(*_reduced(grey, _ARUCO_WIDTH_PX)), *self._find_qr(*_reduced(grey, _QR_WIDTH_PX))]
        return sorted(found, key=lambda sighting: float(sighting.corners_xy[:, 0].mean()))

    def _find_aruco(self, grey: npt.NDArray[np.uint8], scale: float) -> list[Sighting]:
        if self._aruco is None:
            return []
        corners, ids, _ = self._aruco.detectMarkers(grey)
        if ids is None:
            return []
        pairs = zip(ids.ravel(), corners, strict=True)
        return [Sighting(RowMark(str(int(number))), _corners(four, scale)) for number, four in pairs]

    def _find_qr(self, grey: npt.NDArray[np.uint8], scale: float) -> list[Sighting]:
        if self._qr is None:
            return []
        try:
            found, texts, corners, _ = self._qr.detectAndDecodeMulti(grey)
        except (cv2.error, UnicodeDecodeError):
            # Finder patterns that are none lead OpenCV's decoder astray, and before OpenCV 5 so do bytes that are no
            # text; the next frame is another one.
            return []
        if not found:
            return []
        marks = [(parse_payload(text), four) for text, four in zip(texts, corners, strict=True)]
        return [Sighting(mark, _corners(four, scale)) for mark, four in marks if mark is not None]


def _reduced(grey: npt.NDArray[np.uint8], width_px: int) -> tuple[npt.NDArray[np.uint8], float]:
    """The picture at this width at most, and how many times smaller it became."""
    scale = min(1.0, width_px / grey.shape[1])
    if scale == 1.0:
        return grey, scale
    return np.asarray(cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8), scale


def _corners(four: Any, scale: float) -> npt.NDArray[np.float64]:
    """Corners in the picture; pixel centres lie at whole numbers in both."""
    return (np.asarray(four, np.float64).reshape(4, 2) + 0.5) / scale - 0.5
