"""One layer over the generations of TensorRT's Python API: what differs between them is asked by `hasattr`, only here.

8.x has an explicit-batch flag and weak typing with precision flags, 10.x adds strong typing and the progress monitor,
11.x knows nothing but strong typing. Every generation gets the same calls from `tensorrt_build.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgekit.errors import EngineError, ExportError

if TYPE_CHECKING:
    import tensorrt as trt

    from edgekit.contracts import Progress

PRECISION_FLAGS = {"fp16": ("FP16",), "int8": ("INT8", "FP16")}
"""Flags of weakly typed builders; the first one must be there."""
INSPECTOR_WORDS = {"int8": ("Int8",), "fp16": ("Half", "FP16")}
"""What the engine inspector calls the types of its layers' tensors."""


class TensorRtApi:
    """The calls that a build needs, for whichever TensorRT is given.

    Args:
        module: the module, or a fake that fails the way it does.
    """

    def __init__(self, module: Any) -> None:
        self._trt = module
        self.logger: trt.ILogger = module.Logger(module.Logger.WARNING)

    @property
    def version(self) -> str:
        """TensorRT's version, such as 10.3.0."""
        return str(self._trt.__version__)

    @property
    def always_strongly_typed(self) -> bool:
        """True from TensorRT 11 on."""
        return int(self.version.split(".")[0]) >= 11

    def network_flags(self) -> int:
        """Flags of a network: strong typing where it is an option, an explicit batch where it is one."""
        known = getattr(self._trt, "NetworkDefinitionCreationFlag", None)
        wanted = ("STRONGLY_TYPED",) if hasattr(known, "STRONGLY_TYPED") else ("EXPLICIT_BATCH",)
        return sum(1 << int(getattr(known, name)) for name in wanted if hasattr(known, name))

    def set_precision(self, builder: trt.Builder, config: trt.IBuilderConfig, precision: str) -> None:
        """Make a weakly typed builder honour a precision; a strongly typed one reads it from the graph.

        Raises:
            EngineError: the precision cannot be honoured.
        """
        known = getattr(self._trt, "NetworkDefinitionCreationFlag", None)
        if precision == "fp32" or self.always_strongly_typed or hasattr(known, "STRONGLY_TYPED"):
            return
        flags = [getattr(self._trt.BuilderFlag, name, None) for name in PRECISION_FLAGS[precision]]
        fast = getattr(builder, f"platform_has_fast_{precision}", True)
        if flags[0] is None or not fast:
            reason = "has no fast kernels for it on this GPU" if not fast else "has no flag for it"
            raise EngineError(f"TensorRT {self.version} {reason}: {precision} cannot be honoured", mend="build fp32")
        for flag in flags:
            if flag is not None:
                config.set_flag(flag)

    def set_workspace(self, config: trt.IBuilderConfig, limit_bytes: int) -> None:
        """Bound the memory that the builder may use while it times kernels."""
        if hasattr(config, "set_memory_pool_limit"):
            config.set_memory_pool_limit(self._trt.MemoryPoolType.WORKSPACE, limit_bytes)
        else:
            setattr(config, "max_workspace_size", limit_bytes)  # noqa: B010 (8.x only: the stubs do not know it)

    def set_progress(self, config: trt.IBuilderConfig, progress: Progress) -> None:
        """Report the builder's phases, where this TensorRT tells them."""
        if hasattr(self._trt, "IProgressMonitor") and hasattr(config, "progress_monitor"):
            config.progress_monitor = _monitor(self._trt.IProgressMonitor, progress)

    def set_timing_cache(self, config: trt.IBuilderConfig, cache: bytes) -> None:
        """Start from the kernel timings of earlier builds."""
        if hasattr(config, "create_timing_cache"):
            config.set_timing_cache(config.create_timing_cache(cache), False)

    def timing_cache(self, config: trt.IBuilderConfig) -> bytes | None:
        """The kernel timings after a build; None where this TensorRT keeps none."""
        cache = config.get_timing_cache() if hasattr(config, "get_timing_cache") else None
        return None if cache is None else bytes(cache.serialize())

    def tell_details(self, config: trt.IBuilderConfig) -> None:
        """Keep the layers' types in the engine, so that the precision can be read back."""
        if hasattr(self._trt, "ProfilingVerbosity"):
            config.profiling_verbosity = self._trt.ProfilingVerbosity.DETAILED

    def parse(self, network: trt.INetworkDefinition, onnx: Path) -> None:
        """Read a graph into a network.

        Raises:
            ExportError: the parser refuses it; its first messages are told.
        """
        parser: trt.OnnxParser = self._trt.OnnxParser(network, self.logger)
        if not parser.parse_from_file(str(onnx)):
            count = int(parser.num_errors)
            told = "; ".join(str(parser.get_error(index)).splitlines()[0] for index in range(min(count, 3)))
            raise ExportError(
                f"TensorRT {self.version} refuses {onnx.name}: {told}", mend="see edgekit export --inspect"
            )

    def builder(self) -> trt.Builder:
        """A new builder."""
        made: trt.Builder = self._trt.Builder(self.logger)
        return made

    def serialise(self, builder: trt.Builder, network: trt.INetworkDefinition, config: trt.IBuilderConfig) -> bytes:
        """Build a network.

        Raises:
            ExportError: the builder gave up, most often for want of memory.
        """
        plan = builder.build_serialized_network(network, config)
        if plan is None:
            raise ExportError(
                f"TensorRT {self.version} built no engine",
                mend="give the builder less workspace or free memory, and look at its messages above",
            )
        return bytes(plan)

    def precision_built(self, plan: bytes) -> str | None:
        """The lowest precision that a layer of an engine uses; None where this TensorRT does not tell."""
        runtime: trt.Runtime = self._trt.Runtime(self.logger)
        engine = runtime.deserialize_cuda_engine(plan)
        if engine is None:
            raise EngineError(f"TensorRT {self.version} cannot load the engine that it has just built")
        if not hasattr(engine, "create_engine_inspector") or not hasattr(self._trt, "LayerInformationFormat"):
            return None
        text = engine.create_engine_inspector().get_engine_information(self._trt.LayerInformationFormat.JSON)
        layers = json.dumps(json.loads(text).get("Layers", []))
        for precision, words in INSPECTOR_WORDS.items():
            if any(word in layers for word in words):
                return precision
        return "fp32"


def _monitor(base: type[Any], progress: Progress) -> Any:
    """A progress monitor of TensorRT that reports the outermost phases."""

    class Monitor(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._steps: dict[str, int] = {}

        def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
            if not parent_phase:
                self._steps[phase_name] = num_steps
                progress(phase_name, 0, num_steps)

        def step_complete(self, phase_name: str, step: int) -> bool:
            if phase_name in self._steps:
                progress(phase_name, step + 1, self._steps[phase_name])
            return True

        def phase_finish(self, phase_name: str) -> None:
            if phase_name in self._steps:
                progress(phase_name, self._steps[phase_name], self._steps.pop(phase_name))

    make: Callable[[], Any] = Monitor
    return make()
