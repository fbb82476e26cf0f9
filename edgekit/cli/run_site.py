"""`edgekit run --site`: the live run of one trolley."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgekit.contracts import ModelInfo
    from edgekit.runtime.job import Job
    from edgekit.runtime.live.site import Site


def run_site(path: Path) -> None:
    """Count what the cameras of a site see, until stopped.

    Raises:
        EdgekitError: the site, its model or its disk cannot be used.
    """
    from edgekit.runtime.installed.named import named_model
    from edgekit.runtime.live.front import Front
    from edgekit.runtime.live.processor import share_processor
    from edgekit.runtime.live.service import Service
    from edgekit.runtime.live.signals import stopping
    from edgekit.runtime.live.site import read_site, ready_cameras
    from edgekit.runtime.models import opened_models
    from edgekit.runtime.watch.board import StatusBoard
    from edgekit.runtime.watch.logs import run_log
    from edgekit.runtime.watch.notify import Notifier
    from edgekit.runtime.watch.starting import starting_up
    from edgekit.segment import SegmenterSettings

    share_processor()
    site = read_site(path)
    cameras = ready_cameras(site)
    model = named_model(site.model)
    engine = SegmenterSettings(
        provider=site.provider, threads=site.threads, allow_cpu_fallback=site.allow_cpu_fallback, backend=site.backend
    )
    stop = threading.Event()
    board = StatusBoard(site.out.name, [(camera.name, camera.label) for camera in cameras])
    with ExitStack() as around:
        around.enter_context(stopping(stop))
        around.enter_context(run_log(site.log, run=lambda: board.run))
        started = around.enter_context(starting_up(Notifier()))
        front = around.enter_context(Front(site, board, stop))
        models = around.enter_context(opened_models(model, engine))
        started()
        job = _job(site, model.name, models[0].info)
        Service(site, cameras, job, models=models, front=front).serve()


def _job(site: Site, model_file: str, info: ModelInfo) -> Job:
    """What the site asks for; the threshold from the site file, the season, or the model."""
    import logging

    from edgekit.cli.threshold import ThresholdRequest, begun_plan, profile_folder, resolve_threshold
    from edgekit.runtime.installed.named import named_profile
    from edgekit.runtime.job import Job
    from edgekit.runtime.live.runs import run_folders

    last = run_folders(site.out)[-1:]
    begun = begun_plan(last[0]) if last and site.threshold is None and site.season is None else None
    wanted = ThresholdRequest(site.threshold, named_profile(site.season), False, profile_folder(site.profiles), begun)
    chosen = resolve_threshold(wanted, info)
    for warning in chosen.warnings:
        logging.getLogger("edgekit").warning("%s", warning)
    settings = site.run_settings().with_tile_size(info.tile_size_px)
    return Job((), model_file, settings, chosen.value, chosen.origin, chosen.season)
