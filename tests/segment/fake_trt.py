"""TensorRT's runtime that is not there: an engine is a graph that ONNX Runtime runs in the fake GPU's memory.

It fails as TensorRT does: None, False and a message in the log instead of exceptions.
"""

from __future__ import annotations

import json
import threading
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnxruntime as ort
from segment.fake_cuda import KERNELS_MS, FakeGpu, Work

MAGIC = b"ftrt\x00\xff"
TYPES = {"tensor(uint8)": "UINT8", "tensor(int32)": "INT32", "tensor(float)": "FLOAT"}
NUMPY = {"UINT8": np.uint8, "INT32": np.int32, "FLOAT": np.float32, "BF16": np.uint16, "HALF": np.float16}


def fake_plan(graph: Path, version: str = "10.3.0", **traits: Any) -> bytes:
    """A plan of a graph for one version of TensorRT.

    Args:
        graph: ONNX file.
        version: of the TensorRT that built it.
        traits: open_inputs (inputs of size -1), open_outputs (names whose size depends on the data), dtypes (name ->
            DataType), uncapturable, no_memory, fail_after (inferences).
    """
    head = json.dumps({"version": version, **traits}).encode()
    return MAGIC + len(head).to_bytes(4, "little") + head + b"\0" * 256 + graph.read_bytes()


def fake_tensorrt(gpu: FakeGpu, version: str = "10.3.0") -> ModuleType:
    """The module `tensorrt` of a version, as far as engines are run with it."""
    module: Any = ModuleType("tensorrt")
    module.__version__ = version
    module.Builder = object
    module.TensorIOMode = Enum("TensorIOMode", "NONE INPUT OUTPUT")
    module.DataType = Enum("DataType", list(NUMPY))

    class ILogger:
        Severity = Enum("Severity", "INTERNAL_ERROR ERROR WARNING INFO VERBOSE")

        def __init__(self) -> None:
            self.started = True  # a subclass that forgets this crashes the real one

    class Runtime:
        def __init__(self, logger: Any) -> None:
            assert logger.started
            self.logger = logger

        def deserialize_cuda_engine(self, plan: bytes) -> Engine | None:
            def refuse(message: str) -> None:
                self.logger.log(ILogger.Severity.ERROR, message)

            if not gpu.stacks.get(threading.get_ident()):
                return refuse("CUDA initialization failure with error: 201")
            if not plan.startswith(MAGIC):
                return refuse("Serialization assertion plan->header.magicTag == rt::kPLAN_MAGIC_TAG failed.")
            length = int.from_bytes(plan[len(MAGIC) : len(MAGIC) + 4], "little")
            start = len(MAGIC) + 4 + length
            head = json.loads(plan[len(MAGIC) + 4 : start])
            if head["version"] != version:
                return refuse(f"The engine plan file is not compatible, expecting {version} got {head['version']}")
            return Engine(self.logger, head, plan[start + 256 :])

    class Engine:
        def __init__(self, logger: Any, traits: dict[str, Any], graph: bytes) -> None:
            self.logger, self.traits = logger, traits
            self.session = ort.InferenceSession(graph)
            self.tensors = {item.name: item for item in [*self.session.get_inputs(), *self.session.get_outputs()]}
            self.inputs = [item.name for item in self.session.get_inputs()]

        @property
        def num_io_tensors(self) -> int:
            return len(self.tensors)

        def get_tensor_name(self, index: int) -> str:
            return list(self.tensors)[index]

        def get_tensor_mode(self, name: str) -> Any:
            return module.TensorIOMode.INPUT if name in self.inputs else module.TensorIOMode.OUTPUT

        def get_tensor_dtype(self, name: str) -> Any:
            return module.DataType[self.traits.get("dtypes", {}).get(name, TYPES[self.tensors[name].type])]

        def get_tensor_shape(self, name: str) -> tuple[int, ...]:
            shape = tuple(self.tensors[name].shape)
            if self.traits.get("open_inputs") or name in self.traits.get("open_outputs", ()):
                return (-1, *shape[1:])
            return shape

        def create_execution_context(self) -> ExecutionContext | None:
            if self.traits.get("no_memory"):
                self.logger.log(ILogger.Severity.ERROR, "Requested amount of GPU memory could not be allocated")
                return None
            return ExecutionContext(self)

    class ExecutionContext:
        def __init__(self, engine: Engine) -> None:
            gpu.make("execution context")
            self.engine = engine
            self.addresses: dict[str, int] = {}
            self.shapes: dict[str, tuple[int, ...]] = {}
            self.runs = 0

        def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
            if tuple(shape)[1:] != tuple(self.engine.tensors[name].shape)[1:]:
                return False
            self.shapes[name] = tuple(shape)
            return True

        def infer_shapes(self) -> list[str]:
            return [n for n in self.engine.inputs if -1 in self.engine.get_tensor_shape(n) and n not in self.shapes]

        def get_tensor_shape(self, name: str) -> tuple[int, ...]:
            if name in self.engine.traits.get("open_outputs", ()):
                return (-1, *self.engine.tensors[name].shape[1:])
            return self.shapes.get(name, tuple(self.engine.tensors[name].shape))

        def set_tensor_address(self, name: str, memory: int) -> bool:
            if name not in self.engine.tensors:
                return False
            self.addresses[name] = memory
            return True

        def execute_async_v3(self, stream_handle: int) -> bool:
            def refuse(message: str) -> bool:
                self.engine.logger.log(ILogger.Severity.ERROR, message)
                return False

            if not gpu.stacks.get(threading.get_ident()):
                return refuse("IExecutionContext::enqueueV3: Error Code 1: Cuda Runtime (invalid device context)")
            missing = [name for name in self.engine.tensors if not self.addresses.get(name)]
            if missing:
                return refuse(f"Error Code 3: Address is not set for tensor {missing[0]}")
            if self.runs >= self.engine.traits.get("fail_after", 1 << 60):
                return refuse("Error Code 1: Cuda Runtime (unspecified launch failure)")
            stream = gpu.streams[stream_handle]
            if stream.recording is not None and (not self.runs or self.engine.traits.get("uncapturable")):
                stream.spoilt = True  # what it allocates at first, or a loop that the processor steers
                return refuse("Error Code 1: Cuda Runtime (operation not permitted when stream is capturing)")
            self.runs += 1
            stream.put(Work("kernels", KERNELS_MS, self.run))
            return True

        def run(self) -> None:
            engine = self.engine
            feed = {name: self.read(name) for name in engine.inputs}
            names = [name for name in engine.tensors if name not in engine.inputs]
            for name, value in zip(names, engine.session.run(names, feed), strict=True):
                gpu.write(self.addresses[name], np.ascontiguousarray(value).tobytes())

        def read(self, name: str) -> np.ndarray:
            item = self.engine.tensors[name]
            dtype = np.dtype(NUMPY[TYPES[item.type]])
            data = gpu.read(self.addresses[name], int(np.prod(item.shape)) * dtype.itemsize)
            return np.frombuffer(data, dtype).reshape(item.shape)

    if int(version.split(".")[0]) == 8 and version < "8.5":  # bindings by number only
        del Engine.num_io_tensors
        Engine.num_bindings = property(lambda self: len(self.tensors))
    module.ILogger, module.Runtime, module.ICudaEngine, module.IExecutionContext = (
        ILogger,
        Runtime,
        Engine,
        ExecutionContext,
    )
    return module
