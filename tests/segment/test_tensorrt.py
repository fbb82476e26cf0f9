"""The TensorRT backend on a fake GPU that fails the way a real one does."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gpu.checks import (
    copies_overlap,
    every_thread_gets_its_own,
    memory_is_steady,
    refused_elsewhere,
    same_results,
)
from segment.fake_cuda import FakeGpu
from segment.fakes import fake_engine, install
from segment.graphs import INFO, echo_graph, tiles_with_counts, with_batch

from edgekit.contracts import Segmenter
from edgekit.device import nvidia_driver
from edgekit.errors import ContractError, EngineError, MissingDependencyError, ModelError, ProviderError
from edgekit.segment import SegmenterSettings, open_segmenter
from edgekit.segment.engine_file import read_engine, read_sidecar, sidecar_path, write_sidecar
from edgekit.segment.tensorrt import session as session_module
from edgekit.segment.tensorrt.bindings import Binding
from edgekit.segment.tensorrt.cuda_graph import CaptureError
from edgekit.segment.tensorrt.device import jetpack_release
from edgekit.segment.tensorrt.log import shortened
from edgekit.segment.tensorrt.modules import load_cuda, load_modules, load_tensorrt
from edgekit.segment.tensorrt.session import BLOCKING_SYNC, EngineSession


@pytest.fixture
def gpu(monkeypatch):
    gpu = FakeGpu()
    install(monkeypatch, gpu)
    yield gpu
    assert not any(gpu.stacks.values()), "a thread ended with a context on its stack: pycuda would abort"


@pytest.fixture
def segmenter(gpu, tmp_path):
    opened = open_segmenter(fake_engine(tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def session(gpu, tmp_path):
    engine = fake_engine(tmp_path)
    made = EngineSession(read_engine(engine).plan, load_modules(), INFO, name="m.engine", event_flags=BLOCKING_SYNC)
    yield made
    made.close()


def counts(results):
    return [len(result.instances) for result in results]


def test_an_engine_keeps_the_protocol(segmenter):
    assert isinstance(segmenter, Segmenter)
    assert segmenter.info == INFO
    assert segmenter.provider.requested == "tensorrt"
    assert segmenter.provider.effective == "TensorRT 10.3.0"
    assert segmenter.provider.reason == "built for Orin, fp32; inference recorded as a CUDA graph"


@pytest.mark.parametrize("batch", [1, 2, 3, 4])
@pytest.mark.parametrize("wanted", [(), (3,), (3, 0), (0, 2, 5, 1, 4), (1, 2, 3, 4, 5, 4, 3, 2, 1, 0, 7)])
@pytest.mark.parametrize("cuda_graph", [True, False])
def test_results_are_those_of_onnx_runtime(gpu, tmp_path, batch, wanted, cuda_graph):
    engine = fake_engine(tmp_path, with_batch(batch))
    tiles = tiles_with_counts(*wanted)
    segmenter = open_segmenter(engine, settings=SegmenterSettings(cuda_graph=cuda_graph))
    same_results(open_segmenter(engine.with_suffix(".onnx")).segment(tiles), segmenter.segment(tiles), score_margin=0)
    segmenter.close()


@pytest.mark.parametrize("version", ["8.6.1", "10.3.0", "11.0.0"])
def test_every_generation_runs(monkeypatch, tmp_path, version):
    install(monkeypatch, FakeGpu(), version)
    segmenter = open_segmenter(fake_engine(tmp_path, version=version))
    assert counts(segmenter.segment(tiles_with_counts(2, 0, 1))) == [2, 0, 1]
    segmenter.close()


def test_a_tensorrt_without_names_is_refused(monkeypatch, tmp_path):
    install(monkeypatch, FakeGpu(), "8.4.3")
    with pytest.raises(EngineError, match=r"8\.4\.3 is too old"):
        open_segmenter(fake_engine(tmp_path, version="8.4.3"))


def test_nothing_is_made_in_the_steady_state(gpu, segmenter):
    made = gpu.made.copy()
    growth = memory_is_steady(
        segmenter,
        tiles_with_counts(0, 5, 2),
        batches=1500,
        measure=lambda: {"device": sum(map(len, gpu.memory.values())) / 2**20, "things": float(gpu.made.total())},
    )
    assert growth == {"device": 0, "things": 0}
    assert gpu.made == made
    assert gpu.pageable_copies == 0


def test_copies_run_beside_kernels(gpu, session):
    assert copies_overlap(session, rounds=10) == 1.0


def test_two_callers_keep_the_gpu_busy(gpu, segmenter):
    tiles = tiles_with_counts(*[1] * 40)
    gpu.trace.clear()
    segmenter.segment(tiles)
    kernels = [(start, end) for name, start, end in gpu.trace if name == "kernels"]
    assert len(kernels) == 20
    idle_ms = sum(after[0] - before[1] for before, after in itertools.pairwise(kernels))
    assert idle_ms < 0.1 * sum(end - start for start, end in kernels)


def test_any_thread_may_call(segmenter):
    every_thread_gets_its_own(segmenter, tiles_with_counts(0, 5, 2, 1, 4), threads=6, rounds=20)


def test_a_session_refuses_other_threads(session):
    fault = refused_elsewhere(session, load_modules().cuda.Error)
    assert "invalid device context" in str(fault)


def test_nothing_is_left_after_closing(gpu, tmp_path):
    segmenter = open_segmenter(fake_engine(tmp_path))
    segmenter.segment(tiles_with_counts(1, 2, 3))
    segmenter.close()
    segmenter.close()
    assert not gpu.memory
    assert +gpu.alive == {"execution context": 2}  # the fake does not notice that these are gone
    with pytest.raises(ModelError, match="closed"):
        segmenter.segment(tiles_with_counts(1))


def test_closing_waits_for_those_who_are_at_work(gpu, tmp_path):
    segmenter = open_segmenter(fake_engine(tmp_path))
    answers: list[object] = []

    def work():
        try:
            while True:
                answers.append(counts(segmenter.segment(tiles_with_counts(1, 2, 3))))
        except ModelError as error:
            answers.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(answers) < 10:
        pass
    segmenter.close()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert [answer for answer in answers if not isinstance(answer, ModelError)] == [[1, 2, 3]] * (len(answers) - 3)


def test_an_engine_that_cannot_be_recorded_runs_without(gpu, tmp_path):
    segmenter = open_segmenter(fake_engine(tmp_path, uncapturable=True))
    assert "no CUDA graph: the engine cannot be recorded (CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)" in (
        segmenter.provider.reason
    )
    assert counts(segmenter.segment(tiles_with_counts(4, 1))) == [4, 1]
    assert not gpu.graphs
    segmenter.close()


def test_a_driver_that_cannot_record_is_told(gpu, tmp_path, monkeypatch):
    def fail():
        raise CaptureError("libcuda.so.1 cannot be loaded")

    monkeypatch.setattr(session_module, "load_driver", fail)
    segmenter = open_segmenter(fake_engine(tmp_path))
    assert segmenter.provider.reason.endswith("no CUDA graph: libcuda.so.1 cannot be loaded")
    assert counts(segmenter.segment(tiles_with_counts(4, 1))) == [4, 1]
    segmenter.close()


def test_an_engine_that_fails_later_fails_every_caller_once_and_for_all(gpu, tmp_path):
    engine = fake_engine(tmp_path, fail_after=6)
    segmenter = open_segmenter(engine, settings=SegmenterSettings(cuda_graph=False))
    with pytest.raises(ModelError, match="unspecified launch failure"):
        segmenter.segment(tiles_with_counts(*[1] * 40))
    with pytest.raises(ModelError, match="unspecified launch failure"):
        segmenter.segment(tiles_with_counts(1))
    segmenter.close()
    assert not gpu.memory


def test_a_gpu_that_breaks_is_one_line(gpu, segmenter):
    gpu.fail()
    with pytest.raises(ModelError, match="illegal memory access"):
        segmenter.segment(tiles_with_counts(1))


def test_buffers_hold_no_more_than_was_copied_there(gpu, tmp_path, monkeypatch):
    """Were a buffer made too small, the copy would break the GPU; the fake sees it."""
    monkeypatch.setattr(Binding, "size_bytes", property(lambda self: 64))
    with pytest.raises(EngineError, match="bytes on the host"):
        open_segmenter(fake_engine(tmp_path))
    assert not gpu.memory


@pytest.mark.parametrize(("shape", "size_bytes"), [((0, 4), 1), ((100, 4), 1600), ((), 4)])
def test_a_binding_takes_at_least_a_byte(shape, size_bytes):
    assert Binding("boxes", False, np.dtype(np.float32), shape).size_bytes == size_bytes


def test_sizes_that_an_engine_leaves_open_are_settled(gpu, tmp_path):
    segmenter = open_segmenter(fake_engine(tmp_path, open_inputs=True))
    assert counts(segmenter.segment(tiles_with_counts(4, 1, 0))) == [4, 1, 0]
    segmenter.close()


@pytest.mark.parametrize(
    ("traits", "kind", "told"),
    [
        ({"open_outputs": ["boxes"]}, EngineError, "boxes depends on the data"),
        ({"dtypes": {"masks": "BF16"}}, EngineError, "masks is BF16"),
        ({"dtypes": {"scores": "HALF"}}, ContractError, "output 'scores' is float16"),
        ({"no_memory": True}, EngineError, "no memory to run the engine"),
    ],
)
def test_engines_that_cannot_be_run_are_one_line(gpu, tmp_path, traits, kind, told):
    with pytest.raises(kind, match=told):
        open_segmenter(fake_engine(tmp_path, **traits))
    assert not gpu.memory


def test_too_little_memory_for_the_buffers_is_one_line(gpu, tmp_path):
    gpu.memory_bytes = 20_000
    with pytest.raises(EngineError, match="no memory for the buffers"):
        open_segmenter(fake_engine(tmp_path))
    assert not gpu.memory


def test_what_tensorrt_said_is_told(gpu, tmp_path):
    engine = fake_engine(tmp_path)
    engine.write_bytes(b"\0" + engine.read_bytes())
    with pytest.raises(EngineError, match="magicTag"):
        open_segmenter(engine)


REAL_MESSAGES = {
    "IRuntime::deserializeCudaEngine: Error Code 1: Cuda Runtime (In ScopedCudaStream at /_src/common/dispatch/"
    "cudaResources.cpp:25 (cudaError 35: CUDA driver version is insufficient for CUDA runtime version))": (
        "IRuntime::deserializeCudaEngine: Error Code 1: Cuda Runtime"
        " (cudaError 35: CUDA driver version is insufficient for CUDA runtime version))"
    ),
    "[checkMacros.cpp::catchCudaError::250] Error Code 1: Cuda Runtime (invalid device context)": (
        "Error Code 1: Cuda Runtime (invalid device context)"
    ),
    "Error Code 4: API Usage Error (Network must have at least one output. In validate at /_src/optimizer/api/"
    "network.cpp:3810)": "Error Code 4: API Usage Error (Network must have at least one output",
}
"""What TensorRT for RTX 1.7 says on a machine without a GPU -> what is told of it."""


@pytest.mark.parametrize(("said", "told"), REAL_MESSAGES.items())
def test_places_in_tensorrts_own_source_are_not_told(said, told):
    assert shortened(said) == told


@pytest.mark.parametrize(
    ("name", "value"),
    [("gpu_name", "Xavier"), ("compute_capability", "7.2"), ("tensorrt_version", "8.6.1"), ("jetpack", "R35.1.0")],
)
def test_an_engine_for_something_else_is_refused(gpu, tmp_path, name, value):
    engine = fake_engine(tmp_path)
    sidecar = read_sidecar(engine)
    write_sidecar(engine, replace(sidecar, device=replace(sidecar.device, **{name: value})))
    with pytest.raises(EngineError, match=f"{name} is .* it was built for {value}"):
        open_segmenter(engine)


def test_an_engine_of_another_graph_is_refused(gpu, tmp_path):
    engine = fake_engine(tmp_path)
    echo_graph(tmp_path / "m.onnx", best_score=0.8)
    with pytest.raises(EngineError, match="another graph"):
        open_segmenter(engine)


class TestWithoutSidecar:
    def test_the_graph_beside_it_tells_and_one_tile_is_compared(self, gpu, tmp_path):
        segmenter = open_segmenter(fake_engine(tmp_path, sidecar=False))
        assert "no sidecar beside m.engine: compared with m.onnx on one tile" in segmenter.provider.reason
        segmenter.close()

    def test_an_engine_that_does_something_else_is_refused(self, gpu, tmp_path):
        engine = fake_engine(tmp_path, sidecar=False)
        echo_graph(tmp_path / "m.onnx", replace(INFO, max_detections=1))
        with pytest.raises((EngineError, ContractError)):
            open_segmenter(engine)
        assert not gpu.memory

    def test_one_that_finds_other_objects_is_refused(self, gpu, tmp_path, monkeypatch):
        engine = fake_engine(tmp_path, sidecar=False)
        tile = tiles_with_counts(3)[0]
        monkeypatch.setattr("edgekit.segment.smoke.smoke_tile", lambda size_px: tile)
        wrong = echo_graph(tmp_path / "w.onnx")
        data = wrong.read_bytes().replace(np.float32([8, 8, 40, 40]).tobytes(), np.float32([40, 40, 60, 60]).tobytes())
        (tmp_path / "m.onnx").write_bytes(data)
        with pytest.raises(EngineError, match="misses 3 objects of 3 and adds 3"):
            open_segmenter(engine)

    def test_alone_it_is_refused(self, gpu, tmp_path):
        engine = fake_engine(tmp_path, sidecar=False)
        engine.with_suffix(".onnx").unlink()
        with pytest.raises(EngineError, match="nobody knows"):
            open_segmenter(engine)

    def test_an_engine_of_ultralytics_is_refused_by_its_header(self, gpu, tmp_path):
        engine = fake_engine(tmp_path, sidecar=False)
        engine.with_suffix(".onnx").unlink()
        with_header(engine, {"task": "segment", "names": {"0": "fruit"}})
        with pytest.raises(EngineError, match="Ultralytics"):
            open_segmenter(engine)

    def test_a_header_that_tells_of_the_contract_is_enough(self, gpu, tmp_path):
        engine = fake_engine(tmp_path, sidecar=False)
        engine.with_suffix(".onnx").unlink()
        with_header(engine, INFO.to_metadata())
        segmenter = open_segmenter(engine)
        assert "may be another GPU's" in segmenter.provider.reason
        assert counts(segmenter.segment(tiles_with_counts(4, 1))) == [4, 1]
        segmenter.close()


def with_header(engine: Path, header: dict[str, object]) -> None:
    text = json.dumps(header).encode()
    engine.write_bytes(len(text).to_bytes(4, "little") + text + engine.read_bytes())


class TestChoice:
    def test_auto_takes_the_engine_that_fits(self, gpu, tmp_path):
        graph = fake_engine(tmp_path).with_suffix(".onnx")
        segmenter = open_segmenter(graph, settings=SegmenterSettings(backend="auto"))
        assert segmenter.provider.effective.startswith("TensorRT")
        segmenter.close()

    def test_by_itself_a_graph_runs_on_onnx_runtime(self, gpu, tmp_path):
        graph = fake_engine(tmp_path).with_suffix(".onnx")
        assert open_segmenter(graph).provider.effective == "CPUExecutionProvider"

    @pytest.mark.parametrize("spoil", ["sidecar", "version", "gpu"])
    def test_auto_says_why_it_does_not(self, gpu, tmp_path, monkeypatch, spoil):
        engine = fake_engine(tmp_path)
        if spoil == "sidecar":
            sidecar_path(engine).unlink()
        elif spoil == "version":
            install(monkeypatch, gpu, "10.4.0")
        else:
            monkeypatch.setitem(sys.modules, "pycuda.driver", None)
        choice = open_segmenter(engine.with_suffix(".onnx"), settings=SegmenterSettings(backend="auto")).provider
        assert choice.effective == "CPUExecutionProvider"
        told = {"sidecar": "has no sidecar", "version": "tensorrt_version is 10.4.0", "gpu": "pycuda"}[spoil]
        assert "m.engine is not used" in choice.reason
        assert told in choice.reason

    def test_auto_without_an_engine_is_onnx_runtime(self, tmp_path):
        graph = echo_graph(tmp_path / "m.onnx")
        assert open_segmenter(graph, settings=SegmenterSettings(backend="auto")).provider.reason == "as requested"

    def test_what_was_asked_for_and_is_not_there_is_an_error(self, gpu, tmp_path):
        with pytest.raises(EngineError, match="no engine beside it"):
            open_segmenter(echo_graph(tmp_path / "n.onnx"), settings=SegmenterSettings(backend="tensorrt"))
        with pytest.raises(ModelError, match="TensorRT alone"):
            open_segmenter(fake_engine(tmp_path), settings=SegmenterSettings(backend="onnxruntime"))

    def test_without_tensorrt_an_engine_is_one_line(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "tensorrt", None)
        monkeypatch.setattr(nvidia_driver, "has_nvidia_gpu", lambda: True)
        with pytest.raises(MissingDependencyError, match="TensorRT"):
            open_segmenter(fake_engine(tmp_path))


def test_parity_opens_an_engine_beside_its_graph(gpu, tmp_path):
    from edgekit.export.artifacts import open_pair
    from edgekit.export.parity import LIMITS, compare

    engine = fake_engine(tmp_path)
    pair = open_pair(engine.with_suffix(".onnx"), engine, settings=SegmenterSettings(), trust_checkpoint=False)
    assert [side.provider.requested for side in pair] == ["CPUExecutionProvider", "tensorrt"]
    first, second = (side.segment(tiles_with_counts(3, 0, 5)) for side in pair)
    assert compare(first, second, info=INFO, threshold=0.5).beyond(LIMITS["fp32"]) == []
    for side in pair:
        side.close()


@pytest.mark.parametrize(
    ("ending", "code"), [("pass", 0), ("raise SystemExit(3)", 3), ("raise ValueError('a bug')", 1), ("del s", 0)]
)
def test_a_process_leaves_no_context_behind_whatever_ends_it(tmp_path, ending, code):
    program = f"""
import atexit, os, pytest
from segment.fake_cuda import FakeGpu
from segment.fakes import fake_engine, install
from segment.graphs import tiles_with_counts
from edgekit.segment import open_segmenter
from pathlib import Path
gpu = FakeGpu()
atexit.register(lambda: os._exit(134) if any(gpu.stacks.values()) else None)
install(pytest.MonkeyPatch(), gpu)
s = open_segmenter(fake_engine(Path({str(tmp_path)!r})))
s.segment(tiles_with_counts(1, 2, 3))
{ending}
"""
    tests = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", program], cwd=tests, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr


def test_importing_the_backend_imports_neither_tensorrt_nor_pycuda():
    program = (
        "import edgekit.segment.tensorrt.segmenter, sys; sys.exit({'tensorrt', 'pycuda'} & set(sys.modules) != set())"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_a_missing_tensorrt_is_one_line(monkeypatch):
    import sys
    from types import ModuleType

    monkeypatch.setitem(sys.modules, "tensorrt", None)
    monkeypatch.setattr(nvidia_driver, "has_nvidia_gpu", lambda: True)
    with pytest.raises(MissingDependencyError, match="TensorRT"):
        load_tensorrt()
    monkeypatch.setitem(sys.modules, "tensorrt", ModuleType("tensorrt"))
    with pytest.raises(MissingDependencyError, match="not installed"):
        load_tensorrt()


def test_no_gpu_is_one_line(monkeypatch):
    import sys
    from types import ModuleType

    cuda = ModuleType("pycuda.driver")
    cuda.Error = RuntimeError

    def fail():
        raise RuntimeError("no CUDA-capable device is detected")

    cuda.init = fail
    package = ModuleType("pycuda")
    package.driver = cuda
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", cuda)
    with pytest.raises(ProviderError, match="no NVIDIA GPU"):
        load_cuda()


def test_the_release_of_jetson_linux_is_read(tmp_path):
    file = tmp_path / "nv_tegra_release"
    assert jetpack_release(file) is None
    file.write_text("# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64\n")
    assert jetpack_release(file) == "R36.4.3"


def test_without_a_gpu_no_package_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    monkeypatch.setattr(nvidia_driver, "has_nvidia_gpu", lambda: False)
    with pytest.raises(ProviderError, match=r"^no NVIDIA GPU, or no driver for it, here .*TensorRT") as told:
        load_tensorrt()
    assert "pip install" not in str(told.value)
