"""What something other than the pictures says of the movement: an encoder on a wheel."""

from __future__ import annotations

from typing import Protocol


class ExternalDisplacement(Protocol):
    """Tells how far the scene moved in the image between two times."""

    def expected_px(self, from_s: float, to_s: float) -> float | None:
        """Displacement to the right in the image between the times of two frames; None where nothing is known."""
        ...
