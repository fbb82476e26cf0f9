"""Machines for the doctor: what their files and programs say. Texts are those of real ones, shortened."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from edgekit.doctor import Answer, Probes
from edgekit.environment import Environment

BUILD_INFORMATION = """
General configuration for OpenCV 4.10.0 =====================================
  Video I/O:
    FFMPEG:                      YES
    GStreamer:                   {gstreamer}
    v4l/v4l2:                    YES (linux/videodev2.h)
"""
NOW_S = 1_790_000_000.0  # September 2026


@dataclass
class Machine(Probes):
    """A machine that is all right until a test changes it."""

    root: Path
    here: Environment
    modules: dict[str, Answer] = field(default_factory=dict)
    """First part of a module's name -> what importing it says; others import well."""
    commands: dict[str, Answer] = field(default_factory=dict)
    """Beginning of a command -> what it says; others are not there."""
    installed: str = "edgekit numpy opencv-python onnxruntime"
    gstreamer: str = "NO"
    providers: str = "CPUExecutionProvider"
    free_gb: float = 200.0
    now_s: float = NOW_S
    forbidden: tuple[str, ...] = ()
    """Paths below the root that this user may not use."""
    listening: tuple[tuple[str, int], ...] = ()

    def environment(self):
        return self.here

    def command(self, words):
        line = " ".join(words)
        return next((answer for start, answer in self.commands.items() if line.startswith(start)), Answer(None))

    def python(self, code):
        if "distributions" in code:
            return Answer(0, self.installed)
        if "getBuildInformation" in code:
            text = f"/opt/edgekit/lib/cv2/__init__.py\n4.10.0\n{BUILD_INFORMATION.format(gstreamer=self.gstreamer)}"
            return self.modules.get("cv2", Answer(0, text))
        if "get_available_providers" in code:
            return self.modules.get("onnxruntime", Answer(0, self.providers))
        module = code.removeprefix("import ").partition(",")[0].partition(".")[0]
        return self.modules.get(module, Answer(0, "2.2.6\n"))

    def free_bytes(self, folder):
        return int(self.free_gb * 1e9)

    def may_write(self, path):
        return not any(str(path).endswith(name) for name in self.forbidden)

    may_read = may_write

    def answers(self, host, port):
        return (host, port) in self.listening

    def wall_s(self):
        return self.now_s

    def put(self, path, text=""):
        """A file of this machine."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def environment(**changes):
    values = {
        "system": "Linux 5.15", "machine": "aarch64", "processor": "ARMv8 Processor rev 1 (v8l)", "cores": 8,
        "memory_mb": 15_656.0, "python": "3.10.12", "board": None, "jetpack": None, "l4t": None, "providers": (),
        "packages": {},
    }  # fmt: skip
    return Environment(**{**values, **changes})


NO_TENSORRT = Answer(1, "", "Traceback (most recent call last):\nModuleNotFoundError: No module named 'tensorrt'\n")
GST = Answer(0, "gst-launch-1.0 version 1.20.3\nGStreamer 1.20.3\n")


def orin(root, *, jetpack=6):
    """A Jetson Orin NX with JetPack 6 or 7, engines allowed."""
    six = jetpack == 6
    release, python, trt = ("36.4.3", "3.10.12", "10.3.0") if six else ("38.2.0", "3.12.3", "10.13.3.9")
    board = "NVIDIA Jetson Orin NX Engineering Reference Developer Kit"
    machine = Machine(root, environment(python=python, board=board, jetpack=jetpack, l4t=release))
    machine.modules["tensorrt"] = Answer(0, f"{trt}\n")
    machine.commands = {
        "nvpmodel -q": Answer(0, "NV Power Mode: MAXN\n0\n"),
        "gst-launch-1.0 --version": GST,
        "gst-inspect-1.0 --exists": Answer(0),
        "systemctl is-active nvargus-daemon": Answer(0, "active\n"),
    }
    machine.put("dev/nvhost-gpu" if six else "dev/nvgpu/igpu0")
    machine.put("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n")
    machine.put("sys/class/thermal/thermal_zone0/temp", "48500\n")
    machine.put("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "schedutil\n")
    machine.put("sys/class/rtc/rtc0/since_epoch", f"{int(NOW_S) + 1}\n")
    machine.put("sys/class/rtc/rtc1/since_epoch", "55\n")
    return machine


def desktop(root):
    """A desktop with an NVIDIA GPU."""
    here = environment(machine="x86_64", processor="AMD Ryzen 9 5950X", python="3.12.3", memory_mb=64_000.0)
    machine = Machine(root, here, providers="TensorrtExecutionProvider CUDAExecutionProvider CPUExecutionProvider")
    machine.modules["tensorrt"] = Answer(0, "10.13.3.9\n")
    machine.commands = {
        "nvidia-smi --query-gpu=name,": Answer(0, "NVIDIA GeForce RTX 4070, 560.35.03, 12282 MiB\n"),
        "nvidia-smi --query-gpu=name ": Answer(0, "NVIDIA GeForce RTX 4070\n"),
        "gst-launch-1.0 --version": GST,
    }
    machine.put("sys/class/rtc/rtc0/since_epoch", f"{int(NOW_S)}\n")
    return machine


def bare(root):
    """A processor and nothing else."""
    machine = Machine(root, environment(machine="x86_64", processor="Intel(R) N100", python="3.11.2"))
    machine.modules["tensorrt"] = NO_TENSORRT
    machine.commands = {"gst-launch-1.0 --version": GST}
    machine.put("sys/class/rtc/rtc0/since_epoch", f"{int(NOW_S)}\n")
    return machine


def put_engine(folder, *, tensorrt="10.3.0", jetpack="R36.4.3", gpu="Orin"):
    """An engine's sidecar, and a file that stands for the engine."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "fruit.engine"
    path.write_bytes(b"\1" * 1000)
    device = {"gpu_name": gpu, "compute_capability": "8.7", "tensorrt_version": tensorrt, "jetpack": jetpack}
    sidecar = {"onnx_sha256": "0" * 64, "precision": "fp16", "device": device, "metadata": {}}
    path.with_name("fruit.engine.json").write_text(json.dumps(sidecar))
    return path
