"""Locking the exposure of a V4L2 camera: a row without steps of brightness, and no lower rate where it is dark.

Controls by their numbers (linux/v4l2-controls.h): their names have changed from kernel to kernel.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct

_SET_CONTROL = 0xC008561C
"""VIDIOC_S_CTRL, _IOWR('V', 28, struct v4l2_control); the driver writes back what it took."""
_EXPOSURE_AUTO, _MANUAL = 0x009A0901, 1
_EXPOSURE_ABSOLUTE, _STEP_US = 0x009A0902, 100
_AUTO_PRIORITY = 0x009A0903
"""1 lets the driver lower the frame rate for the exposure."""


def lock_exposure(device: str, exposure_us: int) -> int:
    """Set a manual exposure; return the microseconds that the driver took.

    Raises:
        OSError: the device has no such control.
    """
    handle = os.open(device, os.O_RDWR | os.O_NONBLOCK)
    try:
        _set(handle, _EXPOSURE_AUTO, _MANUAL)
        taken = _set(handle, _EXPOSURE_ABSOLUTE, max(1, round(exposure_us / _STEP_US)))
        with contextlib.suppress(OSError):  # many cameras do not have this one, and then never lower the rate
            _set(handle, _AUTO_PRIORITY, 0)
        return taken * _STEP_US
    finally:
        os.close(handle)


def _set(handle: int, control: int, value: int) -> int:
    answer = fcntl.ioctl(handle, _SET_CONTROL, struct.pack("=Ii", control, value))
    return int(struct.unpack("=Ii", answer)[1])
