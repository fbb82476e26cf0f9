"""Merging: each fruit once, whatever the grid."""

from tile_scene import disc, instances_of, see

from edgekit.tiles import MergeSettings, TileSettings, merge, plan_tiles

SETTINGS = MergeSettings()


def merge_scene(scene, size_wh, tiles, phase_px=(0, 0)):
    specs = plan_tiles(size_wh, tiles, phase_px=phase_px)
    return merge(specs, [see(scene, spec) for spec in specs], size_wh, SETTINGS)


def test_a_few_discs():
    scene = instances_of([disc(500, 200, 20), disc(510, 260, 20), disc(430, 100, 20)])
    merged = merge_scene(scene, (1000, 512), TileSettings(512, 96))
    assert len(merged) == 3
