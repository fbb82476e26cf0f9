"""MACs and parameters of a PyTorch model, trainable ones apart. The only part of bench that needs torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgekit.errors import MissingDependencyError


@dataclass(frozen=True)
class TorchCost:
    """What one forward pass of a module costs."""

    macs: int
    """Multiply-accumulates, attention products included, for the input that was given."""
    macs_by_part: Mapping[str, int]
    """Direct children of the module -> MACs."""
    parameters: int
    trainable_parameters: int
    """Those that training would change: `requires_grad`."""
    not_counted: Mapping[str, int]
    """Operators without multiply-accumulates -> calls."""


def parameter_counts(module: Any) -> tuple[int, int]:
    """All parameters of a module, and those that are trainable. Buffers (norm statistics) are neither."""
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in module.parameters()]
    return sum(size for size, _ in sizes), sum(size for size, trainable in sizes if trainable)


def torch_cost(module: Any, *inputs: Any) -> TorchCost:
    """Count one forward pass with PyTorch's own counter (`torch.utils.flop_counter`), which sees every operator call.

    It works below modules, so that products in functions, einsum and attention are seen. FLOPs are halved into MACs.

    Raises:
        MissingDependencyError: torch is not installed.
    """
    try:
        import torch
        from torch.utils.flop_counter import FlopCounterMode, flop_registry
    except ImportError as error:
        raise MissingDependencyError("torch is not installed", mend="pip install 'edgekit[export]'") from error
    calls = _call_counter()
    module.eval()
    with torch.inference_mode(False), torch.no_grad(), calls, FlopCounterMode(module, display=False) as flops:
        module(*inputs)
    counts = {name: sum(by_operator.values()) // 2 for name, by_operator in flops.get_flop_counts().items()}
    top = type(module).__name__
    parts = {name.removeprefix(f"{top}."): macs for name, macs in counts.items() if name.count(".") == 1}
    total, trainable = parameter_counts(module)
    unknown = {name: number for (name, packet), number in calls.seen.items() if packet not in flop_registry}
    return TorchCost(
        counts.get("Global", 0),
        dict(Counter(parts).most_common()),
        total,
        trainable,
        dict(Counter(unknown).most_common()),
    )


def _call_counter() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Calls(TorchDispatchMode):  # type: ignore[no-untyped-call,unused-ignore]
        """Counts the operators that are called."""

        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call,unused-ignore]
            self.seen: Counter[tuple[str, Any]] = Counter()

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            packet = func.overloadpacket
            self.seen[(str(packet), packet)] += 1
            return func(*args, **(kwargs or {}))

    return Calls()
