"""The quality report as a picture: displacement and confidence of every frame."""

from __future__ import annotations

import csv
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from edgekit.atomic import atomic_path
from edgekit.errors import MissingDependencyError
from edgekit.runtime.panorama.folder import OFFSETS_NAME

_COLOURS = {"placed": "tab:green", "bridged": "tab:red", "stopped": "tab:blue", "reversed": "tab:purple"}


def check_plot() -> None:
    """Say at once, not after the work, that a plot cannot be made.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise MissingDependencyError("a plot needs matplotlib", mend="pip install 'edgekit[bench]'")


def write_plot(folder: Path, target: Path) -> None:
    """Plot offsets.csv of a folder of `panorama build`.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        StorageError: the disk is full, read-only or failing.
    """
    check_plot()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with (folder / OFFSETS_NAME).open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["x_px"]]
    frames = [int(row["frame"]) for row in rows]
    x_px = [float(row["x_px"]) for row in rows]
    moved_px = [0.0, *(after - before for before, after in pairwise(x_px))]
    figure = Figure(figsize=(12, 7), layout="constrained")
    FigureCanvasAgg(figure)
    above, middle, below = figure.subplots(3, 1, sharex=True)
    for status, colour in _COLOURS.items():
        chosen = [number for number, row in enumerate(rows) if row["status"] == status]
        above.plot([frames[i] for i in chosen], [moved_px[i] for i in chosen], ".", color=colour, label=status)
    above.set_ylabel("displacement (px a frame)")
    above.legend(loc="best")
    middle.plot(frames, [float(row["confidence"]) for row in rows], ".", color="tab:gray")
    middle.set(ylabel="confidence", ylim=(0, 1.05))
    below.plot(frames, [float(row["y_px"]) for row in rows], "-", color="tab:gray")
    below.set(ylabel="vertical position (px)", xlabel="frame")
    with atomic_path(target) as temporary:
        figure.savefig(temporary, dpi=110)
