"""The doctor on machines that are well, and on machines with one thing wrong."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from edgekit.cli.main import app
from edgekit.doctor import CHECKS, Answer, Probes, Question, examine
from edgekit.runtime.sources import CameraDescription
from tests.doctor.machines import NO_TENSORRT, bare, desktop, orin, put_engine

MACHINES = {"orin6": orin, "orin7": lambda root: orin(root, jetpack=7), "desktop": desktop, "bare": bare}


def look(machine, tmp_path, **question):
    return list(examine(machine, Question(out=tmp_path, **question)))


def bad(findings):
    return {finding.subject: finding for finding in findings if finding.state != "ok"}


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_that_is_well_has_no_complaint(name, tmp_path):
    assert bad(look(MACHINES[name](tmp_path / "root"), tmp_path)) == {}


@pytest.mark.parametrize("name", MACHINES)
def test_every_complaint_has_a_mend_and_every_check_a_line_somewhere(name, tmp_path):
    machine = MACHINES[name](tmp_path / "root")
    machine.modules = dict.fromkeys(["numpy", "cv2", "tensorrt"], Answer(1, "", "ImportError: broken\n"))
    machine.commands, machine.now_s, machine.free_gb = {}, 0.0, 0.5
    complaints = bad(look(machine, tmp_path))
    assert {"numpy", "opencv-python", "clock", "disk", "GStreamer"} <= complaints.keys()
    assert all(finding.mend and "\n" not in finding.text for finding in complaints.values())


def only(findings, subject):
    complaints = bad(findings)
    assert list(complaints) == [subject], complaints
    return complaints[subject]


IMPORTS = [
    ("cv2", Answer(1, "", "ImportError: libGL.so.1: cannot open shared object file: No such file\n"), "libgl1"),
    ("cv2", Answer(1, "", "ImportError: libgomp.so.1: cannot allocate memory in static TLS block\n"), "LD_PRELOAD"),
    ("numpy", Answer(-4), "OPENBLAS_CORETYPE"),
    ("scipy", Answer(-11), "does not fit this machine"),
    ("pycocotools", Answer(1, "", "RuntimeError: numpy.dtype size changed, may indicate incompatibility\n"), "NumPy"),
    ("av", Answer(1, "", "ImportError: /lib/libc.so.6: version `GLIBC_2.38' not found (required by av)\n"), "bundle"),
    ("tifffile", Answer(1, "", "ModuleNotFoundError: No module named 'tifffile'\n"), "pip install tifffile"),
    ("psutil", Answer(None, errors="timed out after 60 seconds"), "SD card"),
]


@pytest.mark.parametrize(("module", "answer", "mend"), IMPORTS)
def test_a_package_that_cannot_be_imported_is_told_with_its_mend(module, answer, mend, tmp_path):
    machine = orin(tmp_path / "root")
    machine.modules[module] = answer
    finding = next(item for item in look(machine, tmp_path) if item.state == "fault")
    assert mend in finding.mend


def test_a_tensorrt_of_another_numpy_gives_a_hint(tmp_path):
    machine = orin(tmp_path / "root")
    text = (
        "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.2.6\nImportError: _ARRAY_API not found\n"
    )
    machine.modules["tensorrt"] = Answer(1, "", text)
    finding = only(look(machine, tmp_path), "TensorRT")
    assert finding.state == "fault"
    assert "numpy<2" in finding.mend


def test_packages_that_overwrite_each_other_are_told(tmp_path):
    machine = desktop(tmp_path / "root")
    machine.installed += " onnxruntime-gpu"
    assert "pip uninstall onnxruntime onnxruntime-gpu" in only(look(machine, tmp_path), "onnxruntime").mend


def test_an_environment_that_does_not_see_the_systems_tensorrt_is_told(tmp_path):
    machine = orin(tmp_path / "root")
    machine.modules["tensorrt"] = NO_TENSORRT
    assert "install.sh" in only(look(machine, tmp_path), "TensorRT").mend


def test_the_wrong_python_for_jetpack_is_told(tmp_path):
    machine = orin(tmp_path / "root", jetpack=7)
    machine.here = replace(machine.here, python="3.11.9")
    assert "python3.12" in only(look(machine, tmp_path), "Python").mend


def test_an_old_python_and_an_old_jetpack_are_faults(tmp_path):
    machine = orin(tmp_path / "root")
    machine.here = replace(machine.here, python="3.8.10", jetpack=5, l4t="35.4.1")
    assert {name: item.state for name, item in bad(look(machine, tmp_path)).items()} == {
        "Python": "fault", "JetPack": "fault",
    }  # fmt: skip


ENGINES = [
    ({}, None),
    ({"tensorrt": "10.7.0"}, "TensorRT 10.7.0 (here 10.3.0)"),
    ({"jetpack": "R36.3.0"}, "R36.3.0 (here R36.4.3)"),
    ({"jetpack": None}, "a machine that is no Jetson"),
]


@pytest.mark.parametrize(("built", "told"), ENGINES)
def test_engines_are_compared_with_this_device(built, told, tmp_path):
    machine = orin(tmp_path / "root")
    put_engine(tmp_path / "models", **built)
    findings = look(machine, tmp_path, models=(tmp_path / "models",))
    if told is None:
        assert not bad(findings)
    else:
        assert told in only(findings, "engine fruit.engine").text


def test_an_engine_of_another_gpu_without_a_sidecar_or_with_a_torn_one_is_told(tmp_path):
    machine = desktop(tmp_path / "root")
    path = put_engine(tmp_path / "models", tensorrt="10.13.3.9", jetpack=None, gpu="NVIDIA GeForce RTX 3060")
    question = {"models": (tmp_path / "models",)}
    assert (
        "RTX 3060 (here NVIDIA GeForce RTX 4070)"
        in only(look(machine, tmp_path, **question), f"engine {path.name}").text
    )
    sidecar = path.with_name("fruit.engine.json")
    sidecar.write_text(sidecar.read_text()[:40])
    assert only(look(machine, tmp_path, **question), f"engine {path.name}").state == "fault"
    sidecar.unlink()
    assert only(look(machine, tmp_path, **question), f"engine {path.name}").state == "warning"


def test_a_site_that_wants_the_gpu_is_told_where_none_would_serve(tmp_path):
    machine = bare(tmp_path / "root")
    complaints = bad(look(machine, tmp_path, wants_gpu=True))
    assert {"GPU", "ONNX Runtime", "TensorRT"} == complaints.keys()


def test_a_driver_that_fails_is_told_in_its_words(tmp_path):
    machine = desktop(tmp_path / "root")
    machine.commands["nvidia-smi --query-gpu=name,"] = Answer(
        9, "", "Failed to initialize NVML: Driver/library mismatch\n"
    )
    assert "Driver/library mismatch" in only(look(machine, tmp_path), "GPU").text


def test_a_gpu_out_of_reach_is_told(tmp_path):
    machine = orin(tmp_path / "root")
    machine.forbidden = ("dev/nvhost-gpu",)
    assert "usermod" in only(look(machine, tmp_path), "GPU").mend
    (tmp_path / "root" / "dev" / "nvhost-gpu").unlink()
    assert "--runtime nvidia" in only(look(machine, tmp_path), "GPU").mend


BOARD = [
    ("sys/class/thermal/thermal_zone0/temp", "88000", "temperature", "warning"),
    ("sys/class/thermal/thermal_zone0/temp", "97500", "temperature", "fault"),
    ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave", "clocks", "warning"),
    ("sys/class/hwmon/hwmon1/oc3_event_cnt", "7", "clocks", "warning"),
    ("sys/class/rtc/rtc0/since_epoch", "3600", "clock", "warning"),
]


@pytest.mark.parametrize(("path", "text", "subject", "state"), BOARD)
def test_the_board_is_looked_at(path, text, subject, state, tmp_path):
    machine = orin(tmp_path / "root")
    machine.put(path, text)
    assert only(look(machine, tmp_path), subject).state == state


def test_a_low_power_mode_is_told_and_one_that_does_not_answer_too(tmp_path):
    machine = orin(tmp_path / "root")
    machine.commands["nvpmodel -q"] = Answer(0, "NV Power Mode: MODE_10W\n3\n")
    assert "10W" in only(look(machine, tmp_path), "power mode").text
    machine.commands["nvpmodel -q"] = Answer(0, "NV Power Mode: MODE_25W\n1\n")
    assert not bad(look(machine, tmp_path))
    del machine.commands["nvpmodel -q"]
    assert "nvpmodel" in only(look(machine, tmp_path), "power mode").text


@pytest.mark.parametrize(("free_gb", "state"), [(1.0, "fault"), (5.0, "warning")])
def test_little_space_is_told(free_gb, state, tmp_path):
    machine = bare(tmp_path / "root")
    machine.free_gb = free_gb
    assert only(look(machine, tmp_path), "disk").state == state


def test_a_clock_from_before_edgekit_is_a_fault(tmp_path):
    machine = orin(tmp_path / "root")
    machine.now_s = 86_400.0
    assert only(look(machine, tmp_path), "clock").state == "fault"


def camera(kind, address="", **more):
    return ("left", CameraDescription(kind, address, **more))


CAMERAS = [
    (camera("v4l2", "/dev/edgekit/left"), None, None),
    (camera("v4l2", "/dev/video0"), "warning", "/dev/edgekit"),
    (camera("v4l2", "/dev/video7"), "fault", "plug the camera in"),
    (camera("rtsp", "rtsp://10.0.0.5/stream"), None, None),
    (camera("rtsp", "rtsp://10.0.0.6:8554/stream"), "fault", "power and cable"),
    (camera("csi", "0"), None, None),
    (camera("stream", "/nowhere/straw.mp4"), "fault", "camera's file"),
    (camera("stream", "udp:10.0.0.5:5000"), "unchecked", "camera check"),
    (camera("stream", "/dev/video9"), "unchecked", "camera check"),
    (camera("gstreamer", pipeline="videotestsrc ! video/x-raw,width=64 ! t. "), "unchecked", "camera check"),
    (camera("gstreamer", pipeline="videotestsrc ! autovideosink sync=false"), "fault", "leave it out"),
    (camera("gstreamer", pipeline="nosuchsrc ! videoconvert"), "fault", "plugins-good"),
]


@pytest.mark.parametrize(("description", "state", "mend"), CAMERAS)
def test_the_sites_cameras_are_looked_for(description, state, mend, tmp_path):
    machine = orin(tmp_path / "root")
    machine.listening = (("10.0.0.5", 554),)
    machine.put("dev/video0")
    machine.put("sys/class/video4linux/video0/name", "HD USB Camera: HD USB Camera\n")
    machine.put("dev/edgekit/left")
    machine.commands = {"gst-inspect-1.0 --exists nosuchsrc": Answer(1), **machine.commands}
    findings = look(machine, tmp_path, cameras=(description,))
    if state is None:
        assert not bad(findings)
    else:
        finding = only(findings, "camera left")
        assert finding.state == state
        assert mend in finding.mend


def test_a_csi_camera_needs_its_element_and_its_daemon(tmp_path):
    machine = orin(tmp_path / "root")
    machine.commands |= {"gst-inspect-1.0 --exists": Answer(1), "systemctl is-active": Answer(3, "inactive\n")}
    machine.commands.pop("systemctl is-active nvargus-daemon")
    complaints = bad(look(machine, tmp_path, cameras=(camera("csi", "0"),)))
    assert "nvidia-l4t-gstreamer" in complaints["GStreamer"].mend
    assert "nvargus-daemon" in complaints["camera left"].mend
    machine.commands.pop("gst-launch-1.0 --version")
    assert bad(look(machine, tmp_path, cameras=(camera("csi", "0"),)))["GStreamer"].state == "fault"


def test_the_build_of_opencv_is_told_with_its_file(tmp_path):
    machine = orin(tmp_path / "root")
    lines = {item.subject: item.text for item in look(machine, tmp_path)}
    assert "/opt/edgekit/lib/cv2/__init__.py" in lines["OpenCV build"]
    assert "GStreamer: NO (edgekit does not need it" in lines["OpenCV build"]
    machine.gstreamer = "YES (1.20.3)"
    assert {item.subject: item.text for item in look(machine, tmp_path)}["OpenCV build"].endswith(
        "GStreamer: YES (1.20.3)"
    )


def test_a_check_that_cannot_look_does_not_keep_the_others(tmp_path, monkeypatch):
    machine = orin(tmp_path / "root")
    monkeypatch.setattr(
        machine, "free_bytes", lambda folder: (_ for _ in ()).throw(OSError("the disk reports an error"))
    )
    findings = look(machine, tmp_path)
    assert only(findings, "disk").state == "fault"
    assert findings[-1].subject == "cameras"


def test_a_crash_of_an_import_is_seen_from_outside(tmp_path):
    answer = Probes().command([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGILL)"])
    assert answer.killed_by == "SIGILL"
    assert Probes().command(["no-such-program-of-edgekit"]).code is None


def test_names_of_checks_are_told_once():
    assert len({name for name, _ in CHECKS}) == len(CHECKS)


def test_this_machine_as_it_is_typed(tmp_path):
    """What it finds here nobody knows; that it looks at everything and says so in both forms is tested."""
    done = CliRunner().invoke(app, ["doctor", "--out", str(tmp_path), "--json"])
    answer = json.loads(done.stdout)
    assert done.exit_code == (0 if answer["ready"] else 1)
    assert answer["faults"] == sum(item["state"] == "fault" for item in answer["findings"])
    assert {"Python", "numpy", "disk", "GPU", "clock"} <= {item["subject"] for item in answer["findings"]}


def encoder_line(findings):
    return next(item for item in findings if item.subject == "encoder")


@pytest.mark.parametrize(
    ("port", "there", "state", "mend"),
    [
        ("/dev/ttyUSB0", True, "warning", "/dev/serial/by-id"),
        ("/dev/serial/by-id/wheel", True, "ok", None),
        ("/dev/serial/by-id/wheel", False, "fault", "plug it in"),
        ("/dev/locked", True, "fault", "dialout"),
    ],
)
def test_the_sites_encoder_is_looked_for(port, there, state, mend, tmp_path):
    machine = desktop(tmp_path)
    machine.forbidden = ("locked",)
    if there:
        machine.put(port.lstrip("/"))
    finding = encoder_line(look(machine, tmp_path, encoder=port))
    assert finding.state == state
    assert mend is None or mend in finding.mend
    assert encoder_line(look(machine, tmp_path)).state == "ok"


def test_an_encoder_needs_pyserial(tmp_path):
    machine = desktop(tmp_path)
    machine.modules["serial"] = Answer(1, errors="No module named 'serial'")
    machine.put("dev/serial/by-id/wheel")
    findings = look(machine, tmp_path, encoder="/dev/serial/by-id/wheel")
    assert "edgekit[encoder]" in encoder_line(findings).mend
