"""Execution providers of ONNX Runtime: what was asked for against what a session got."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from edgekit.contracts import Choice
from edgekit.errors import ProviderError
from edgekit.segment.settings import SegmenterSettings

CPU = "CPUExecutionProvider"
RTX = "NvTensorRTRTXExecutionProvider"

PROVIDERS = MappingProxyType(
    {
        "cpu": CPU,
        "cuda": "CUDAExecutionProvider",
        "tensorrt": "TensorrtExecutionProvider",
        "rtx": RTX,
        "openvino": "OpenVINOExecutionProvider",
        "rocm": "ROCMExecutionProvider",
        "coreml": "CoreMLExecutionProvider",
    }
)
"""Short name -> ONNX Runtime's name."""


def full_name(provider: str) -> str:
    """ONNX Runtime's name of a provider that is given by its short or its full name."""
    return PROVIDERS.get(provider.lower(), provider)


def wanted_providers(settings: SegmenterSettings, available: Sequence[str]) -> list[str]:
    """What to ask a session for: the wanted provider first, the CPU behind it.

    Raises:
        ProviderError: this build of ONNX Runtime does not have it, and the CPU is not allowed instead.
    """
    wanted = full_name(settings.provider)
    if wanted in available:
        return [wanted] if wanted == CPU else [wanted, CPU]
    if settings.allow_cpu_fallback:
        return [CPU]
    known = ", ".join(sorted(available))
    raise ProviderError(
        f"provider {settings.provider!r} is not in this build of ONNX Runtime, which has {known}",
        mend="install the build for your device, choose another provider, or allow the CPU instead",
    )


def effective_choice(settings: SegmenterSettings, session_providers: Sequence[str]) -> Choice:
    """The record of what a session runs on; ONNX Runtime itself falls back with no more than a warning.

    Raises:
        ProviderError: it runs on another provider than the wanted one, and the CPU is not allowed instead.
    """
    wanted, effective = full_name(settings.provider), session_providers[0]
    if wanted == effective:
        return Choice(wanted, effective, "as requested")
    if settings.allow_cpu_fallback and effective == CPU:
        return Choice(wanted, effective, f"{wanted} is not available here, the CPU was allowed instead")
    raise ProviderError(
        f"asked for {wanted}, but ONNX Runtime runs the model on {effective}",
        mend="check the driver and the libraries of that provider (edgekit bench device), or allow the CPU instead",
    )
