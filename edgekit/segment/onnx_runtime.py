"""Graphs of the contract on ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from edgekit.contracts import Choice, ModelInfo, TileResult
from edgekit.errors import ModelError
from edgekit.segment.batches import batches, check_tiles
from edgekit.segment.contract import INPUT, Tensor, check_graph, expected_tensors, read_info
from edgekit.segment.providers import RTX, effective_choice, full_name, wanted_providers
from edgekit.segment.rows import decode_rows
from edgekit.segment.rtx_plugin import rtx_devices
from edgekit.segment.settings import SegmenterSettings

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
    """A graph of the contract in an ONNX Runtime session, with output buffers that live as long as it does.

    Raises:
        ModelError: no such file, or no ONNX.
        ContractError: the graph breaks the contract.
        ProviderError: the wanted provider is not there.
    """

    def __init__(self, path: Path, settings: SegmenterSettings) -> None:
        self._session: Any = _open_session(path, settings)
        self._provider = effective_choice(settings, self._session.get_providers())
        self._info = read_info(self._session.get_modelmeta().custom_metadata_map, name=path.name)
        inputs = {item.name: _tensor(item) for item in self._session.get_inputs()}
        outputs = {item.name: _tensor(item) for item in self._session.get_outputs()}
        check_graph(self._info, inputs, outputs, name=path.name)
        wanted = expected_tensors(self._info)[1]
        self._outputs = {name: np.zeros(tensor.fixed_shape, tensor.dtype) for name, tensor in wanted.items()}

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
        for batch, real in batches(tiles, self._info.batch):
            self._run(batch)
            results += [decode_rows(self._outputs, index, self._info) for index in range(real)]
        return results

    def close(self) -> None:
        """Let go of the session; calling it twice does no harm."""
        self._session = None

    def _run(self, batch: npt.NDArray[np.uint8]) -> None:
        """Run one batch into the output buffers."""
        if self._session is None:
            raise ModelError("the segmenter was closed", mend="open the model again")
        binding = self._session.io_binding()
        binding.bind_cpu_input(INPUT, batch)
        for name, buffer in self._outputs.items():
            binding.bind_output(name, "cpu", 0, buffer.dtype, buffer.shape, buffer.ctypes.data)
        try:
            self._session.run_with_iobinding(binding)
        except Exception as error:  # ONNX Runtime has no common base class for its errors
            raise ModelError(f"the model failed while it ran: {_first_line(error)}") from error


def _open_session(path: Path, settings: SegmenterSettings) -> Any:
    """A session, or one line that says why there is none."""
    if not path.is_file():
        raise ModelError(f"no model file {path}", mend="check the path, or make one with `edgekit export`")
    if not path.stat().st_size:
        raise ModelError(f"{path} is empty", mend="copy or export it again")
    options = ort.SessionOptions()
    options.log_severity_level = LOG_ERRORS_ONLY
    if settings.threads is not None:
        options.intra_op_num_threads = settings.threads
    providers: list[str] | None = None
    if full_name(settings.provider) == RTX:
        options.add_provider_for_devices(rtx_devices()[:1], {})
    else:
        providers = wanted_providers(settings, ort.get_available_providers())
    try:
        return ort.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # ONNX Runtime has no common base class for its errors
        raise ModelError(
            f"{path} is no ONNX graph that ONNX Runtime {ort.__version__} can load: {_first_line(error)}",
            mend="copy or export it again",
        ) from error


def _tensor(item: Any) -> Tensor:
    return Tensor(_DTYPES.get(item.type, item.type), tuple(item.shape))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
