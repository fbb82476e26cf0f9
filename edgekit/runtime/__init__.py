"""Frames to panorama to tiles to fruit."""
