"""The encoder beside the pictures: files, a serial port through a pseudo-terminal, scale, bridges."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import numpy as np
import pytest
from made_rows import SIZE_WH, made_strip
from typer.testing import CliRunner

from edgekit.cli.panorama import app
from edgekit.contracts import Frame
from edgekit.errors import SettingsError, SourceError
from edgekit.runtime.encoder import EncoderSettings, open_odometer, read_track
from edgekit.runtime.encoder.displacement import EncodedDisplacement
from edgekit.runtime.encoder.scale import Scale
from edgekit.runtime.encoder.serial_line import SerialOdometer
from edgekit.runtime.encoder.track import Track
from edgekit.runtime.mosaic.mosaic import StripMosaic
from edgekit.runtime.mosaic.settings import MosaicSettings
from edgekit.runtime.motion.settings import DisplacementSettings
from edgekit.runtime.records import FrameRecord
from edgekit.runtime.row_source import plan_source
from edgekit.runtime.sources import open_source

RATE_HZ = 15.0
PX_PER_MM = 0.8


def csv_file(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def ride(x_px: np.ndarray, *, bare: tuple[int, int] | None = None) -> Iterator[Frame]:
    """Frames at positions along a strip, of which some columns show nothing."""
    strip = made_strip(int(x_px.max()) + SIZE_WH[0] + 2, SIZE_WH[1])
    if bare:
        strip[:, bare[0] : bare[1]] = 128
    for number, x in enumerate(x_px):
        view = cv2.getRectSubPix(strip, SIZE_WH, (float(x) + (SIZE_WH[0] - 1) / 2, (SIZE_WH[1] - 1) / 2))
        yield Frame(view, number, number / RATE_HZ)


def odometer(x_px: np.ndarray, px_per_mm: float = PX_PER_MM) -> Track:
    return Track([number / RATE_HZ for number in range(len(x_px))], list(x_px / px_per_mm))


def built(x_px: np.ndarray, **made: tuple[int, int]) -> tuple[list[FrameRecord], EncodedDisplacement]:
    """What became of the frames with an encoder that assists."""
    estimator = EncodedDisplacement(DisplacementSettings(), odometer(x_px), "assist")
    mosaic = StripMosaic(MosaicSettings(), estimator=estimator)
    for frame in ride(x_px, **made):
        mosaic.add(frame)
    mosaic.finish()
    return mosaic.drain_records(), estimator


def test_positions_of_a_file(tmp_path: Path) -> None:
    track = read_track(csv_file(tmp_path / "a.csv", "time_s,position_mm\n0,0\n0.5,100\n0.4,7\nx,1\n1.0,300\n3.0,500\n"))
    assert track.position_mm(0.25) == pytest.approx(50)
    assert track.position_mm(1.0) == 300
    assert track.position_mm(2.0) is None, "a gap in which it moved"
    assert track.position_mm(-0.1) is None
    assert track.position_mm(3.1) is None
    assert "2 lines" in track.faults[0]


def test_ticks_need_their_number_a_metre(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "a.csv", "ticks,time_s\n0,0\n500,1\n")
    with pytest.raises(SourceError, match="ticks_per_metre"):
        read_track(path)
    assert read_track(path, ticks_per_metre=2000, offset_s=10).position_mm(11) == pytest.approx(250)


def read_text(text: str) -> Track:
    with TemporaryDirectory() as folder:
        return read_track(csv_file(Path(folder) / "a.csv", text))


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(SourceError, match="is no file"):
        open_odometer(EncoderSettings(file=str(tmp_path / "a.csv")), Path("row12.mp4"))
    for name in ("row.mp4", "row.png", "row"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(SourceError, match="is a pipe or a device"):
            open_source(tmp_path / name)
        with pytest.raises(SourceError, match="is a pipe or a device"):
            plan_source(tmp_path / name, panorama=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "time_s,position_mm\n0,1\n1,2\n2," + "3" * 140_000 + "\n",
        "time_s,position\n0,1\n",
        "time_s,position_mm\n0,1\n",
        "position_mm\n1\n2\n",
        "time_s,position_mm\nnan,1\ninf,2\n",
    ],
)
def test_files_that_say_nothing_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SourceError):
        read_track(csv_file(tmp_path / "a.csv", text))


def test_a_folder_holds_a_file_a_row(tmp_path: Path) -> None:
    csv_file(tmp_path / "row12.csv", "time_s,position_mm\n0,0\n1,1\n")
    settings = EncoderSettings(file=str(tmp_path))
    assert open_odometer(settings, Path("videos/row12.mp4")) is not None
    with pytest.raises(SourceError, match=r"row13\.csv"):
        open_odometer(settings, Path("videos/row13.mp4"))
    assert open_odometer(EncoderSettings(), Path("row12.mp4")) is None


@pytest.mark.parametrize("row", ["12", "12-left", "12.5-left"])
def test_rows_cut_by_markers_share_the_file_of_their_recording(tmp_path: Path, row: str) -> None:
    csv_file(tmp_path / "row.12.csv", "time_s,position_mm\n0,0\n1,1\n")
    settings = EncoderSettings(file=str(tmp_path))
    assert open_odometer(settings, Path(f"videos/row.12.mp4#{row}:381-1204")) is not None
    (tmp_path / "row.12").mkdir()  # a folder of frames has no ending, whatever dots are in its name
    assert open_odometer(settings, tmp_path / "row.12") is not None
    assert open_odometer(settings, Path(f"{tmp_path / 'row.12'}#{row}:381-1204")) is not None


@pytest.mark.parametrize("wrong", [{"mode": "sum"}, {"ticks_per_metre": 0.0}, {"baud": 1}, {"offset_s": float("nan")}])
def test_settings_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        EncoderSettings(**wrong)  # type: ignore[arg-type]


def test_the_scale_is_learnt_through_reversals_and_wild_frames() -> None:
    scale = Scale()
    rng = np.random.default_rng(0)
    for moved_mm in [20.0] * 40 + [-15.0] * 20 + [0.0] * 10 + [25.0] * 30:
        wild = rng.random() < 0.1
        scale.learn(-0.8 * moved_mm * (3.0 if wild else 1.0) + rng.normal(0, 0.2), moved_mm)
    assert scale.px_per_mm == pytest.approx(-0.8, rel=0.003)
    assert scale.px_per_metre == pytest.approx(800, rel=0.003)


def test_encoder_and_pictures_give_the_scale() -> None:
    x_px = np.cumsum(np.full(80, 14.3))
    records, estimator = built(x_px)
    assert estimator.px_per_metre == pytest.approx(1000 * PX_PER_MM, rel=0.002)
    assert {record.status for record in records} == {"placed"}


def test_a_bare_stretch_is_no_bridge_with_an_encoder() -> None:
    """700 px without any feature, during which the trolley slows down: the pictures alone could only guess."""
    steps = np.full(120, 14.0)
    steps[45:80] = 9.0
    x_px = np.cumsum(steps)
    records, _ = built(x_px, bare=(760, 1460))
    last = records[-1]
    assert "bridged" not in {record.status for record in records}
    assert last.x_px == pytest.approx(x_px[-1] - x_px[0], abs=0.005 * (x_px[-1] - x_px[0]))


def test_override_follows_the_encoder_alone() -> None:
    """The pictures say 14 px a frame all the time; from frame 40 on the encoder says half of it."""
    seen = np.cumsum(np.full(90, 14.0))
    told = np.cumsum(np.where(np.arange(90) < 40, 14.0, 7.0))
    estimator = EncodedDisplacement(DisplacementSettings(), odometer(told), "override")
    moved = [estimator.measure(frame) for frame in ride(seen)]
    late = [one.dx_px for one in moved[60:] if one is not None]
    assert np.median(late) == pytest.approx(-7.0, rel=0.05)


def test_a_counter_that_starts_again_costs_nothing_of_the_row() -> None:
    """From frame 40 on it counts from 0: without pictures to fall back on, as in mode override."""
    x_px = np.cumsum(np.full(90, 14.0))
    told = np.where(np.arange(90) < 40, x_px, x_px - x_px[40]) / PX_PER_MM
    text = "\n".join(["time_s,position_mm", *(f"{n / RATE_HZ:.4f},{mm:.3f}" for n, mm in enumerate(told))])
    track = read_text(text)
    estimator = EncodedDisplacement(DisplacementSettings(), track, "override")
    moved = [one.dx_px for frame in ride(x_px) if (one := estimator.measure(frame)) is not None]
    assert -sum(moved) == pytest.approx(x_px[-1] - x_px[0], rel=0.005)
    assert "jumped by" in track.faults[0]
    assert "at 2.67 s" in track.faults[0]


def test_an_encoder_in_another_unit_is_left_as_it_is_and_told() -> None:
    track = read_text("\n".join(["time_s,position_mm", *(f"{n / 10},{n * 5000}" for n in range(20))]))
    assert track.position_mm(1.0) == 50_000
    assert "in millimetres" in track.faults[0]


def test_times_that_do_not_belong_together_are_told() -> None:
    """Pictures that were taken 15 times a second, taken for 30; and an encoder that began when the ride was over."""
    x_px = np.cumsum(np.full(60, 14.0))
    estimator = EncodedDisplacement(DisplacementSettings(), odometer(x_px), "assist")
    for frame in ride(x_px):
        estimator.measure(replace(frame, time_s=frame.time_s / 2))
    doubt = estimator.doubt(30.0)
    assert doubt is not None
    assert "span 3.93 s" in doubt
    assert "1.97 s" in doubt
    assert "--fps" in doubt
    assert estimator.doubt(None) is None, "a log of an encoder may go on after a video"
    right = EncodedDisplacement(DisplacementSettings(), odometer(x_px), "assist")
    late = EncodedDisplacement(DisplacementSettings(), odometer(x_px), "assist")
    for frame in ride(x_px):
        right.measure(frame)
        late.measure(replace(frame, time_s=frame.time_s + 2.0))
    assert right.doubt(15.0) is None
    assert "offset_s" in (late.doubt(None) or "")


def wait(true: Callable[[], bool], within_s: float = 10.0) -> None:
    end_s = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def test_a_serial_port_through_a_pseudo_terminal() -> None:
    pytest.importorskip("serial")
    threads = threading.active_count()
    master, slave = os.openpty()
    settings = EncoderSettings(file=os.ttyname(slave), ticks_per_metre=2000)
    with pytest.raises(SourceError, match="recording"):
        open_odometer(settings, Path("row12.mp4"))
    encoder = open_odometer(settings, Path("camera.toml"))
    assert isinstance(encoder, SerialOdometer)
    try:
        wait(lambda: encoder._serial is not None)
        time.sleep(0.3)
        for tick in range(50):
            os.write(master, b"ticks %d\r\n" % (10 * tick) if tick % 2 else b"mm %.1f\n" % (5 * tick))
            time.sleep(0.01)
        os.write(master, b"garbage\n\xff\xfe\n")
        wait(lambda: encoder._junk == 2)
        assert encoder.position_mm(time.monotonic()) == pytest.approx(245.0)
        first_s, last_s = encoder._readings[3][0], encoder._readings[-3][0]
        middle = encoder.position_mm((first_s + last_s) / 2)
        assert middle is not None
        assert 20 < middle < 240
        assert encoder.position_mm(time.monotonic() + 5) is None
        assert "2 lines" in encoder.faults[-1]
    finally:
        encoder.close()
        encoder.close()
        os.close(master)
        os.close(slave)
    assert threading.active_count() == threads


def test_a_port_that_goes_away_is_told_and_opened_again(tmp_path: Path) -> None:
    pytest.importorskip("serial")
    link = tmp_path / "encoder"
    encoder = SerialOdometer(EncoderSettings(file=str(link)))
    try:
        wait(lambda: bool(encoder.faults))
        master, slave = os.openpty()
        link.symlink_to(os.ttyname(slave))
        wait(lambda: os.write(master, b"mm 12.5\n") > 0 and encoder.position_mm(time.monotonic()) == 12.5)
        os.close(master)
        os.close(slave)
        link.unlink()
        wait(lambda: sum(encoder._outages.values()) > 2)
        master, slave = os.openpty()
        link.symlink_to(os.ttyname(slave))
        wait(lambda: os.write(master, b"mm 99\n") > 0 and encoder.position_mm(time.monotonic()) == 99.0, 15)
    finally:
        encoder.close()
        os.close(master)
        os.close(slave)


def test_the_scale_goes_into_panorama_json(tmp_path: Path) -> None:
    x_px = np.cumsum(np.full(60, 14.3))
    frames = tmp_path / "row"
    frames.mkdir()
    for frame in ride(x_px):
        cv2.imwrite(str(frames / f"{frame.sequence:04d}.png"), frame.image)
    lines = [f"{number / 30:.4f},{x / PX_PER_MM:.3f}" for number, x in enumerate(x_px)]
    encoder = csv_file(tmp_path / "row.csv", "\n".join(["time_s,position_mm", *lines]))
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["build", str(frames), "--out", str(out), "--encoder", str(encoder), "--quiet"])
    assert result.exit_code == 0, result.output
    told = json.loads((out / "panorama.json").read_text())
    assert told["px_per_metre"] == pytest.approx(1000 * PX_PER_MM, rel=0.005)
    assert told["length_m"] == pytest.approx((x_px[-1] - x_px[0] + SIZE_WH[0]) / PX_PER_MM / 1000, rel=0.01)
