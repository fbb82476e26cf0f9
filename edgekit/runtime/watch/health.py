"""Whether a run is well: what the stages reported, and what the cameras and the device show."""

from __future__ import annotations

from collections.abc import Iterable

from edgekit.runtime.watch.snapshot import CameraStatus, DeviceStatus, Level, Problem

_RANK: dict[Level, int] = {"ok": 0, "degraded": 1, "fault": 2}
HOT_C = 85.0
"""Degrees from which a board is called hot: Jetson Orin throttles its clocks from 99 C (software limit) on, most USB
and CSI cameras end at 70 to 85 C; there is time left to open the box."""


def health_of(
    cameras: Iterable[CameraStatus], reported: Iterable[Problem], device: DeviceStatus
) -> tuple[Level, tuple[Problem, ...]]:
    """The worst level, and all problems, the worst first."""
    problems = [*reported, *_cameras(tuple(cameras)), *_device(device)]
    problems.sort(key=lambda problem: -_RANK[problem.level])
    return (problems[0].level if problems else "ok"), tuple(problems)


def _cameras(cameras: tuple[CameraStatus, ...]) -> Iterable[Problem]:
    words = {"lost": "gives no frames", "frozen": "shows the same picture again and again", "off": "was given up"}
    down = [camera for camera in cameras if camera.state in words]
    level: Level = "fault" if down else "ok"
    for camera in down:
        why = f" ({camera.last_fault})" if camera.last_fault else ""
        yield Problem(level, f"the {camera.side} camera {camera.name} {words[camera.state]}{why}")


def _device(device: DeviceStatus) -> Iterable[Problem]:
    hot = {name: value for name, value in device.temperatures_c.items() if value >= HOT_C}
    if hot:
        name = max(hot, key=hot.__getitem__)
        yield Problem("degraded", f"{name} is at {hot[name]:.0f} C: give the box more air")
    if device.throttling:
        yield Problem("degraded", f"the device slows itself down: {', '.join(device.throttling)}")
