"""A run with a slow stub in place of the model, as a process of its own: stub_run.py SOURCE --out RUN [--frames]."""

import sys
from pathlib import Path

from run_scene import MagentaSegmenter, job, silent

from edgekit.runtime.pipeline import run_job

if __name__ == "__main__":
    source, _, out, *frames = sys.argv[1:]
    work = job(Path(source), panorama=not frames)
    model = MagentaSegmenter(pause_s=0.0 if frames else 0.05, batch=2)
    run_job(work, Path(out), [model], progress=silent)
