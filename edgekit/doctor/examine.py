"""All checks, in the order of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from edgekit.doctor.board import (
    check_clock,
    check_clocks,
    check_disk,
    check_jetpack,
    check_memory,
    check_power_mode,
    check_temperature,
)
from edgekit.doctor.encoder import check_encoder
from edgekit.doctor.finding import Finding, fault
from edgekit.doctor.gpu import check_engines, check_gpu, check_providers, check_tensorrt
from edgekit.doctor.packages import check_packages, check_python, check_rivals
from edgekit.doctor.probes import Probes
from edgekit.doctor.question import Question
from edgekit.doctor.vision import check_cameras, check_gstreamer, check_opencv

Check = Callable[[Probes, Question], Iterator[Finding]]

CHECKS: tuple[tuple[str, Check], ...] = (
    ("python", check_python),
    ("packages", check_packages),
    ("rivals", check_rivals),
    ("opencv", check_opencv),
    ("gstreamer", check_gstreamer),
    ("jetpack", check_jetpack),
    ("gpu", check_gpu),
    ("tensorrt", check_tensorrt),
    ("providers", check_providers),
    ("engines", check_engines),
    ("power mode", check_power_mode),
    ("clocks", check_clocks),
    ("temperature", check_temperature),
    ("memory", check_memory),
    ("disk", check_disk),
    ("clock", check_clock),
    ("encoder", check_encoder),
    ("cameras", check_cameras),
)


def examine(probes: Probes, question: Question) -> Iterator[Finding]:
    """Every finding, as it is made; a check that the machine does not let look is one."""
    for name, check in CHECKS:
        yield from _guarded(name, check, probes, question)


def _guarded(name: str, check: Check, probes: Probes, question: Question) -> Iterator[Finding]:
    try:
        yield from check(probes, question)
    except OSError as error:
        yield fault(name, f"cannot be looked at: {error}", "look at the disk and at this user's rights")
