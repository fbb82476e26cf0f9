"""Fixtures of the calibration tests."""

from __future__ import annotations

import pytest
from calibration_data import draw_session
from hypothesis import settings

from edgekit.calibration import Pairs

settings.register_profile("busy machine", deadline=None)  # the time of one example says nothing on a loaded machine
settings.load_profile("busy machine")


@pytest.fixture
def session() -> Pairs:
    return draw_session(11)
