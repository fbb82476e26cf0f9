"""Accuracy: every figure from one pass over the overlaps of predictions and labels."""
