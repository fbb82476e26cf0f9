"""Python and the packages: is each there, and does its binary fit this machine?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from edgekit.doctor.finding import Finding, fault, ok, warning
from edgekit.doctor.probes import Answer, Probes
from edgekit.doctor.question import Question

OLDEST_PYTHON = (3, 10)
PYTHON_OF_JETPACK = {6: "3.10", 7: "3.12"}
"""JetPack -> its system's Python, which is the one that its TensorRT is bound to."""

BASE_MODULES = (
    ("numpy", "numpy"), ("scipy", "scipy.ndimage"), ("opencv-python", "cv2"), ("onnxruntime", "onnxruntime"),
    ("av", "av"), ("pycocotools", "pycocotools.mask"), ("psutil", "psutil"), ("typer", "typer"), ("rich", "rich"),
    ("tomli-w", "tomli_w"), ("tifffile", "tifffile"), ("fsspec", "fsspec"),
)  # fmt: skip
"""Package of the base install -> module that loads its binary."""
SYNC_MODULES = (("s3fs", "s3fs"), ("paramiko", "paramiko"), ("paho-mqtt", "paho.mqtt.client"))
RIVALS = (
    ("opencv-python", "opencv-python-headless", "opencv-contrib-python", "opencv-contrib-python-headless"),
    ("onnxruntime", "onnxruntime-gpu"),
)
"""Packages that write the same files: the last one installed wins, until one of them is removed."""

HINTS: tuple[tuple[str, str], ...] = (
    (r"compiled using NumPy 1|_ARRAY_API not found|numpy\.core\.multiarray failed|numpy\.dtype size changed",
     'built for another NumPy: pip install --force-reinstall {package}; NVIDIA\'s builds: pip install "numpy<2"'),
    (r"libGL\.so|libgthread|libglib", "apt-get install libgl1 libglib2.0-0"),
    (r"static TLS", "set LD_PRELOAD to the library that the message names, before edgekit starts"),
    (r"GLIBC(XX)?_[\d.]+' not found", "it was built for a newer system: install from a bundle made for this one"),
    (r"libcudart|libcublas|libcudnn|libnvinfer", "a library of JetPack is missing: apt-get install nvidia-jetpack"),
    (r"No module named", "pip install {package}"),
)  # fmt: skip
"""What an import says -> how to mend it."""
CRASHES = {
    "SIGILL": "it uses instructions that this processor lacks: set OPENBLAS_CORETYPE=ARMV8, or install another version",
    "SIGKILL": "it was killed, most likely for want of memory: close other programs",
}


def check_python(probes: Probes, question: Question) -> Iterator[Finding]:
    """Version, and whether it is the one that JetPack's TensorRT belongs to."""
    here = probes.environment()
    found = tuple(int(part) for part in re.findall(r"\d+", here.python)[:2])
    wanted = PYTHON_OF_JETPACK.get(here.jetpack or 0)
    if found < OLDEST_PYTHON:
        yield fault("Python", f"{here.python} is too old", "edgekit needs 3.10 or newer: python3.10 -m venv ...")
    elif wanted is not None and not here.python.startswith(f"{wanted}."):
        told = f"{here.python}, but TensorRT of JetPack {here.jetpack} is bound to {wanted}"
        yield warning("Python", told, f"make the environment with python{wanted}: deploy/install.sh does")
    else:
        yield ok("Python", f"{here.python}, {here.machine}")


def check_packages(probes: Probes, question: Question) -> Iterator[Finding]:
    """Import each package of the base install in a process of its own."""
    for package, module in BASE_MODULES:
        yield _imported(probes, package, module, needed=True)
    for package, module in SYNC_MODULES:
        yield _imported(probes, package, module, needed=False)


def check_rivals(probes: Probes, question: Question) -> Iterator[Finding]:
    """Packages that overwrite each other's files."""
    answer = probes.python(f"from importlib.metadata import distributions as d; print({_LIST_NAMES})")
    installed = set(answer.output.lower().split())
    for group in RIVALS:
        both = [name for name in group if name in installed]
        if len(both) > 1:
            mend = f"pip uninstall {' '.join(both)}, then install the one that you want"
            yield warning(group[0], f"{' and '.join(both)} overwrite each other's files", mend)


def import_answer(probes: Probes, module: str) -> Answer:
    """What a process says that imports a module and prints its version."""
    top = module.partition(".")[0]
    return probes.python(f"import {module}, {top}; print(getattr({top}, '__version__', ''))")


def import_trouble(answer: Answer, package: str) -> tuple[str, str]:
    """What went wrong with an import, and how to mend it."""
    if answer.killed_by is not None:
        mend = CRASHES.get(answer.killed_by, "install another version of it: the binary does not fit this machine")
        return f"importing it ends in {answer.killed_by}", mend
    if answer.code is None:
        return f"importing it does not end ({answer.errors})", "look for a full disk or a failing SD card: dmesg"
    last = next((line for line in reversed(answer.errors.splitlines()) if line.strip()), "no message").strip()
    for pattern, mend in HINTS:
        if re.search(pattern, answer.errors):
            return last, mend.format(package=package)
    return last, f"pip install --force-reinstall {package}"


_LIST_NAMES = "' '.join(x.metadata['Name'] or '' for x in d())"


def _imported(probes: Probes, package: str, module: str, *, needed: bool) -> Finding:
    answer = import_answer(probes, module)
    if answer.good:
        return ok(package, answer.output.strip() or "there")
    what, mend = import_trouble(answer, package)
    if needed:
        return fault(package, what, mend)
    if "No module named" in answer.errors:
        return ok(package, "not installed; only edgekit sync to SFTP, S3 or MQTT needs it: pip install edgekit[sync]")
    return warning(package, what, mend)
