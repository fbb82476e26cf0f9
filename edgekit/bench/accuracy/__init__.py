"""Accuracy: every figure from one pass over the overlaps of predictions and labels."""

from edgekit.bench.accuracy.evaluate import (
    AccuracySettings,
    CoreAccuracy,
    FurtherAccuracy,
    evaluate,
    evaluate_further,
    resample,
)
from edgekit.bench.accuracy.objects import Predictions, Truth, predictions_from_instances, truth_from_labels
from edgekit.bench.accuracy.results_file import read_results

__all__ = [
    "AccuracySettings",
    "CoreAccuracy",
    "FurtherAccuracy",
    "Predictions",
    "Truth",
    "evaluate",
    "evaluate_further",
    "predictions_from_instances",
    "read_results",
    "resample",
    "truth_from_labels",
]
