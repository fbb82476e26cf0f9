"""Fakes of three generations of TensorRT's Python API, each with what it has and without what it lacks."""

from __future__ import annotations

import json
from enum import IntEnum
from types import SimpleNamespace

PLAN = b"ftrt" + bytes(range(256)) * 4


def fake_tensorrt(version: str, *, refuse: str = "", builds: bool = True, layers: str = "Float"):
    """A module that behaves like TensorRT 8.4, 10.3 or 11.

    Args:
        version: whose attributes to have.
        refuse: what the parser says, where it is to refuse the graph.
        builds: False: the builder gives up, as for want of memory.
        layers: what the inspector says of the layers' types.
    """
    major = int(version.split(".")[0])
    log: list[str] = []
    module = SimpleNamespace(__version__=version, log=log)

    class Logger:
        WARNING = 1

        def __init__(self, level: int) -> None:
            self.level = level

    flags = {8: {"EXPLICIT_BATCH": 0}, 10: {"EXPLICIT_BATCH": 0, "STRONGLY_TYPED": 1}, 11: {"PREFER_JIT": 2}}[major]
    builder_flags = {8: {"FP16": 0, "INT8": 1}, 10: {"FP16": 0, "INT8": 1}, 11: {"DEBUG": 2}}[major]

    class Config:
        def set_flag(self, flag: IntEnum) -> None:
            log.append(f"flag {flag.name}")

        def create_timing_cache(self, data: bytes) -> SimpleNamespace:
            log.append(f"cache in {len(data)}")
            return SimpleNamespace(serialize=lambda: b"timings")

        def set_timing_cache(self, cache: SimpleNamespace, ignore_mismatch: bool) -> None:
            self.cache = cache

        def get_timing_cache(self) -> SimpleNamespace:
            return self.cache

    if major == 8:
        Config.max_workspace_size = 0
    else:
        Config.set_memory_pool_limit = lambda self, pool, size: log.append(f"pool {pool.name} {size}")
        Config.progress_monitor = None

    class Builder:
        def __init__(self, logger: Logger) -> None:
            self.logger = logger

        def create_network(self, flags: int) -> SimpleNamespace:
            log.append(f"network {flags}")
            return SimpleNamespace()

        def create_builder_config(self) -> Config:
            return Config()

        def build_serialized_network(self, network: SimpleNamespace, config: Config) -> bytes | None:
            monitor = getattr(config, "progress_monitor", None)
            if monitor is not None:
                monitor.phase_start("Building", None, 2)
                monitor.phase_start("Timing", "Building", 5)
                monitor.step_complete("Building", 0)
                monitor.phase_finish("Building")
            return PLAN if builds else None

    if major == 8:
        Builder.platform_has_fast_fp16 = True
        Builder.platform_has_fast_int8 = False

    class OnnxParser:
        def __init__(self, network: SimpleNamespace, logger: Logger) -> None:
            self.num_errors = 1 if refuse else 0

        def parse_from_file(self, path: str) -> bool:
            return not refuse

        def get_error(self, index: int) -> str:
            return refuse

    class Inspector:
        def get_engine_information(self, kind: object) -> str:
            return json.dumps({"Layers": [{"Name": "conv", "Outputs": [{"Format/Datatype": layers}]}]})

    class Runtime:
        def __init__(self, logger: Logger) -> None:
            pass

        def deserialize_cuda_engine(self, plan: bytes) -> SimpleNamespace:
            return SimpleNamespace(create_engine_inspector=Inspector) if major >= 10 else SimpleNamespace()

    module.Logger, module.Builder, module.OnnxParser, module.Runtime = Logger, Builder, OnnxParser, Runtime
    module.NetworkDefinitionCreationFlag = IntEnum("NetworkDefinitionCreationFlag", flags)
    module.BuilderFlag = IntEnum("BuilderFlag", builder_flags)
    module.ProfilingVerbosity = SimpleNamespace(DETAILED=2)
    if major >= 10:
        module.MemoryPoolType = IntEnum("MemoryPoolType", {"WORKSPACE": 0})
        module.LayerInformationFormat = SimpleNamespace(JSON=1)
        module.IProgressMonitor = type("IProgressMonitor", (), {})
    return module
