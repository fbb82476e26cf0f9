"""Counting while the trolley rides: cameras to panoramas on the disk, tiles from the disk to fruit, until stopped."""
