"""The board: JetPack, power mode, clocks, temperature, memory, clock battery, disk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from edgekit.device.jetson import parse_nvpmodel, read_temperatures_c, read_throttling
from edgekit.doctor.finding import Finding, fault, ok, warning
from edgekit.doctor.probes import Probes
from edgekit.doctor.question import Question

LOW_POWER_W = 10
"""Power modes up to here halve the clocks of an Orin, so that a model takes about twice as long."""
WARM_C, HOT_C = 85.0, 95.0
"""An Orin slows itself down from 99 C on and switches off at 105 C (NVIDIA's thermal design guide)."""
LITTLE_FREE_GB, NO_FREE_GB = 10.0, 2.0
"""A night of two cameras takes a few GB; below two, the runtime's own reserve, pictures are not kept."""
LEAST_MEMORY_MB = 3000
"""The runtime with two cameras, the default model and the system fit into so much."""
CLOCK_SLACK_S = 120.0
EARLIEST_CLOCK = datetime(2025, 1, 1, tzinfo=timezone.utc).timestamp()
"""edgekit did not exist before."""


def check_jetpack(probes: Probes, question: Question) -> Iterator[Finding]:
    """Its release."""
    here = probes.environment()
    if not here.is_jetson:
        yield ok("JetPack", f"not a Jetson ({here.board or here.processor})")
    elif here.jetpack is None:
        told = f"{here.board}: release {here.l4t or 'unknown'}"
        yield warning("JetPack", told, "edgekit was made for JetPack 6 and 7: look at /etc/nv_tegra_release")
    elif here.jetpack < 6:
        mend = "install JetPack 6 or 7: older ones have Python 3.8 and TensorRT 8"
        yield fault("JetPack", f"{here.jetpack} (L4T {here.l4t}) is too old", mend)
    else:
        yield ok("JetPack", f"{here.jetpack} (L4T {here.l4t}), {here.board}")


def check_power_mode(probes: Probes, question: Question) -> Iterator[Finding]:
    """The mode of nvpmodel."""
    if not probes.environment().is_jetson:
        return
    mode = parse_nvpmodel(probes.command(["nvpmodel", "-q"]).output)
    if mode is None:
        yield warning(
            "power mode",
            "nvpmodel does not tell it",
            "apt-get install nvidia-l4t-nvpmodel; in a container, ask outside",
        )
        return
    watts = re.fullmatch(r"(\d+)W.*", mode)
    if watts and int(watts[1]) <= LOW_POWER_W:
        yield warning("power mode", f"{mode}: models run slowly", "sudo nvpmodel -m 0, where battery and fan allow it")
    else:
        yield ok("power mode", mode)


def check_clocks(probes: Probes, question: Question) -> Iterator[Finding]:
    """Whether something holds the clocks down."""
    governors = {probes.text(str(path.relative_to(probes.root))) or "" for path in probes.paths(_GOVERNORS)}
    if "powersave" in governors:
        mend = "sudo cpupower frequency-set -g schedutil; on a Jetson, sudo jetson_clocks"
        yield warning("clocks", "the processor is kept at its lowest clock (governor powersave)", mend)
    elif governors:
        yield ok("clocks", f"governor {', '.join(sorted(governors))}")
    reasons = read_throttling(probes.root)
    if reasons:
        mend = "look at fan, housing and power supply; lower the power mode"
        yield warning("clocks", f"the board was slowed down since it started: {', '.join(reasons)}", mend)


def check_temperature(probes: Probes, question: Question) -> Iterator[Finding]:
    """The hottest zone."""
    zones = read_temperatures_c(probes.root)
    if not zones:
        return
    name, degrees = max(zones.items(), key=lambda item: item[1])
    told = f"{degrees:.0f} C at {name}"
    mend = "look at fan and housing; lower the power mode"
    yield (
        ok("temperature", told)
        if degrees < WARM_C
        else (warning if degrees < HOT_C else fault)("temperature", told, mend)
    )


def check_memory(probes: Probes, question: Question) -> Iterator[Finding]:
    """Memory of the machine."""
    memory_mb = probes.environment().memory_mb
    if memory_mb < LEAST_MEMORY_MB:
        mend = (
            "one camera, or a smaller model; on a Jetson, switch off the desktop: sudo systemctl set-default multi-user"
        )
        yield warning("memory", f"{memory_mb:.0f} MiB", mend)
    else:
        yield ok("memory", f"{memory_mb:.0f} MiB")


def check_disk(probes: Probes, question: Question) -> Iterator[Finding]:
    """Where the runs go: is there room, and may this user write?"""
    folder = _first_that_exists(question.out)
    if not probes.may_write(folder):
        yield fault("disk", f"{folder} may not be written", "give it to this user (chown), or mount it for writing")
        return
    free_gb = probes.free_bytes(folder) / 1e9
    told = f"{free_gb:.1f} GB free at {folder}"
    mend = "edgekit sync --all TARGET, then delete old runs; or use a larger disk"
    if free_gb < NO_FREE_GB:
        yield fault("disk", f"{told}: pictures will not be kept", mend)
    elif free_gb < LITTLE_FREE_GB:
        yield warning("disk", told, mend)
    else:
        yield ok("disk", told)


def check_clock(probes: Probes, question: Question) -> Iterator[Finding]:
    """Does the time outlive a power cut? Durations do not depend on it, the names and dates of runs do."""
    now_s = probes.wall_s()
    told = datetime.fromtimestamp(now_s, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    set_it = "connect a network once (NTP), or: sudo date -s ...; sudo hwclock -w"
    if now_s < EARLIEST_CLOCK:
        yield fault("clock", f"it says {told}", set_it)
        return
    readings = [
        probes.text(str(path.relative_to(probes.root))) for path in probes.paths("sys/class/rtc/rtc*/since_epoch")
    ]
    clocks = [float(text) for text in readings if text and text.isdigit()]
    if not clocks:
        mend = "after a power cut the date is wrong until a network is there; add a clock module"
        yield warning("clock", f"{told}; no battery clock answers", mend)
    elif min(abs(clock - now_s) for clock in clocks) > CLOCK_SLACK_S:
        shown = datetime.fromtimestamp(max(clocks), timezone.utc).strftime("%Y-%m-%d %H:%M")
        mend = f"put in or charge the clock's battery, then: sudo hwclock -w ({set_it})"
        yield warning("clock", f"{told}, but the battery clock says {shown}", mend)
    else:
        yield ok("clock", f"{told}, the battery clock agrees")


_GOVERNORS = "sys/devices/system/cpu/cpufreq/policy*/scaling_governor"


def _first_that_exists(folder: Path) -> Path:
    place = folder.resolve()
    while not place.exists():
        place = place.parent
    return place
