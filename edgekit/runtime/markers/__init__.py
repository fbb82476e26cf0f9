"""Printed markers (QR codes, ArUco): they open and close rows, and one of known size gives the scale."""

from edgekit.runtime.markers.payload import RowMark, parse_payload
from edgekit.runtime.markers.settings import MarkerSettings

__all__ = ["MarkerSettings", "RowMark", "parse_payload"]
