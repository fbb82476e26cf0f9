"""Printed markers (QR codes, ArUco): they open and close rows, and one of known size gives the scale."""

from edgekit.runtime.markers.cutting import row_stretches
from edgekit.runtime.markers.detect import MarkerDetector, Sighting
from edgekit.runtime.markers.payload import RowMark, parse_payload
from edgekit.runtime.markers.row_marks import RowEvent, RowMarks
from edgekit.runtime.markers.settings import MarkerSettings

__all__ = [
    "MarkerDetector",
    "MarkerSettings",
    "RowEvent",
    "RowMark",
    "RowMarks",
    "Sighting",
    "parse_payload",
    "row_stretches",
]
