"""What a machine with an NVIDIA GPU, TensorRT and pycuda runs: pytest -m gpu tests/gpu.

The engine is built here, of the weights of the fruit model that comes along.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import shutil
import subprocess
import sys

import numpy as np
import pytest
from gpu.checks import (
    copies_overlap,
    every_thread_gets_its_own,
    memory_is_steady,
    refused_elsewhere,
    same_results,
)

from edgekit.segment import SegmenterSettings, open_segmenter
from edgekit.segment.engine_file import read_engine, read_sidecar, write_sidecar
from edgekit.segment.smoke import smoke_tile

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("tensorrt", "pycuda", "torch", "ultralytics")),
        reason="needs the extras tensorrt and export",
    ),
]


def has_gpu() -> bool:
    from edgekit.errors import EdgekitError
    from edgekit.segment.tensorrt.modules import load_modules

    try:
        load_modules()
    except EdgekitError:
        return False
    return True


@pytest.fixture(scope="module")
def engine(tmp_path_factory, repository):
    """The default model's engine, its graph for TensorRT beside it."""
    if not has_gpu():
        pytest.skip("no NVIDIA GPU here")
    folder = tmp_path_factory.mktemp("engine")
    weights = repository / "export/fruit/fruit-yolo11n-seg.pt"
    command = [
        "export",
        "yolo11",
        "--weights",
        weights,
        "--licence",
        "AGPL-3.0",
        "--threshold",
        "0.43",
        "--out",
        folder,
    ]
    subprocess.run([sys.executable, "-m", "edgekit", *map(str, command), "--format", "engine", "--quiet"], check=True)
    return next(folder.glob("*.engine"))


@pytest.fixture(scope="module")
def tiles():
    """Discs before green and the same turned and mirrored, and black."""
    tile = smoke_tile(512)
    return np.stack([tile, tile[::-1], tile[:, ::-1], np.zeros_like(tile), tile.transpose(1, 0, 2)])


@pytest.fixture
def segmenter(engine):
    opened = open_segmenter(engine)
    yield opened
    opened.close()


@pytest.fixture
def session(engine):
    """A session of this thread, whose events keep their time."""
    from edgekit.segment.tensorrt.modules import load_modules
    from edgekit.segment.tensorrt.session import BLOCKING_SYNC, EngineSession

    info = read_sidecar(engine).info
    made = EngineSession(read_engine(engine).plan, load_modules(), info, name=engine.name, event_flags=BLOCKING_SYNC)
    yield made
    made.close()


def test_results_are_those_of_onnx_runtime(engine, segmenter, tiles):
    reference = open_segmenter(engine.with_suffix(".onnx"))
    # TensorRT computes convolutions in TF32 on Ampere and later: 10 bits of mantissa
    same_results(reference.segment(tiles), segmenter.segment(tiles), score_margin=5e-3)


def test_a_recorded_inference_gives_what_a_plain_one_gives(engine, segmenter, tiles):
    plain = open_segmenter(engine, settings=SegmenterSettings(cuda_graph=False))
    try:
        assert "switched off" in plain.provider.reason
        same_results(plain.segment(tiles), segmenter.segment(tiles), score_margin=1e-3)
    finally:
        plain.close()


def test_the_inference_is_recorded_as_a_cuda_graph(segmenter):
    assert "recorded as a CUDA graph" in segmenter.provider.reason


@pytest.mark.slow
def test_memory_does_not_grow_over_ten_thousand_batches(segmenter, tiles):
    import psutil
    import pycuda.driver as cuda

    context = cuda.Device(0).retain_primary_context()
    context.push()

    def measure():
        free, total = cuda.mem_get_info()
        return {"device": (total - free) / 2**20, "host": psutil.Process().memory_info().rss / 2**20}

    try:
        memory_is_steady(segmenter, tiles, batches=10_000, measure=measure)
    finally:
        context.pop()


def test_copies_run_beside_kernels(session):
    assert copies_overlap(session, rounds=50) > 0.8


def test_any_thread_may_call(segmenter, tiles):
    every_thread_gets_its_own(segmenter, tiles, threads=4, rounds=20)


def test_a_session_refuses_other_threads(session):
    from edgekit.errors import EngineError
    from edgekit.segment.tensorrt.modules import load_modules

    refused_elsewhere(session, (load_modules().cuda.Error, EngineError))
    session.enqueue(0)  # and is none the worse for it
    session.wait(0)


def test_an_engine_for_another_gpu_is_refused(engine, tmp_path):
    from dataclasses import replace

    from edgekit.errors import EngineError

    copy = tmp_path / engine.name
    shutil.copy(engine, copy)
    sidecar = read_sidecar(engine)
    write_sidecar(copy, replace(sidecar, device=replace(sidecar.device, gpu_name="another")))
    with pytest.raises(EngineError, match="gpu_name"):
        open_segmenter(copy)


@pytest.mark.parametrize(
    ("ending", "code"), [("pass", 0), ("raise SystemExit(3)", 3), ("raise ValueError('a bug')", 1)]
)
def test_a_process_ends_with_its_own_code_whatever_ends_it(engine, ending, code):
    """pycuda aborts (134) a process whose context stack is not empty at its end."""
    program = (
        "import numpy as np\nfrom edgekit.segment import open_segmenter\n"
        f"s = open_segmenter({str(engine)!r})\ns.segment(np.zeros((1, 512, 512, 3), np.uint8))\n{ending}\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    assert "PyCUDA ERROR" not in done.stderr


def test_importing_edgekit_takes_no_gpu_memory():
    program = (
        "import edgekit.segment.tensorrt.segmenter, edgekit.cli.main, sys\n"
        "sys.exit('tensorrt' in sys.modules or 'pycuda' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], env=os.environ).returncode == 0
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1 << 20
