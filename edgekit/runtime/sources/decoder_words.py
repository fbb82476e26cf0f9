"""What libjpeg and libpng say of damage in a picture: on standard error alone, without the name of its file.

So standard error is looked at while a picture is decoded. What others write meanwhile is passed on.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import IO

_STDERR = 2
_WORDS = re.compile(
    rb"Corrupt JPEG data: [^\n]*\n|Invalid [^\n]*JPEG[^\n]*\n|Premature end of JPEG file\n|libpng [^\n]*\n"
)
"""Warnings of libjpeg (jerror.h), warnings and errors of libpng."""
_PADDING = re.compile(rb"(\d+) extraneous bytes before marker 0xd9")
_PADDING_BYTES = 64
"""Cameras pad the end of a picture; more bytes than this are what the decoder could not place."""

_one_at_a_time = threading.Lock()


@cache
def _heard() -> IO[bytes]:
    """Where standard error goes meanwhile; open as long as the process lasts."""
    return tempfile.TemporaryFile(buffering=0)


@contextmanager
def decoder_words() -> Iterator[list[str]]:
    """Gather what is said of damage in pictures that are decoded in the block; complete when it has ended."""
    damage: list[str] = []
    with _one_at_a_time:
        heard, before = _heard(), os.dup(_STDERR)
        os.dup2(heard.fileno(), _STDERR)
        try:
            yield damage
        finally:
            os.dup2(before, _STDERR)
            os.close(before)
            damage += _sorted_out(heard)


def _sorted_out(heard: IO[bytes]) -> list[str]:
    """Warnings of damage; everything else goes where it was meant to go."""
    if not heard.seek(0, os.SEEK_END):
        return []
    heard.seek(0)
    said = heard.read()
    heard.seek(0)
    heard.truncate()
    others = _WORDS.sub(b"", said)
    if others:
        sys.stderr.write(others.decode(errors="replace"))
    return [line.decode(errors="replace").strip() for line in _WORDS.findall(said) if not _is_harmless(line)]


def _is_harmless(line: bytes) -> bool:
    """Padding, and what libpng calls a warning: odd colour profiles and the like."""
    match = _PADDING.search(line)
    return line.startswith(b"libpng warning") or (match is not None and int(match[1]) < _PADDING_BYTES)
