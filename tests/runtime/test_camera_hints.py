"""What is told of a camera that gives no frame: the hint fits the failure, and what cannot mend itself is final."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgekit.cli.camera import app
from edgekit.errors import SourceError
from edgekit.runtime.sources import CameraDescription, LiveSettings, open_camera, open_source, read_camera
from edgekit.runtime.sources.description import require_file
from edgekit.runtime.sources.feed import _telling
from edgekit.runtime.sources.hints import hint_for

needs_gstreamer = pytest.mark.skipif(shutil.which("gst-launch-1.0") is None, reason="GStreamer is not installed")

SAID = [
    ('WARNING: erroneous pipeline: no element "nvarguscamerasrc"', "JetPack", True),
    ('WARNING: erroneous pipeline: no element "nosuchsrc"', "gst-inspect-1.0", True),
    ("WARNING: erroneous pipeline: could not link fakesink0 to videoconvert0", "leave the sink out", True),
    ("WARNING: erroneous pipeline: syntax error", "by hand", True),
    ('No such file "/nowhere"', "path of the file", True),
    ("[Errno 2] No such file or directory: '/dev/video9'", "plug the camera in", False),
    ("[Errno 111] Connection refused: 'rtsp://10.0.0.5/x'", "power and network", False),
    ("[Errno 1] Server returned 401 Unauthorized", "user and password", False),
    ("[Errno 16] Device or resource busy", "another program", False),
    ("no frame in time", "cable", False),
]


@pytest.mark.parametrize(("words", "mend", "final"), SAID)
def test_the_hint_fits_what_was_said(words: str, mend: str, final: bool) -> None:
    hint = hint_for(words)
    assert mend in hint.mend
    assert hint.final is final


def test_the_line_that_tells_is_found_among_those_of_gstreamer() -> None:
    said = (
        "ERROR: from element /GstPipeline:pipeline0/GstFileSrc:filesrc0: Resource not found.\nAdditional debug info:\n"
        '../plugins/elements/gstfilesrc.c(553): gst_file_src_start ():\nNo such file "/nowhere"\n'
        "ERROR: pipeline doesn't want to preroll.\nFailed to set pipeline to PAUSED.\n"
    )
    assert _telling(said) == 'No such file "/nowhere"'
    assert _telling("Failed to start\n") == "Failed to start"
    assert _telling("") == ""


@pytest.mark.parametrize(
    ("kind", "address", "placed"),
    [
        ("stream", "../straw.mp4", "{}/cameras/../straw.mp4"),
        ("stream", "/films/straw.mp4", "/films/straw.mp4"),
        ("stream", "tcp://10.0.0.5:5000", "tcp://10.0.0.5:5000"),
        ("stream", "udp:10.0.0.5:5000", "udp:10.0.0.5:5000"),
        ("stream", "/dev/video3", "/dev/video3"),
        ("rtsp", "rtsp://10.0.0.5/x", "rtsp://10.0.0.5/x"),
        ("v4l2", "/dev/video0", "/dev/video0"),
        ("csi", "0", "0"),
    ],
)
def test_the_path_of_a_file_starts_at_the_cameras_file(kind: str, address: str, placed: str, tmp_path: Path) -> None:
    path = tmp_path / "cameras" / "left.toml"
    path.parent.mkdir()
    path.write_text(f'kind = "{kind}"\naddress = "{address}"\n')
    assert read_camera(path).address == placed.format(tmp_path)


def test_a_file_that_is_not_there_is_final(tmp_path: Path) -> None:
    path = tmp_path / "left.toml"
    path.write_text('kind = "stream"\naddress = "straw.mp4"\n')
    with pytest.raises(SourceError, match=r"straw\.mp4 does not exist"):
        open_source(path)
    result = CliRunner().invoke(app, ["check", str(path)])
    assert isinstance(result.exception, SourceError)
    assert "opening" not in result.output
    (tmp_path / "straw.mp4").write_bytes(b"")
    require_file(read_camera(path))


@needs_gstreamer
@pytest.mark.parametrize(
    ("pipeline", "mend"),
    [("nosuchsrc", "gst-inspect-1.0"), ("videotestsrc ! fakesink", "sink"), ("filesrc location=/nowhere", "path")],
)
def test_a_pipeline_that_cannot_run_is_not_tried_again(pipeline: str, mend: str) -> None:
    told: list[str] = []
    camera = CameraDescription("gstreamer", pipeline=pipeline, size_wh=(64, 48))
    source = open_camera(camera, settings=LiveSettings(give_up_s=3600.0), told=told.append)
    with pytest.raises(SourceError) as refused:
        list(source)
    assert mend in (refused.value.mend or "")
    assert not told


def test_what_is_tried_again_is_told() -> None:
    told: list[str] = []
    camera = CameraDescription("v4l2", "/dev/video97")
    settings = LiveSettings(first_pause_s=0.05, longest_pause_s=0.05, give_up_s=3600.0)

    def stop_after_two(line: str) -> None:
        told.append(line)
        if len(told) == 2:
            source.close()

    source = open_camera(camera, settings=settings, told=stop_after_two)
    assert list(source) == []
    assert "No such file" in told[0]
    assert "tried again" in told[0]
