"""Run-length encoding of crops agrees with pycocotools on whole planes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pycocotools import mask as coco_mask

from edgekit.contracts import MaskCrop
from edgekit.errors import LabelsError
from edgekit.masks import decode, encode
from edgekit.masks.rle import from_run_lengths


@st.composite
def masks_in_pictures(draw):
    width, height = draw(st.integers(1, 30)), draw(st.integers(1, 30))
    plane = draw(hnp.arrays(np.bool_, st.tuples(st.integers(0, 20), st.integers(0, 20))))
    mask = MaskCrop(plane, draw(st.integers(-10, 30)), draw(st.integers(-10, 30)))
    return mask, (width, height)


def on_plane(mask: MaskCrop, size_wh: tuple[int, int]) -> np.ndarray:
    width, height = size_wh
    plane = np.zeros((height, width), np.bool_)
    for row, column in zip(*np.nonzero(mask.plane), strict=True):
        y, x = row + mask.y_px, column + mask.x_px
        if 0 <= x < width and 0 <= y < height:
            plane[y, x] = True
    return plane


@given(masks_in_pictures())
def test_encode_equals_pycocotools_on_the_whole_plane(case):
    mask, size_wh = case
    expected = coco_mask.encode(np.asfortranarray(on_plane(mask, size_wh).astype(np.uint8)))
    assert encode(mask, size_wh) == {"size": list(expected["size"]), "counts": expected["counts"].decode()}


@given(masks_in_pictures())
def test_decode_undoes_encode(case):
    mask, size_wh = case
    assert np.array_equal(on_plane(decode(encode(mask, size_wh)), size_wh), on_plane(mask, size_wh))


def test_a_wide_panorama_costs_what_the_mask_costs():
    mask = MaskCrop(np.ones((30, 40), np.bool_), 4_000_000, 100)
    rle = encode(mask, (8_000_000, 512))
    assert len(rle["counts"]) < 400
    assert decode(rle).x_px == 4_000_000


@pytest.mark.parametrize(("counts", "said"), [([3, 4], "add up to 7"), ([-1, 10], "add up to 9"), ([20], "9 pixels")])
def test_counts_that_do_not_fit_the_picture_are_refused(counts, said):
    with pytest.raises(LabelsError, match=said):
        from_run_lengths(counts, (3, 3))


@pytest.mark.parametrize("text", ["0é", "0P"])
def test_text_that_is_no_rle_is_refused(text):
    with pytest.raises(LabelsError):
        decode({"size": [3, 3], "counts": text})
