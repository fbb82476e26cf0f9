"""Geometry of crops against the same sums on whole planes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from edgekit.contracts import MaskCrop
from edgekit.masks import EMPTY, bounds_xyxy, clip, intersection_area_px, iou, trim, union, window

SIDE = 40

masks = st.builds(
    MaskCrop,
    hnp.arrays(np.bool_, st.tuples(st.integers(0, 12), st.integers(0, 12))),
    st.integers(0, SIDE - 12),
    st.integers(0, SIDE - 12),
)


def plane_of(mask: MaskCrop) -> np.ndarray:
    plane = np.zeros((SIDE, SIDE), np.bool_)
    height, width = mask.plane.shape
    plane[mask.y_px : mask.y_px + height, mask.x_px : mask.x_px + width] = mask.plane
    return plane


@given(masks, masks)
def test_intersection_union_and_iou(a, b):
    both, either = plane_of(a) & plane_of(b), plane_of(a) | plane_of(b)
    assert intersection_area_px(a, b) == both.sum()
    assert np.array_equal(plane_of(union([a, b])), either)
    assert iou(a, b) == (both.sum() / either.sum() if either.any() else 0.0)


@given(masks)
def test_trim_keeps_the_mask_and_gives_its_box(mask):
    tight = trim(mask)
    assert np.array_equal(plane_of(tight), plane_of(mask))
    if not mask.plane.any():
        assert tight is EMPTY
        return
    rows, columns = np.nonzero(plane_of(mask))
    assert bounds_xyxy(mask).tolist() == [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]


@given(masks, st.tuples(*[st.integers(-5, SIDE)] * 4))
def test_window_and_clip(mask, corners):
    x0, y0, x1, y1 = corners
    expected = np.zeros((SIDE, SIDE), np.bool_)
    area = np.s_[max(y0, 0) : max(y1, 0), max(x0, 0) : max(x1, 0)]
    expected[area] = plane_of(mask)[area]
    assert window(mask, x0, y0, x1, y1).sum() == expected.sum()
    if x1 > x0 and y1 > y0:
        assert np.array_equal(plane_of(trim(clip(mask, x0, y0, x1, y1))), expected)
