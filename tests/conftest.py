"""Fixtures and settings that all tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):  # a change is judged by the same examples each time; new ones are searched for elsewhere
    settings.load_profile("ci")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background of a shell; children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]


def find_shared() -> Path | None:
    """The development data: $EDGEKIT_SHARED, or the folder `shared` in or beside the checkout."""
    named = os.environ.get("EDGEKIT_SHARED")
    candidates = [Path(named)] if named else [ROOT / "shared", ROOT.parent / "shared"]
    return next((path for path in candidates if (path / "data").is_dir()), None)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Path of the development data (real pictures with labels, weights); skips where it is absent."""
    found = find_shared()
    if found is None:
        pytest.skip("the development data is not beside the checkout (set EDGEKIT_SHARED to its folder)")
    return found


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of the checkout."""
    return ROOT
