"""Bench: MACs, latency, device and accuracy of one artifact, in one report."""
