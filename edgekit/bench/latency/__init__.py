"""Latency: raw samples, honest percentiles, stability with reasons, stages of the real pipeline, a roofline."""
