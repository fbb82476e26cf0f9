"""What to do about a camera that gives no frame, by what its process said."""

from __future__ import annotations

import re
from typing import NamedTuple


class Hint(NamedTuple):
    """What a person can do."""

    mend: str
    final: bool = False
    """True where trying again cannot help: the description or this machine has to change."""


_ELSE = Hint("check cable, power and address")
_HINTS = (
    (
        r'no element "nv|no such element "nv',
        Hint("NVIDIA's elements come with JetPack: kind csi works on a Jetson alone, v4l2 is for USB cameras", True),
    ),
    (
        r'no element "|no property "',
        Hint("look for it with gst-inspect-1.0; apt-get install gstreamer1.0-plugins-good (or -bad, -ugly)", True),
    ),
    (r"could not link \S*sink\d* to", Hint("leave the sink out of the pipeline: edgekit adds its own", True)),
    (
        r"erroneous pipeline|could not link",
        Hint("try the pipeline by hand: gst-launch-1.0 PIPELINE ! videoconvert ! fakesink", True),
    ),
    (
        r"/dev/\S* is not there|'/dev/|/dev/video",
        Hint("plug the camera in; ls -l /dev/v4l/by-path shows those that are"),
    ),
    (
        r"there is no video in",
        Hint("only sound or data comes from there: give the address of a stream of pictures", True),
    ),
    (r"No such file|Resource not found", Hint("look at the path of the file", True)),
    (r"401|403|[Uu]nauthori[sz]ed|[Ff]orbidden", Hint("look at user and password in the address")),
    (
        r"Permission denied|not permitted",
        Hint("let this user read it: sudo usermod -aG video $USER, then log in again"),
    ),
    (r"[Rr]esource busy", Hint("another program has the camera: end that one")),
    (r"Invalid data", Hint("what answers there is no video that FFmpeg knows: look at the address")),
    (
        r"refused|timed out|unreachable|No route|resolve|not known",
        Hint("look at the camera's power and network, and at host and port of the address"),
    ),
)
"""What is said -> what to do; the first that fits."""


def hint_for(words: str) -> Hint:
    """What to do, from the words of FFmpeg, GStreamer or the system; a cable where they tell nothing."""
    return next((hint for pattern, hint in _HINTS if re.search(pattern, words)), _ELSE)
