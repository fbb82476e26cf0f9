"""Multiply-accumulates of one ONNX operator, from the shapes of what goes in and comes out.

One multiply-accumulate (MAC) is one multiplication and the addition of its product: two floating point operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Shape = tuple[int, ...]
Attributes = Mapping[str, Any]
Counter = Callable[[Sequence[Shape], Sequence[Shape], Attributes], int]


def conv(inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Attributes) -> int:
    """Every output element sums over the kernel of its group: weight C_out x C_in/groups x k... ."""
    return math.prod(outputs[0]) * math.prod(inputs[1][1:])


def conv_transpose(inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Attributes) -> int:
    """Every input element is spread over the kernel: weight C_in x C_out/groups x k... ."""
    return math.prod(inputs[0]) * math.prod(inputs[1][1:])


def quantised_conv(inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Attributes) -> int:
    """QLinearConv: x, its scale and zero point, then the weight."""
    return math.prod(outputs[0]) * math.prod(inputs[3][1:])


def matmul(inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Attributes) -> int:
    """Every output element sums over the inner dimension."""
    return math.prod(outputs[0]) * inputs[0][-1]


def gemm(inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Attributes) -> int:
    """As a matrix product; either factor may be stored transposed."""
    inner = inputs[0][0] if attributes.get("transA") else inputs[0][1]
    return math.prod(outputs[0]) * inner


def einsum(inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Attributes) -> int:
    """One product for every combination of the letters; an ellipsis takes the dimensions that have no letter."""
    terms = attributes["equation"].replace(" ", "").split("->")[0].split(",")
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, inputs, strict=True):
        letters = term.replace("...", "")
        spare = len(shape) - len(letters)
        head = term.index("...") if "..." in term else len(letters)
        names = [*letters[:head], *(f".{spare - place}" for place in range(spare)), *letters[head:]]
        for name, size in zip(names, shape, strict=True):
            sizes[name] = max(sizes.get(name, 1), size)
    return math.prod(sizes.values()) * max(len(inputs) - 1, 1)


def attention(inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Attributes) -> int:
    """Attention of ONNX 23 on Q, K, V of B x H x L x E: the two products Q K^T and P V."""
    query, key, value = inputs[:3]
    if len(query) != 4:
        raise ValueError("attention whose heads are folded into one dimension")
    return math.prod(query) * key[2] + math.prod(query[:3]) * key[2] * value[3]


COUNTED: Mapping[str, Counter] = {
    "Conv": conv,
    "ConvInteger": conv,
    "QLinearConv": quantised_conv,
    "FusedConv": conv,
    "ConvTranspose": conv_transpose,
    "MatMul": matmul,
    "MatMulInteger": matmul,
    "QLinearMatMul": matmul,
    "FusedMatMul": matmul,
    "Gemm": gemm,
    "FusedGemm": gemm,
    "Einsum": einsum,
    "Attention": attention,
}
"""Operators whose work is multiply-accumulates. All others are listed as not counted."""
