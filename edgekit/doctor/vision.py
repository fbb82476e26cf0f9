"""OpenCV, GStreamer and the cameras."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from edgekit.doctor.finding import Finding, fault, ok, unchecked, warning
from edgekit.doctor.probes import Probes
from edgekit.doctor.question import Question
from edgekit.runtime.sources import CameraDescription
from edgekit.runtime.sources.description import is_file_address

_ASK_OPENCV = "import cv2; print(cv2.__file__); print(cv2.__version__); print(cv2.getBuildInformation())"
_GSTREAMER = re.compile(r"GStreamer:\s*(\S+)(?:\s*\(([\d.]+)\))?")
ELEMENTS = {
    "csi": ("nvarguscamerasrc", "apt-get install nvidia-l4t-gstreamer"),
    "gstreamer": ("fdsink", "apt-get install gstreamer1.0-plugins-base"),
}
"""Kind of camera -> GStreamer element that it needs, and what brings it."""
RTSP_PORT = 554
OPEN_IT = "edgekit camera check CAMERA.toml opens it"


def check_opencv(probes: Probes, question: Question) -> Iterator[Finding]:
    """Which file is imported, and what it was built with."""
    answer = probes.python(_ASK_OPENCV)
    lines = answer.output.splitlines()
    if not answer.good or len(lines) < 3:
        return  # that it cannot be imported was told among the packages
    found = _GSTREAMER.search(answer.output)
    gstreamer = "unknown" if found is None else found[1] + (f" ({found[2]})" if found[2] else "")
    told = f"{lines[1]} from {lines[0]}, GStreamer: {gstreamer}"
    if found is None or found[1] == "NO":
        told += " (edgekit does not need it: it reads cameras through gst-launch-1.0)"
    yield ok("OpenCV build", told)


def check_gstreamer(probes: Probes, question: Question) -> Iterator[Finding]:
    """The program that cameras are read through, and the elements that this site's cameras need."""
    wanted = sorted({camera.kind for _, camera in question.cameras} & ELEMENTS.keys())
    answer = probes.command(["gst-launch-1.0", "--version"])
    mend = "apt-get install gstreamer1.0-tools gstreamer1.0-plugins-good"
    if not answer.good:
        state = fault if wanted else warning
        yield state("GStreamer", "gst-launch-1.0 is not there: cameras of kind csi and gstreamer cannot be read", mend)
        return
    yield ok("GStreamer", answer.output.splitlines()[0].strip() if answer.output else "there")
    for kind in wanted:
        element, brings = ELEMENTS[kind]
        if not probes.command(["gst-inspect-1.0", "--exists", element]).good:
            yield fault("GStreamer", f"the element {element} is missing, which {kind} cameras need", brings)


def check_cameras(probes: Probes, question: Question) -> Iterator[Finding]:
    """What is plugged in, and whether each camera of the site can be reached."""
    devices = probes.paths("dev/video*")
    names = {path.name: probes.text(f"sys/class/video4linux/{path.name}/name") or "unnamed" for path in devices}
    for path in devices:
        if not probes.may_read(path):
            mend = "sudo usermod -aG video $USER, then log in again"
            yield fault("cameras", f"/dev/{path.name} ({names[path.name]}) may not be read by this user", mend)
    if not question.cameras:
        told = ", ".join(f"/dev/{name} ({what})" for name, what in names.items())
        yield ok("cameras", f"found {told}" if told else "no USB or CSI camera is plugged in; none is asked for")
    for name, camera in question.cameras:
        yield _reached(probes, name, camera)


def _reached(probes: Probes, name: str, camera: CameraDescription) -> Finding:
    subject = f"camera {name}"
    if camera.kind == "v4l2":
        return _device(probes, subject, camera.address)
    if camera.kind == "csi":
        if probes.command(["systemctl", "is-active", "nvargus-daemon"]).good:
            return ok(subject, f"sensor {camera.address} through nvargus-daemon, which runs")
        return fault(subject, "nvargus-daemon does not run", "sudo systemctl restart nvargus-daemon")
    if camera.kind in ("rtsp", "stream") and "://" in camera.address:
        return _host(probes, subject, camera.address)
    if is_file_address(camera):
        if Path(camera.address).exists():
            return ok(subject, f"{camera.address} is there")
        return fault(subject, f"{camera.address} is not there", "a relative path starts at the camera's file")
    elements = _elements(camera.pipeline)
    if elements and elements[-1].endswith("sink"):
        return fault(subject, f"its pipeline has a sink, {elements[-1]}", "leave it out: edgekit adds its own")
    missing = [name for name in elements if _lacks(probes, name)]
    if missing:
        mend = "apt-get install gstreamer1.0-plugins-good (or -bad, -ugly), or mend the pipeline"
        return fault(subject, f"GStreamer has no element {', '.join(missing)}", mend)
    return unchecked(subject, f"{camera.kind}: told only by opening it", OPEN_IT)


def _elements(pipeline: str) -> list[str]:
    """Names of the elements of a pipeline; caps (video/x-raw, ...) and pads (t.) are none."""
    words = [part.split()[0] for part in pipeline.split("!") if part.strip()]
    return [word for word in dict.fromkeys(words) if re.fullmatch(r"[a-z][a-z0-9_-]*", word)]


def _lacks(probes: Probes, element: str) -> bool:
    """True where GStreamer says that it has no such element; False where nobody can tell."""
    answer = probes.command(["gst-inspect-1.0", "--exists", element])
    return answer.code not in (None, 0)


def _device(probes: Probes, subject: str, address: str) -> Finding:
    path = address if address.startswith("/") else f"/dev/video{address}"
    device = probes.root / path.lstrip("/")
    if not device.exists() and not device.is_symlink():
        return fault(subject, f"{path} is not there", "plug the camera in; udevadm monitor shows whether it is seen")
    if re.fullmatch(r"/dev/video\d+", path):
        mend = "use a name that stays: /dev/edgekit/... (deploy/udev) or /dev/v4l/by-path/..."
        return warning(subject, f"{path} may be another camera after the next start", mend)
    return ok(subject, f"{path} is {Path(path).name}" if not device.is_symlink() else f"{path} -> {device.readlink()}")


def _host(probes: Probes, subject: str, address: str) -> Finding:
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or RTSP_PORT
    if probes.answers(host, port):
        return ok(subject, f"{host}:{port} answers")
    mend = "look at its power and cable, and at the address in the site file"
    return fault(subject, f"{host}:{port} does not answer", mend)
