"""How the threads of a live run share Python's lock and the processor."""

from __future__ import annotations

import sys

import cv2

SWITCH_S = 0.0005
"""How long a thread may keep Python's lock from others. Panoramas let it go at every OpenCV call and want it back at
once; with Python's 5 ms they wait for the model's results at each of them."""


def share_processor() -> None:
    """Settings of the whole process, for one that reads several cameras.

    OpenCV works in the calling thread alone: there is one for each camera and each copy of the model, and its own
    threads would only wait for one another, spinning (python bench/live/two_streams.py).
    """
    cv2.setNumThreads(1)
    sys.setswitchinterval(SWITCH_S)
