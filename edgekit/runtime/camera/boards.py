"""The boards that a lens is calibrated with, and their corners in a picture (OpenCV)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from edgekit.contracts import Image
from edgekit.errors import SettingsError

BoardKind = Literal["charuco", "chessboard"]

_DICTIONARY = cv2.aruco.DICT_4X4_250
_MARKER_SHARE = 0.75
"""Side of a marker in a square of the ChArUco board."""
_LEAST_CORNERS = 8
_REFINE_PX = 5


class Corners(NamedTuple):
    """Corners of a board in one picture."""

    board_xyz: npt.NDArray[np.float32]
    """N x 3, in squares, z = 0."""
    picture_xy: npt.NDArray[np.float32]
    """N x 2, pixels."""


@dataclass(frozen=True)
class Board:
    """A board by the number of its squares.

    Raises:
        SettingsError: too few squares, or a chessboard that cannot be told from itself turned around.
    """

    kind: BoardKind
    squares: tuple[int, int] = (8, 6)
    """Columns and rows of squares, black and white ones counted."""

    def __post_init__(self) -> None:
        columns, rows = self.squares
        if min(columns, rows) < 4 or max(columns, rows) > 40:
            raise SettingsError(f"a board of {columns} x {rows} squares", mend="use 4 to 40 each way")
        if self.kind == "chessboard" and columns % 2 == rows % 2:
            raise SettingsError(
                f"a chessboard of {columns} x {rows} squares looks the same turned around",
                mend="use an odd and an even number of squares, for instance 9 x 6, or a ChArUco board",
            )

    @property
    def words(self) -> str:
        """What the board is."""
        return f"{self.kind} {self.squares[0]} x {self.squares[1]}"

    def picture(self, square_px: int) -> npt.NDArray[np.uint8]:
        """The board to be printed, uint8, H x W, with a white border of one square."""
        columns, rows = self.squares
        size_wh = (columns * square_px, rows * square_px)
        if self.kind == "charuco":
            drawn = _charuco(self.squares).generateImage(size_wh)
        else:
            odd = np.indices((rows, columns)).sum(axis=0) % 2
            drawn = np.kron(255 * odd, np.ones((square_px, square_px))).astype(np.uint8)
        return np.pad(np.asarray(drawn, np.uint8), square_px, constant_values=255)


class CornerFinder:
    """Finds the corners of one board in pictures.

    Args:
        board: which.
    """

    def __init__(self, board: Board) -> None:
        self._inner = (board.squares[0] - 1, board.squares[1] - 1)
        self._charuco: Any = None
        if board.kind == "charuco":
            self._charuco = cv2.aruco.CharucoDetector(_charuco(board.squares))

    def find(self, image: Image) -> Corners | None:
        """The corners in a picture (H x W x 3); None where too few are seen."""
        grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        return self._chessboard_corners(grey) if self._charuco is None else self._charuco_corners(grey)

    def _charuco_corners(self, grey: Any) -> Corners | None:
        corners, ids, _, _ = self._charuco.detectBoard(grey)
        if ids is None or len(ids) < _LEAST_CORNERS:
            return None
        picture_xy = _refined(grey, np.asarray(corners, np.float32).reshape(-1, 1, 2))
        columns = self._inner[0]
        across, down = ids.ravel() % columns, ids.ravel() // columns
        if len(set(across)) < 3 or len(set(down)) < 3:
            return None
        return Corners(_flat(across, down), picture_xy)

    def _chessboard_corners(self, grey: Any) -> Corners | None:
        found, corners = cv2.findChessboardCornersSB(grey, self._inner, flags=cv2.CALIB_CB_ACCURACY)
        if not found:
            return None
        down, across = np.divmod(np.arange(self._inner[0] * self._inner[1]), self._inner[0])
        return Corners(_flat(across, down), np.asarray(corners, np.float32).reshape(-1, 2))


def _charuco(squares: tuple[int, int]) -> Any:
    return cv2.aruco.CharucoBoard(squares, 1.0, _MARKER_SHARE, cv2.aruco.getPredefinedDictionary(_DICTIONARY))


def _flat(across: Any, down: Any) -> npt.NDArray[np.float32]:
    return np.stack([across, down, np.zeros_like(across)], axis=1).astype(np.float32)


def _refined(grey: Any, corners: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    criteria = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 40, 1e-3)
    refined = cv2.cornerSubPix(grey, corners, (_REFINE_PX, _REFINE_PX), (-1, -1), criteria)
    return np.asarray(refined, np.float32).reshape(-1, 2)
