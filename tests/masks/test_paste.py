"""Pasting of box masks against torchvision, and cutting of tile masks against OpenCV's resize of the whole plane."""

import cv2
import numpy as np
import pytest

from edgekit.masks import crop_tile_mask, paste_box_mask

SIZE = 512


def plane_of(mask):
    plane = np.zeros((SIZE, SIZE), np.bool_)
    height, width = mask.plane.shape
    plane[mask.y_px : mask.y_px + height, mask.x_px : mask.x_px + width] = mask.plane
    return plane


def random_boxes(rng, count):
    corners = np.sort(rng.uniform(0, SIZE, (count, 2, 2)), axis=1)
    return corners.reshape(count, 4).astype(np.float32)


@pytest.mark.torch
def test_box_masks_are_pasted_as_torchvision_does():
    torch = pytest.importorskip("torch")
    from torchvision.models.detection.roi_heads import paste_masks_in_image

    rng = np.random.default_rng(0)
    boxes = random_boxes(rng, 100)
    smooth = [cv2.GaussianBlur(rng.normal(0.5, 1.5, (28, 28)), (0, 0), 3) for _ in boxes]
    masks = np.clip(np.round(np.stack(smooth) * 255), 0, 255).astype(np.uint8)
    probabilities = torch.from_numpy(masks.astype(np.float32))[:, None]
    pasted = paste_masks_in_image(probabilities, torch.from_numpy(boxes), (SIZE, SIZE))[:, 0].numpy()
    for mask, box, values in zip(masks, boxes, pasted, strict=True):
        different = plane_of(paste_box_mask(mask, box, SIZE)) != (values >= 127.5)
        assert (np.abs(values[different] - 127.5) < 1e-3).all()  # only where the arithmetic rounds across the threshold


@pytest.mark.parametrize("m", [128, 160, 256])
def test_tile_masks_are_the_whole_plane_resized_and_cut(m):
    rng = np.random.default_rng(m)
    mask = cv2.GaussianBlur(rng.integers(0, 256, (m, m)).astype(np.uint8), (0, 0), 2)
    whole = cv2.resize(mask.astype(np.float32), (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
    centres = np.arange(SIZE) + 0.5
    for box in random_boxes(rng, 20):
        x_in, y_in = (centres >= box[0]) & (centres < box[2]), (centres >= box[1]) & (centres < box[3])
        different = plane_of(crop_tile_mask(mask, box, SIZE)) != ((whole >= 127.5) & y_in[:, None] & x_in[None, :])
        assert (np.abs(whole[different] - 127.5) < 1e-2).all()


@pytest.mark.parametrize(
    "box", [(-5.4, 3, 7.6, 9), (510.5, 510.5, 512, 512), (100, 100, 100.3, 100.2), (600, 0, 700, 9)]
)
@pytest.mark.parametrize("paste", [paste_box_mask, crop_tile_mask])
def test_awkward_boxes_stay_in_the_tile(paste, box):
    mask = paste(np.full((28, 28), 255, np.uint8), np.array(box, np.float32), SIZE)
    height, width = mask.plane.shape
    assert mask.plane.size == 0 or (0 <= mask.x_px <= SIZE - width and 0 <= mask.y_px <= SIZE - height)
    assert mask.area_px <= max(1, 13 * 6)


@pytest.mark.parametrize("paste", [paste_box_mask, crop_tile_mask])
def test_a_box_with_nan_gives_no_pixel(paste):
    assert paste(np.full((28, 28), 255, np.uint8), np.array([0, np.nan, 5, 5], np.float32), SIZE).area_px == 0


def test_the_same_object_gives_the_same_mask_however_many_there_are():
    mask, box = np.random.default_rng(1).integers(0, 256, (28, 28)).astype(np.uint8), np.float32([3.3, 4.7, 90.1, 77.2])
    first = paste_box_mask(mask, box, SIZE)
    assert all(np.array_equal(paste_box_mask(mask, box, SIZE).plane, first.plane) for _ in range(300))
