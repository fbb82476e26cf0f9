"""`encode_many` is `encode`, many at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekit.contracts import MaskCrop
from edgekit.masks import EMPTY, encode
from edgekit.masks.batch import encode_many


@given(st.integers(0, 2**32 - 1), st.integers(0, 8))
@settings(max_examples=150, deadline=None)
def test_equal_to_encode(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    masks, sizes = [], []
    for _ in range(count):
        size = (int(rng.integers(1, 90)), int(rng.integers(1, 90)))
        height, width = int(rng.integers(0, 100)), int(rng.integers(0, 100))
        plane = rng.random((height, width)) < rng.choice([0.0, 0.02, 0.5, 0.98, 1.0])
        masks.append(MaskCrop(plane, int(rng.integers(-20, 60)), int(rng.integers(-20, 60))))
        sizes.append(size)
    assert list(encode_many(masks, sizes)) == [encode(mask, size) for mask, size in zip(masks, sizes, strict=True)]


def test_empty_and_full_and_chunks(monkeypatch) -> None:
    full = MaskCrop(np.ones((7, 5), bool), 0, 0)
    masks = [EMPTY, full, EMPTY, full, MaskCrop(np.ones((7, 2), bool), 3, 0)]
    expected = [encode(mask, (5, 7)) for mask in masks]
    assert list(encode_many(masks, [(5, 7)] * 5)) == expected
    monkeypatch.setattr("edgekit.masks.batch.CHUNK_PX", 30)
    assert list(encode_many(masks, [(5, 7)] * 5)) == expected
