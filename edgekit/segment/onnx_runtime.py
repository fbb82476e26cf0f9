"""Graphs of the contract on ONNX Runtime."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from edgekit.contracts import Choice, ModelInfo, TileResult
from edgekit.errors import ModelError
from edgekit.segment.contract import INPUT, Tensor, check_file, check_graph, check_tiles, expected_tensors, read_info
from edgekit.segment.ort_errors import meaning
from edgekit.segment.providers import RTX, Options, effective_choice, full_name, provider_options, wanted_providers
from edgekit.segment.rows import decode_rows
from edgekit.segment.rtx_plugin import rtx_devices
from edgekit.segment.settings import SegmenterSettings
from edgekit.segment.stage_times import StageTimes

LOG_ERRORS_ONLY = 3
"""ONNX Runtime's severity: its warnings on standard error say nothing that is not checked and told here."""

_DTYPES = {
    "tensor(uint8)": "uint8",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
}


class OnnxRuntimeSegmenter:
    """A graph of the contract in an ONNX Runtime session, with buffers and bindings that live as long as it does.

    Calls from several threads wait for one another. On a GPU the outputs are copied straight into these buffers.

    Args:
        path: the graph.
        settings: where and how it runs.
        remark: what the record of the choice should also say.

    Raises:
        ModelError: no such file, or no ONNX.
        ContractError: the graph breaks the contract.
        ProviderError: the wanted provider is not there.
    """

    def __init__(self, path: Path, settings: SegmenterSettings, *, remark: str | None = None) -> None:
        session = _open_session(path, settings)
        self._provider = effective_choice(settings, session.get_providers(), remark=remark)
        self._info = _info(session, path)
        inputs = {item.name: _tensor(item) for item in session.get_inputs()}
        outputs = {item.name: _tensor(item) for item in session.get_outputs()}
        check_graph(self._info, inputs, outputs, name=path.name)
        tensors, wanted = expected_tensors(self._info)
        self._tiles = np.zeros(tensors[INPUT].fixed_shape, np.uint8)
        self._outputs = {name: np.zeros(tensor.fixed_shape, tensor.dtype) for name, tensor in wanted.items()}
        self._lock = threading.Lock()
        self.times = StageTimes()
        """Where the time went so far."""
        self._session: Any = session
        self._binding: Any = session.io_binding()
        self._binding.bind_cpu_input(INPUT, self._tiles)
        for name, buffer in self._outputs.items():
            self._binding.bind_output(name, "cpu", 0, buffer.dtype, buffer.shape, buffer.ctypes.data)

    @property
    def info(self) -> ModelInfo:
        """What the model file says of itself."""
        return self._info

    @property
    def provider(self) -> Choice:
        """Where it runs, and why there."""
        return self._provider

    def segment(self, tiles: npt.NDArray[np.uint8]) -> list[TileResult]:
        """Segment N tiles (uint8, N x S x S x 3, RGB), N >= 0 of any size; result i belongs to tile i.

        Raises:
            ModelError: tiles of another type or size, a closed segmenter, or a graph that fails.
        """
        check_tiles(tiles, self._info)
        results: list[TileResult] = []
        for start in range(0, len(tiles), self._info.batch):
            part = tiles[start : start + self._info.batch]
            with self._lock:
                self._run(part)
                results += [decode_rows(self._outputs, index, self._info) for index in range(len(part))]
                self.times.end("postprocess")
        return results

    def close(self) -> None:
        """Let go of the session; calling it twice does no harm."""
        with self._lock:
            self._session = self._binding = None

    def _run(self, part: npt.NDArray[np.uint8]) -> None:
        """Run one batch, padded with black, into the output buffers."""
        if self._session is None:
            raise ModelError("the segmenter was closed", mend="open the model again")
        self.times.start()
        self._tiles[: len(part)] = part
        self._tiles[len(part) :] = 0
        self.times.end("preprocess")
        try:
            self._session.run_with_iobinding(self._binding)
        except Exception as error:  # ONNX Runtime has no common base class for its errors
            raise ModelError(f"the model failed while it ran: {meaning(error)}") from error
        self.times.end("infer")


def read_graph_info(path: Path) -> ModelInfo:
    """What a graph says of itself.

    Raises:
        ModelError: no such file, or no ONNX.
        ContractError: the graph breaks the contract.
    """
    return _info(_open_session(path, SegmenterSettings()), path)


def _info(session: Any, path: Path) -> ModelInfo:
    return read_info(session.get_modelmeta().custom_metadata_map, name=path.name)


def _open_session(path: Path, settings: SegmenterSettings) -> Any:
    """A session, or one line that says why there is none."""
    check_file(path)
    options = ort.SessionOptions()
    options.log_severity_level = LOG_ERRORS_ONLY
    if settings.threads is not None:
        options.intra_op_num_threads = settings.threads
    providers: list[tuple[str, Options]] | None = None
    if full_name(settings.provider) == RTX:
        options.add_provider_for_devices(rtx_devices()[:1], provider_options(RTX, settings))
    else:
        names = wanted_providers(settings, ort.get_available_providers())
        providers = [(name, provider_options(name, settings)) for name in names]
    try:
        return ort.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # ONNX Runtime has no common base class for its errors
        raise ModelError(
            f"ONNX Runtime {ort.__version__} cannot load {path}: {meaning(error)}", mend="copy or export it again"
        ) from error


def _tensor(item: Any) -> Tensor:
    return Tensor(_DTYPES.get(item.type, item.type), tuple(item.shape))
