"""From pictures of a board to the calibration of a lens (OpenCV's calibrateCamera)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import Image, Progress
from edgekit.errors import SourceError
from edgekit.runtime.camera.boards import Board, CornerFinder, Corners
from edgekit.runtime.camera.coverage import Coverage, coverage_of, coverage_picture
from edgekit.runtime.camera.lens import Lens
from edgekit.runtime.sources.pictures import BrokenPictureError, read_picture

_LEAST_VIEWS = 8
_GOOD_VIEWS = 12
"""Below it the third radial coefficient is held at 0: too few views make it run wild at the corners."""
_OUTLIER = 3.0
"""A view whose error is so many times the median of all is left out: a board that moved, or bent."""
_WORST_RMS_SHARE = 1.5 / 1280
"""Of the width: above it the corners do not lie where any lens of this model would put them."""
_LEAST_COVERED = 0.6
"""Share of the cells of a 4 x 4 grid that corners must have been seen in: the model is only fitted where they were."""
_LEAST_TILT = 0.03
"""Least spread of the boards' slants: from boards that all face the camera, focal length and distance are one."""
_MOST_DOUBT = 0.02
"""Of the focal length; 0.001 with 15 views at good slants. Many pictures of a board that faces the camera scatter its
slants by chance, but do not tell the focal length."""
_LONGEST_WIDTHS = 12.0
"""Focal length in widths of the picture: a field of 5 degrees, narrower than any that sees a row."""

_NOT_SEEN = "the board is not seen"


class View(NamedTuple):
    """A picture in which the board was found."""

    name: str
    corners: Corners


@dataclass(frozen=True)
class Calibration:
    """A lens, and how well it is known."""

    lens: Lens
    errors_px: tuple[tuple[str, float], ...]
    """Root mean square error of each view that was used."""
    left_out: tuple[tuple[str, str], ...]
    """Pictures that were not used, and why."""
    covered: Coverage
    """Where in the picture corners were seen."""
    coverage: Image
    """The same for a person (`coverage_picture`)."""


def calibrate(pictures: Sequence[Path], board: Board, *, progress: Progress) -> Calibration:
    """The lens that explains the corners of the board in all pictures.

    Raises:
        SourceError: too few pictures show the board, they show it in too little of the picture or always from the
            front, or no lens explains them.
    """
    views, left_out, size_wh = _views(pictures, board, progress)
    if len(views) < _LEAST_VIEWS:
        raise SourceError(
            f"{len(views)} of {len(pictures)} pictures show a {board.words} board, {_LEAST_VIEWS} are needed",
            mend=_why_none(left_out) or "take it at other places and slants, and check --squares",
        )
    cells = coverage_of(_corners(views), size_wh).cells
    if cells < _LEAST_COVERED:
        raise SourceError(
            f"the board was seen in {100 * cells:.0f} % of the cells of a 4 x 4 grid over the picture,"
            f" {100 * _LEAST_COVERED:.0f} % are needed",
            mend="take pictures with the board in every corner and at every edge",
        )
    fit = _fit(views, size_wh)
    good = fit.errors_px <= _OUTLIER * np.median(fit.errors_px)
    if not good.all() and np.count_nonzero(good) >= _LEAST_VIEWS:
        left_out += [
            (view.name, "its corners fit no lens: did the board move or bend?") for view in _where(views, ~good)
        ]
        views = _where(views, good)
        fit = _fit(views, size_wh)
    _check(fit, size_wh)
    lens = _lens(fit, size_wh, len(views), board)
    names = tuple((view.name, float(error)) for view, error in zip(views, fit.errors_px, strict=True))
    picture = coverage_picture([view.corners.picture_xy for view in views], fit.residuals_xy, size_wh)
    return Calibration(lens, names, tuple(left_out), coverage_of(_corners(views), size_wh), picture)


class _Fit(NamedTuple):
    rms_px: float
    matrix: npt.NDArray[np.float64]
    distortion: npt.NDArray[np.float64]
    residuals_xy: list[npt.NDArray[np.float64]]
    """One N x 2 array a view: found minus explained."""
    errors_px: npt.NDArray[np.float64]
    tilts: npt.NDArray[np.float64]
    """x and y of each board's normal."""
    focal_doubt: float
    """Standard deviation of the focal length, as a share of it (OpenCV's calibrateCameraExtended)."""


def _views(
    pictures: Sequence[Path], board: Board, progress: Progress
) -> tuple[list[View], list[tuple[str, str]], tuple[int, int]]:
    finder = CornerFinder(board)
    found: list[tuple[View, tuple[int, int]]] = []
    left_out: list[tuple[str, str]] = []
    for number, path in enumerate(pictures, 1):
        progress("pictures", number, len(pictures))
        try:
            image = read_picture(path)
        except BrokenPictureError as error:
            left_out.append((path.name, str(error)))
            continue
        corners = finder.find(image)
        if corners is None:
            left_out.append((path.name, _NOT_SEEN))
        else:
            found.append((View(path.name, corners), (image.shape[1], image.shape[0])))
    size_wh = Counter(size for _, size in found).most_common(1)[0][0] if found else (0, 0)
    most = "{} x {}".format(*size_wh)
    left_out += [(view.name, f"{size[0]} x {size[1]} px, most have {most}") for view, size in found if size != size_wh]
    return [view for view, size in found if size == size_wh], left_out, size_wh


def _fit(views: Sequence[View], size_wh: tuple[int, int]) -> _Fit:
    flags = 0 if len(views) >= _GOOD_VIEWS else cv2.CALIB_FIX_K3
    board_xyz = [view.corners.board_xyz for view in views]
    picture_xy = [view.corners.picture_xy.reshape(-1, 1, 2) for view in views]
    rms_px, matrix, distortion, turns, moves, deviations, *_ = cv2.calibrateCameraExtended(
        board_xyz, picture_xy, size_wh, None, None, flags=flags
    )
    residuals = []
    for view, turn, move in zip(views, turns, moves, strict=True):
        explained = cv2.projectPoints(view.corners.board_xyz, turn, move, matrix, distortion)[0].reshape(-1, 2)
        residuals.append(np.asarray(view.corners.picture_xy - explained, np.float64))
    errors = np.array([np.sqrt(np.mean(np.sum(residual**2, axis=1))) for residual in residuals])
    tilts = np.array([cv2.Rodrigues(turn)[0][:2, 2] for turn in turns], np.float64)
    doubt = float(np.max(np.asarray(deviations).ravel()[:2] / np.diag(matrix)[:2]))
    return _Fit(float(rms_px), matrix, np.asarray(distortion, np.float64).ravel(), residuals, errors, tilts, doubt)


def _check(fit: _Fit, size_wh: tuple[int, int]) -> None:
    worst_px = _WORST_RMS_SHARE * size_wh[0]
    if not np.isfinite(fit.rms_px) or fit.rms_px > worst_px:
        raise SourceError(
            f"the corners lie {fit.rms_px:.2f} px from where the lens would put them, {worst_px:.2f} px are tolerated",
            mend="hold the board flat and still, in good light, and lock the focus; a fisheye is not this model",
        )
    flat = float(np.linalg.norm(fit.tilts.std(axis=0))) < _LEAST_TILT
    if flat or not fit.focal_doubt < _MOST_DOUBT or fit.matrix[0, 0] > _LONGEST_WIDTHS * size_wh[0]:
        raise SourceError(
            "the board faces the camera in the same way in all pictures: they do not tell the focal length"
            f" ({fit.matrix[0, 0]:.0f} px fits best)",
            mend="tilt it by about 30 degrees to each side in some",
        )


def _lens(fit: _Fit, size_wh: tuple[int, int], views: int, board: Board) -> Lens:
    (fx, _, cx), (_, fy, cy), _ = fit.matrix.tolist()
    distortion = tuple(float(value) for value in fit.distortion)
    return Lens(size_wh, (fx, fy), (cx, cy), distortion, round(fit.rms_px, 4), views, board.words)


def _corners(views: Sequence[View]) -> npt.NDArray[np.float32]:
    return np.concatenate([view.corners.picture_xy for view in views])


def _where(views: Sequence[View], wanted: Any) -> list[View]:
    return [view for view, yes in zip(views, wanted, strict=True) if yes]


def _why_none(left_out: Sequence[tuple[str, str]]) -> str | None:
    """The reason of the first picture that was left out for another one than that no board is seen."""
    other = [f"{name}: {why}" for name, why in left_out if why != _NOT_SEEN]
    return other[0] if other else None
