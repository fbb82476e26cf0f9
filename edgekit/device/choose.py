"""The right probe for the machine and the provider that the model runs on."""

from __future__ import annotations

from edgekit.device.host import HostProbe
from edgekit.device.jetson import JetsonProbe
from edgekit.device.nvml import NvmlProbe
from edgekit.device.reading import DeviceProbe
from edgekit.environment import Environment
from edgekit.errors import EdgekitError

GPU_PROVIDERS = ("cuda", "tensorrt", "nvtensorrtrtx", "rtx")


def choose_probe(environment: Environment, provider: str) -> tuple[DeviceProbe, str | None]:
    """A probe, and why it is not the better one where that could not be had.

    Args:
        environment: the machine.
        provider: what the model really runs on.
    """
    if environment.is_jetson:
        return JetsonProbe(environment.board or "Jetson"), None
    if any(name in provider.lower() for name in GPU_PROVIDERS):
        try:
            return NvmlProbe(), None
        except EdgekitError as error:
            return HostProbe(), error.what
    return HostProbe(), None
