"""Cutting a panorama into tiles, and merging what the tiles saw into fruit that are counted once."""

from edgekit.tiles.cutter import TileCutter
from edgekit.tiles.extra_tiles import second_look
from edgekit.tiles.merging import Merged, merge
from edgekit.tiles.plan import cut_tile, plan_tiles
from edgekit.tiles.settings import MergeSettings, TileSettings

__all__ = ["MergeSettings", "Merged", "TileCutter", "TileSettings", "cut_tile", "merge", "plan_tiles", "second_look"]
