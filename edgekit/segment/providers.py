"""Execution providers of ONNX Runtime: what was asked for against what a session got."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from edgekit.atomic import storage_error
from edgekit.contracts import Choice
from edgekit.errors import ProviderError
from edgekit.segment.settings import SegmenterSettings

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
TENSORRT = "TensorrtExecutionProvider"
RTX = "NvTensorRTRTXExecutionProvider"

PROVIDERS = MappingProxyType(
    {
        "cpu": CPU,
        "cuda": CUDA,
        "tensorrt": TENSORRT,
        "rtx": RTX,
        "openvino": "OpenVINOExecutionProvider",
        "rocm": "ROCMExecutionProvider",
        "coreml": "CoreMLExecutionProvider",
    }
)
"""Short name -> ONNX Runtime's name."""

AS_REQUESTED = "as requested"
"""Reason of a choice that nobody needs to be told of."""

Options = dict[str, str]


def full_name(provider: str) -> str:
    """ONNX Runtime's name of a provider that is given by its short or its full name."""
    return PROVIDERS.get(provider.lower(), provider)


def wanted_providers(settings: SegmenterSettings, available: Sequence[str]) -> list[str]:
    """What to ask a session for: the wanted provider first, behind it what takes the operators that it lacks.

    Raises:
        ProviderError: this build of ONNX Runtime does not have it, and the CPU is not allowed instead.
    """
    wanted = full_name(settings.provider)
    if wanted in available:
        behind = [CUDA] if wanted == TENSORRT and CUDA in available else []
        return [wanted] if wanted == CPU else [wanted, *behind, CPU]
    if settings.allow_cpu_fallback:
        return [CPU]
    known = ", ".join(sorted(available))
    raise ProviderError(
        f"provider {settings.provider!r} is not in this build of ONNX Runtime, which has {known}",
        mend="install the build for your device, choose another provider, or allow the CPU instead",
    )


def provider_options(provider: str, settings: SegmenterSettings) -> Options:
    """What a provider is told. TensorRT builds engines for minutes, so they are kept from one start to the next.

    Precision is not told: it is expressed in the graph.

    Raises:
        StorageError: the folder for the engines cannot be made.
    """
    if provider == TENSORRT:
        folder = str(engine_cache(settings))
        cache = ("trt_engine_cache_enable", "trt_timing_cache_enable")
        return {"trt_engine_cache_path": folder, "trt_timing_cache_path": folder, **dict.fromkeys(cache, "1")}
    if provider == RTX:
        return {"nv_runtime_cache_path": str(engine_cache(settings))}
    return {}


def engine_cache(settings: SegmenterSettings) -> Path:
    """Folder for the engines that ONNX Runtime's providers build; made where it is missing.

    Raises:
        StorageError: it cannot be made.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = settings.engine_cache or home / "edgekit" / "engines"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(folder, error) from error
    return folder


def effective_choice(
    settings: SegmenterSettings, session_providers: Sequence[str], *, remark: str | None = None
) -> Choice:
    """The record of what a session runs on; ONNX Runtime itself falls back with no more than a warning.

    Args:
        settings: what was asked for.
        session_providers: what the session says of itself.
        remark: what else a person should know of the choice.

    Raises:
        ProviderError: it runs on another provider than the wanted one, and the CPU is not allowed instead.
    """
    wanted, effective = full_name(settings.provider), session_providers[0]
    also = "" if remark is None else f"; {remark}"
    if wanted == effective:
        return Choice(wanted, effective, f"{AS_REQUESTED}{also}")
    if settings.allow_cpu_fallback and effective == CPU:
        return Choice(wanted, effective, f"{wanted} is not available here, the CPU was allowed instead{also}")
    raise ProviderError(
        f"asked for {wanted}, but ONNX Runtime runs the model on {effective}",
        mend="check the driver and the libraries of that provider (edgekit bench device), or allow the CPU instead",
    )
