"""Fixtures of the calibration tests."""

from __future__ import annotations

import pytest
from calibration_data import draw_session

from edgekit.calibration import Pairs


@pytest.fixture
def session() -> Pairs:
    return draw_session(11)
