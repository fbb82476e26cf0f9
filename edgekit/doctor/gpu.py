"""GPU, TensorRT, and the engines that lie on this device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from edgekit.doctor.finding import Finding, fault, ok, warning
from edgekit.doctor.packages import import_answer, import_trouble
from edgekit.doctor.probes import Probes
from edgekit.doctor.question import Question
from edgekit.errors import EngineError
from edgekit.segment.engine_file import REBUILD, SUFFIX, read_sidecar

JETSON_NODES = ("dev/nvhost-gpu", "dev/nvgpu/igpu0", "dev/nvidia0")
"""Device files through which programs reach a Jetson's GPU, by release: one of them is there."""
_LINK = "run deploy/install.sh, which links the system's TensorRT into the environment"
_ASK_PROVIDERS = "import onnxruntime; print(' '.join(onnxruntime.get_available_providers()))"
_NO_MODULE = "No module named 'tensorrt'"


def check_gpu(probes: Probes, question: Question) -> Iterator[Finding]:
    """Is there one, and may this user reach it?"""
    if probes.environment().is_jetson:
        yield _jetson_gpu(probes)
        return
    answer = probes.command(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"])
    if answer.good and answer.output.strip():
        for line in answer.output.strip().splitlines():
            yield ok("GPU", line.strip())
    elif answer.code is not None:
        told = (answer.output + answer.errors).strip().splitlines()
        yield fault(
            "GPU", told[-1] if told else "nvidia-smi fails", "install the driver again, or start the machine anew"
        )
    elif question.wants_gpu:
        yield fault("GPU", "no NVIDIA GPU or no driver", "install the driver, or set provider = 'cpu' in the site file")
    else:
        yield ok("GPU", "no NVIDIA GPU: models run on the processor")


def check_tensorrt(probes: Probes, question: Question) -> Iterator[Finding]:
    """Its Python package; on a Jetson it is the system's, which an environment sees only by a link."""
    answer = import_answer(probes, "tensorrt")
    on_jetson = probes.environment().is_jetson
    if answer.good:
        yield ok("TensorRT", answer.output.strip() or "there")
    elif _NO_MODULE not in answer.errors:
        yield fault("TensorRT", *import_trouble(answer, "tensorrt"))
    elif on_jetson:
        yield fault("TensorRT", "this environment does not see the system's TensorRT", _LINK)
    elif question.wants_gpu:
        yield warning("TensorRT", "not installed: engines cannot run", "pip install edgekit[tensorrt]")
    else:
        yield ok("TensorRT", "not installed; nothing here asks for it")


def check_providers(probes: Probes, question: Question) -> Iterator[Finding]:
    """Would models silently run on the processor of a machine that has a GPU?"""
    answer = probes.python(_ASK_PROVIDERS)
    if not answer.good:
        return  # told among the packages
    names = answer.output.split()
    if any(mark in name for name in names for mark in ("CUDA", "Tensorrt", "TensorRT")):
        yield ok("ONNX Runtime", f"offers {', '.join(names)}")
    elif question.wants_gpu and not import_answer(probes, "tensorrt").good:
        mend = "link TensorRT (deploy/install.sh), or install NVIDIA's onnxruntime-gpu for this JetPack"
        yield fault("ONNX Runtime", "the site wants the GPU, this build knows the processor alone", mend)
    else:
        yield ok("ONNX Runtime", f"offers {', '.join(names)}; the GPU serves through TensorRT where that is there")


def check_engines(probes: Probes, question: Question) -> Iterator[Finding]:
    """Does each engine belong to this TensorRT, GPU and JetPack?"""
    engines = [path for folder in question.models for path in sorted(folder.rglob(f"*{SUFFIX}"))]
    if not engines:
        return
    answer = import_answer(probes, "tensorrt")
    version = answer.output.strip() if answer.good else None
    for path in engines:
        yield _engine(probes, path, version)


def _engine(probes: Probes, path: Path, version: str | None) -> Finding:
    subject = f"engine {path.name}"
    try:
        sidecar = read_sidecar(path)
    except EngineError as error:
        return fault(subject, error.what, REBUILD)
    if sidecar is None:
        return warning(subject, "nothing beside it says what it was built for", REBUILD)
    if version is None:
        return fault(subject, "TensorRT cannot be imported, so it cannot run", _LINK)
    built, here = sidecar.device, probes.environment()
    differences = []
    if built.tensorrt_version != version:
        differences.append(f"TensorRT {built.tensorrt_version} (here {version})")
    release = None if here.l4t is None else f"R{here.l4t}"
    if built.jetpack != release:
        differences.append(f"{built.jetpack or 'a machine that is no Jetson'} (here {release or 'no Jetson'})")
    names = _gpu_names(probes)
    if names and not here.is_jetson and built.gpu_name not in names:
        differences.append(f"{built.gpu_name} (here {', '.join(names)})")
    if differences:
        return fault(subject, f"built for {', '.join(differences)}: it may load and be wrong", REBUILD)
    return ok(subject, f"built for TensorRT {version}, {built.gpu_name}, {sidecar.precision}")


def _gpu_names(probes: Probes) -> list[str]:
    answer = probes.command(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"])
    return [line.strip() for line in answer.output.splitlines() if line.strip()] if answer.good else []


def _jetson_gpu(probes: Probes) -> Finding:
    nodes = [node for node in JETSON_NODES if (probes.root / node).exists()]
    if not nodes:
        mend = "in a container, start it with --runtime nvidia; else install the system anew: its GPU driver is missing"
        return fault("GPU", "the device file of the GPU is not there", mend)
    if not probes.may_write(probes.root / nodes[0]):
        mend = "sudo usermod -aG video,render $USER, then log in again"
        return fault("GPU", f"/{nodes[0]} may not be used by this user", mend)
    return ok("GPU", "integrated, within reach")
