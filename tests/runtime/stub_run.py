"""A run with a slow stub in place of the model, as a process of its own: stub_run.py PICTURE --out RUN."""

import sys
from pathlib import Path

from run_scene import MagentaSegmenter, job, silent

from edgekit.runtime.pipeline import run_job

if __name__ == "__main__":
    picture, _, out = sys.argv[1:]
    run_job(job(Path(picture)), Path(out), [MagentaSegmenter(pause_s=0.05, batch=2)], progress=silent)
