"""A lens and a flat field in a site: bent pictures count as they do offline; what does not fit harms its side alone."""

from __future__ import annotations

from dataclasses import asdict, replace

import cv2
import numpy as np
import pytest
import tomli_w
from ride import PacedCamera, Ride, scene, site, stored, window_frames
from run_scene import MagentaSegmenter, job, settings, silent, write_png

from edgekit.contracts import Image
from edgekit.errors import SettingsError
from edgekit.runtime.camera.lens import Lens
from edgekit.runtime.live.site import LiveSegmentSettings, read_site, ready_cameras
from edgekit.runtime.pipeline import run_job
from edgekit.runtime.settings import SegmentSettings

SIZE_WH = (250, 200)
BARREL = Lens(SIZE_WH, (210.0, 210.0), (124.5, 99.5), (-0.2, 0.04, 0.0, 0.0, 0.0), 0.2, 20, "made")


def bent(straight: Image) -> Image:
    """What the lens makes of a straight picture."""
    camera, distortion = BARREL.matrix(SIZE_WH), np.array(BARREL.distortion)
    new = cv2.getOptimalNewCameraMatrix(camera, distortion, SIZE_WH, 0)[0]
    x, y = np.meshgrid(np.arange(SIZE_WH[0], dtype=np.float32), np.arange(SIZE_WH[1], dtype=np.float32))
    points = np.stack([x.ravel(), y.ravel()], axis=1)[:, None]
    there = cv2.undistortPoints(points, camera, distortion, None, None, new).reshape(*x.shape, 2)
    return cv2.remap(straight, there.astype(np.float32), None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)


@pytest.fixture
def site_file(tmp_path):
    """A site whose left camera has a lens, described beside it."""
    (tmp_path / "lens.toml").write_text(tomli_w.dumps(asdict(BARREL)))
    path = tmp_path / "trolley.toml"
    path.write_text('out = "runs"\n[[cameras]]\nname = "left"\nside = "left"\n[cameras.camera]\nkind = "stream"\n'
                    'address = "nowhere"\nlens = "lens.toml"\n')  # fmt: skip
    return path


def test_a_lens_of_a_camera_in_the_site_file_lies_beside_that_file(site_file, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    (camera,) = ready_cameras(read_site(site_file))
    assert camera.description.lens == tmp_path / "lens.toml"
    (tmp_path / "lens.toml").unlink()
    with pytest.raises(SettingsError, match=r"lens.*is not there"):
        read_site(site_file)


def test_bent_pictures_count_as_they_do_offline(site_file, tmp_path):
    pictures = [bent(picture) for picture in window_frames(scene(), step_px=20)]
    for number, picture in enumerate(pictures):
        write_png(tmp_path / f"frames/frame_{number:04d}.png", picture)
    (tmp_path / "camera.toml").write_text('kind = "stream"\naddress = "nowhere"\nlens = "lens.toml"\n')
    kept = SegmentSettings(300, "png")
    offline = [
        run_job(
            job(tmp_path / "frames", panorama=False, run_settings=settings(segments=kept, camera=camera)),
            tmp_path / out, [MagentaSegmenter()], progress=silent,
        )
        for out, camera in (("straight", str(tmp_path / "camera.toml")), ("bent", ""))
    ]  # fmt: skip
    camera = read_site(site_file).cameras[0]
    where = site(tmp_path / "runs", ("left",), segments=LiveSegmentSettings(width_px=300, kind="png"))
    cameras = {"left": PacedCamera()}
    with Ride(replace(where, cameras=(camera,)), cameras) as ride:
        ride.start("1")
        cameras["left"].show(pictures)
        ride.until(lambda: cameras["left"].done)
        ride.stop_row()
        ride.until(lambda: ride.status().rows_done == 1)
    row = stored(tmp_path / "runs").rows["1 left"]
    found = [(run["fruit"], run["tiles"], run["panorama"]["width_px"]) for run in offline]
    assert (row.fruit, row.tiles, row.width_px) == found[0]
    assert row.fruit > 40
    assert row.width_px != found[1][2]


def test_frames_that_the_flat_field_does_not_fit_fail_their_side_alone(tmp_path):
    white = np.full((100, 100, 3), 150, np.uint8)
    where = site(tmp_path / "runs")
    left, right = where.cameras
    described = replace(left.camera, flat_field=write_png(tmp_path / "white.png", white))
    cameras = {"left": PacedCamera(), "right": PacedCamera()}
    with Ride(replace(where, cameras=(replace(left, camera=described), right)), cameras) as ride:
        for side, camera in cameras.items():
            ride.start("1", side)
            camera.show(window_frames(scene()))
        ride.until(lambda: all(camera.done for camera in cameras.values()))
        ride.stop_row()
        ride.until(lambda: ride.status().fruit == 60)
        assert ride.status().health == "fault"
        assert "flat field has 100 x 100 px" in str(ride.status().problems)
    rows = stored(tmp_path / "runs").rows
    assert (rows["1 left"].state, rows["1 right"].fruit) == ("failed", 60)
