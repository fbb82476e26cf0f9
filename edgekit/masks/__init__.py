"""Masks as crops: geometry, COCO run-length encoding, and pasting of a graph's probability masks."""

from edgekit.masks.crop import EMPTY, bounds_xyxy, clip, intersection_area_px, iou, trim, union, window
from edgekit.masks.paste import crop_tile_mask, paste_box_mask, pasted_corners
from edgekit.masks.rle import CocoRle, decode, encode

__all__ = [
    "EMPTY",
    "CocoRle",
    "bounds_xyxy",
    "clip",
    "crop_tile_mask",
    "decode",
    "encode",
    "intersection_area_px",
    "iou",
    "paste_box_mask",
    "pasted_corners",
    "trim",
    "union",
    "window",
]
