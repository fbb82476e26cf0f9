"""A made lens is found again from rendered pictures of a board; pictures that cannot tell it are refused."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from edgekit.cli.camera import app
from edgekit.errors import SettingsError, SourceError
from edgekit.runtime.camera.boards import Board
from edgekit.runtime.camera.calibrate import Calibration, calibrate
from edgekit.runtime.camera.coverage import coverage_of
from edgekit.runtime.camera.lens import read_lens
from edgekit.runtime.sources.folder import picture_paths

SIZE_WH = (800, 450)
MATRIX = np.array([[640.0, 0, 409.0], [0, 640.0, 219.0], [0, 0, 1]])
DISTORTION = np.array([-0.25, 0.08, 0.001, -0.0005, 0.0])
SQUARE_PX = 60
CHARUCO = Board("charuco", (8, 6))
SPREAD = [
    (x, y, depth, turn)
    for depth, turn in ((11.0, (0.45, 0.1, 0.0)), (13.0, (-0.2, 0.5, 0.2)), (14.0, (0.1, -0.5, -0.1)))
    for x, y in ((-3.2, -1.3), (3.0, -1.4), (0.0, 0.0), (-3.1, 1.3), (3.2, 1.4))
]


@cache
def rays() -> np.ndarray:
    """Undistorted directions of all pixels."""
    x, y = np.meshgrid(np.arange(SIZE_WH[0], dtype=np.float64), np.arange(SIZE_WH[1], dtype=np.float64))
    points = np.stack([x.ravel(), y.ravel()], axis=1)[:, None]
    return cv2.undistortPoints(points, MATRIX, DISTORTION).reshape(*x.shape, 2)


def photograph(board: Board, pose: tuple[float, float, float, tuple[float, float, float]]) -> np.ndarray:
    """The board, its middle at (x, y, depth) squares from the camera, turned about its middle."""
    x, y, depth, turn = pose
    rotation, _ = cv2.Rodrigues(np.array(turn))
    middle = np.array([board.squares[0] / 2, board.squares[1] / 2, 0.0])
    plane = np.column_stack([rotation[:, :2], np.array([x, y, depth]) - rotation @ middle])
    directions = rays()
    there = np.concatenate([directions, np.ones((*directions.shape[:2], 1))], axis=2) @ np.linalg.inv(plane).T
    place = (there[:, :, :2] / there[:, :, 2:] + 1) * SQUARE_PX - 0.5  # one square of white border
    picture = cv2.GaussianBlur(board.picture(SQUARE_PX), (0, 0), 1.0)
    seen = cv2.remap(picture, place.astype(np.float32), None, cv2.INTER_LINEAR, borderValue=120)
    noise = np.random.default_rng(int(100 * abs(x + y))).normal(0, 2, seen.shape)
    return np.clip(np.repeat(cv2.GaussianBlur(seen, (0, 0), 0.7)[:, :, None] + noise[:, :, None], 3, axis=2), 0, 255)


def album(folder: Path, board: Board, poses: list[tuple[float, float, float, tuple[float, float, float]]]) -> Path:
    folder.mkdir()
    for number, pose in enumerate(poses):
        cv2.imwrite(str(folder / f"view_{number}.png"), photograph(board, pose).astype(np.uint8))
    return folder


def found(folder: Path, board: Board) -> Calibration:
    return calibrate(picture_paths(folder), board, progress=lambda *_: None)


@pytest.fixture(scope="module")
def charuco(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return album(tmp_path_factory.mktemp("charuco") / "album", CHARUCO, SPREAD)


def largest_error_px(matrix: np.ndarray, distortion: np.ndarray) -> float:
    """Largest distance, over most of the picture, between where the true and the found lens see a direction, but for
    what a shift and another scale explain: what is left bends the row."""
    inner = rays()[20:-20:20, 20:-20:20].reshape(-1, 2)
    directions = np.column_stack([inner, np.ones(len(inner))])
    true = cv2.projectPoints(directions, np.zeros(3), np.zeros(3), MATRIX, DISTORTION)[0].reshape(-1, 2)
    told = cv2.projectPoints(directions, np.zeros(3), np.zeros(3), matrix, distortion)[0].reshape(-1, 2)
    true, told = true - true.mean(axis=0), told - told.mean(axis=0)
    scale = (true * told).sum() / (true * true).sum()
    assert scale == pytest.approx(1, abs=0.01)
    return float(np.hypot(*(told / scale - true).T).max())


def test_the_lens_is_found_again(charuco: Path, tmp_path: Path) -> None:
    (charuco / "cut.jpg").write_bytes(b"\xff\xd8 no picture")
    cv2.imwrite(str(charuco / "blank.png"), np.zeros((100, 100, 3), np.uint8))
    cv2.imwrite(str(charuco / "other.png"), np.repeat(CHARUCO.picture(40)[:, :, None], 3, axis=2))
    out = tmp_path / "lens.toml"
    arguments = ["calibrate", str(charuco), "--squares", "8", "6", "--out", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "other.png was left out: 400 x 320" in result.output
    assert "blank.png was left out: the board is not seen" in result.output
    lens = read_lens(out)
    assert lens.size_wh == SIZE_WH
    assert lens.rms_px < 0.3
    assert lens.views >= len(SPREAD) - 2
    assert lens.focal_px[0] == pytest.approx(640, rel=0.01)
    assert largest_error_px(lens.matrix(SIZE_WH), np.array(lens.distortion)) < 0.8
    assert cv2.imread(str(tmp_path / "lens.png")).shape == (480, 800, 3)  # with its caption


@pytest.mark.slow
def test_a_chessboard_serves_as_well(tmp_path: Path) -> None:
    board = Board("chessboard", (7, 6))
    calibration = found(album(tmp_path / "chess", board, SPREAD), board)
    assert calibration.lens.rms_px < 0.3
    assert calibration.lens.focal_px[0] == pytest.approx(640, rel=0.01)


def test_pictures_that_cannot_tell_the_lens_are_refused(charuco: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="pictures show a charuco 9 x 7"):
        found(charuco, Board("charuco", (9, 7)))
    centre = [(0.1 * number, 0.0, 20.0, (0.3 * (-1) ** number, 0.2, 0.0)) for number in range(8)]
    with pytest.raises(SourceError, match="every corner"):
        found(album(tmp_path / "centre", CHARUCO, centre), CHARUCO)
    frontal = [
        (x, y, 13.0, (0.0, 0.0, 0.0)) for x, y in ((-3, -1), (3, -1), (0, 0), (-3, 1), (3, 1), (0, -1), (0, 1), (1, 0))
    ]
    with pytest.raises(SourceError, match="faces the camera"):
        found(album(tmp_path / "frontal", CHARUCO, frontal), CHARUCO)
    rng = np.random.default_rng(0)
    held = [
        (x + rng.normal(0, 0.3), y, 11.0, (*rng.normal(0, 0.012, 2), 0.0)) for x, y, *_ in frontal for _ in range(3)
    ]
    with pytest.raises(SourceError, match="do not tell the focal length"):
        found(album(tmp_path / "held", CHARUCO, held), CHARUCO)


def test_what_corners_cover_is_told_as_it_is() -> None:
    """A grid of corners whose outermost lie 100 px from the edges: in every cell, yet not over the whole picture."""
    x, y = np.meshgrid(np.linspace(100, 700, 9), np.linspace(100, 350, 9))
    covered = coverage_of(np.stack([x.ravel(), y.ravel()], axis=1), SIZE_WH)
    assert covered.cells == 1.0
    assert covered.spanned == pytest.approx(600 * 250 / (800 * 450))


def fisheye_rays(focal_px: float) -> np.ndarray:
    """Directions of the pixels of an equidistant fisheye: the angle grows with the distance from the middle."""
    x, y = np.meshgrid(np.arange(SIZE_WH[0]) - 399.5, np.arange(SIZE_WH[1]) - 224.5)
    off = np.hypot(x, y)
    return np.stack([x, y], axis=2) * (np.tan(np.minimum(off / focal_px, 1.5)) / off)[:, :, None]


def test_a_fisheye_is_told_and_not_bent_into_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    focal_px, depth = 240.0, 5.0
    monkeypatch.setattr(sys.modules[__name__], "rays", lambda: fisheye_rays(focal_px))
    far, high = depth * np.tan(260 / focal_px), depth * np.tan(130 / focal_px)
    turns = ((1.0, (0.45, 0.1, 0.0)), (1.15, (-0.2, 0.5, 0.2)), (1.3, (0.1, -0.5, -0.1)))
    places = ((-far, -high), (far, -high), (0.0, 0.0), (-far, high), (far, high))
    poses = [(x, y, depth * share, turn) for share, turn in turns for x, y in places]
    with pytest.raises(SourceError, match="a fisheye is not this model"):
        found(album(tmp_path / "fisheye", CHARUCO, poses), CHARUCO)


@pytest.mark.parametrize(("kind", "squares"), [("charuco", (3, 6)), ("chessboard", (8, 6)), ("charuco", (8, 60))])
def test_boards_that_serve_nobody(kind: str, squares: tuple[int, int]) -> None:
    with pytest.raises(SettingsError):
        Board(kind, squares)  # type: ignore[arg-type]


def test_printed_markers_are_read_back(tmp_path: Path) -> None:
    from edgekit.runtime.markers.detect import MarkerDetector
    from edgekit.runtime.markers.settings import MarkerSettings
    from edgekit.runtime.sources.pictures import read_picture

    out = tmp_path / "marker.png"
    told = CliRunner().invoke(app, ["marker", "row:12:left:end", "--out", str(out)])
    assert told.exit_code == 0
    assert "row 12, left, end: closes the row" in told.output
    (sighting,) = MarkerDetector(MarkerSettings()).find(read_picture(out))
    assert (sighting.mark.row, sighting.mark.side, sighting.mark.end) == ("12", "left", "end")
    refused = CliRunner().invoke(app, ["marker", "row:../12", "--out", str(out)])
    assert isinstance(refused.exception, SettingsError)


def test_a_picture_is_what_its_name_says(tmp_path: Path) -> None:
    for name, start in (("m.jpg", b"\xff\xd8\xff"), ("m.png", b"\x89PNG")):
        CliRunner().invoke(app, ["marker", "row:12", "--out", str(tmp_path / name)], catch_exceptions=False)
        assert (tmp_path / name).read_bytes().startswith(start)
    refused = CliRunner().invoke(app, ["marker", "row:12", "--out", str(tmp_path / "m.gif")])
    assert isinstance(refused.exception, SettingsError)
    assert ".png, .jpg" in (refused.exception.mend or "")
