"""Segmenters: tiles in, objects out, whatever the model and the backend."""

from edgekit.segment.open import open_segmenter
from edgekit.segment.settings import SegmenterSettings

__all__ = ["SegmenterSettings", "open_segmenter"]
