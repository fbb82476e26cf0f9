"""The calibration of a lens, as `edgekit camera calibrate` writes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgekit.errors import SettingsError
from edgekit.settings_file import read_settings

_COEFFICIENTS = (4, 5, 8)
_ASPECT = 0.005


@dataclass(frozen=True)
class Lens:
    """A pinhole camera with OpenCV's polynomial distortion, of upright pictures of one size.

    Raises:
        SettingsError: values that belong to no camera.
    """

    size_wh: tuple[int, int]
    """Of the pictures it was calibrated from: upright, as edgekit delivers them."""
    focal_px: tuple[float, float]
    """Focal lengths fx, fy."""
    centre_px: tuple[float, float]
    """Principal point cx, cy; pixel centres lie at whole numbers."""
    distortion: tuple[float, ...]
    """k1, k2, p1, p2, k3 (and k4, k5, k6), as OpenCV's calibrateCamera gives them."""
    rms_px: float
    """Root mean square of the distance between corners that were found and those that the model gives."""
    views: int
    """Pictures of the board that were used."""
    board: str
    """What the board was, in words."""

    def __post_init__(self) -> None:
        if len(self.size_wh) != 2 or min(self.size_wh) < 16:
            raise SettingsError(f"lens: size_wh is {list(self.size_wh)}")
        if len(self.focal_px) != 2 or not all(0 < value < np.inf for value in self.focal_px):
            raise SettingsError(f"lens: focal_px is {list(self.focal_px)}", mend="calibrate the camera again")
        if len(self.centre_px) != 2 or not np.isfinite(self.centre_px).all():
            raise SettingsError(f"lens: centre_px is {list(self.centre_px)}", mend="calibrate the camera again")
        if len(self.distortion) not in _COEFFICIENTS or not np.isfinite(self.distortion).all():
            raise SettingsError(f"lens: distortion has {len(self.distortion)} numbers", mend="it has 4, 5 or 8")

    def matrix(self, size_wh: tuple[int, int]) -> npt.NDArray[np.float64]:
        """The 3 x 3 camera matrix for pictures of another size and the same shape.

        Raises:
            SettingsError: pictures of another shape: turned, or cut.
        """
        x_scale, y_scale = size_wh[0] / self.size_wh[0], size_wh[1] / self.size_wh[1]
        if abs(x_scale / y_scale - 1) > _ASPECT:
            there, here = "{} x {}".format(*self.size_wh), "{} x {}".format(*size_wh)
            raise SettingsError(
                f"the lens was calibrated with pictures of {there} px, the frames have {here} px",
                mend="calibrate with pictures as `edgekit camera check` saves them",
            )
        (fx, fy), (cx, cy) = self.focal_px, self.centre_px
        centre = (cx + 0.5) * x_scale - 0.5, (cy + 0.5) * y_scale - 0.5
        return np.array([[fx * x_scale, 0, centre[0]], [0, fy * y_scale, centre[1]], [0, 0, 1]], np.float64)


def read_lens(path: Path) -> Lens:
    """The lens in a TOML file.

    Raises:
        SettingsError: the file cannot be read or used.
    """
    return read_settings(path, Lens)
