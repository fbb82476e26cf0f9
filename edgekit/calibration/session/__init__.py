"""A field session: tiles of a run with their predictions, labels by a person, and the pairs that both give."""

from edgekit.calibration.session.gather import GatheredPairs, gather_pairs
from edgekit.calibration.session.manifest import Session, read_session
from edgekit.calibration.session.prelabels import corrected_labels
from edgekit.calibration.session.run_tiles import read_run_tiles
from edgekit.calibration.session.sample import SampleRequest, sample_run

__all__ = [
    "GatheredPairs",
    "SampleRequest",
    "Session",
    "corrected_labels",
    "gather_pairs",
    "read_run_tiles",
    "read_session",
    "sample_run",
]
