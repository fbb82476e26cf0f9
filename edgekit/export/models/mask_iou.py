"""The MaskIoU head of Mask Scoring R-CNN (Huang et al. 2019, section 3.2) and what it is trained on."""

from __future__ import annotations

import torch
from torch import nn

ROI_CHANNELS = 256
ROI_SIZE = 14
CONV_CHANNELS = 256
FC_CHANNELS = 1024


class MaskIouHead(nn.Module):
    """Predicts the IoU of a predicted mask with the object's true mask, for every class.

    Four 3 x 3 convolutions, the last of stride 2, then three fully connected layers. The input is the RoI feature that
    the mask head saw, with the predicted mask of the chosen class as one more channel.

    Args:
        num_classes: with background, as torchvision counts.
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        convs: list[nn.Module] = []
        channels = ROI_CHANNELS + 1
        for stride in (1, 1, 1, 2):
            convs += [nn.Conv2d(channels, CONV_CHANNELS, 3, stride=stride, padding=1), nn.ReLU()]
            channels = CONV_CHANNELS
        self.convs = nn.Sequential(*convs)
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.fc1 = nn.Linear(CONV_CHANNELS * (ROI_SIZE // 2) ** 2, FC_CHANNELS)
        self.fc2 = nn.Linear(FC_CHANNELS, FC_CHANNELS)
        self.mask_iou = nn.Linear(FC_CHANNELS, num_classes)
        for layer in (*self.convs, self.fc1, self.fc2):
            if isinstance(layer, (nn.Conv2d, nn.Linear)):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        nn.init.normal_(self.mask_iou.weight, std=0.01)

    def forward(self, roi_features: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """Predicted IoU of each RoI's mask, one column a class.

        Args:
            roi_features: N x 256 x 14 x 14.
            masks: N x 1 x 28 x 28, probabilities of the chosen class; max pooling brings them to 14 x 14.

        Returns:
            N x num_classes; a regression, so that values may lie outside 0..1.
        """
        x = self.convs(torch.cat([roi_features, self.pool(masks)], dim=1))
        x = nn.functional.relu(self.fc1(x.flatten(1)))
        x = nn.functional.relu(self.fc2(x))
        predicted: torch.Tensor = self.mask_iou(x)
        return predicted


def mask_iou_targets(
    masks: torch.Tensor, boxes: torch.Tensor, true_in_box: torch.Tensor, true_masks: torch.Tensor
) -> torch.Tensor:
    """True IoU between predicted masks and whole objects.

    A predicted mask lives in its box, an object may reach beyond it. The object's area in mask cells is therefore its
    area within the box, divided by the share of its pixels that lie in the box.

    Args:
        masks: N x m x m, probabilities; on at 0.5 and above.
        boxes: N x 4, xyxy in pixels of `true_masks`.
        true_in_box: N x m x m, the object cropped to the box and resampled to the mask's grid, 0..1.
        true_masks: N x H x W, the whole object, 0 or 1.

    Returns:
        N, 0..1; 0 where the object has no pixel in the box.
    """
    predicted = (masks >= 0.5).to(torch.float32)
    inside = (true_in_box >= 0.5).to(torch.float32)
    shared = (predicted * inside).sum(dim=(1, 2))
    share_in_box = _pixels_in_box(true_masks, boxes) / true_masks.flatten(1).sum(dim=1).clamp(min=1)
    whole = inside.sum(dim=(1, 2)) / share_in_box.clamp(min=1e-6)
    joined = predicted.sum(dim=(1, 2)) + whole - shared
    return torch.where(share_in_box > 0, shared / joined.clamp(min=1e-6), torch.zeros_like(shared))


def _pixels_in_box(true_masks: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    """Number of object pixels whose centre lies in the box: N."""
    height, width = true_masks.shape[1:]
    x = torch.arange(width, device=boxes.device) + 0.5
    y = torch.arange(height, device=boxes.device) + 0.5
    across = ((x >= boxes[:, :1]) & (x < boxes[:, 2:3])).to(torch.float32)
    down = ((y >= boxes[:, 1:2]) & (y < boxes[:, 3:])).to(torch.float32)
    return torch.einsum("nhw,nh,nw->n", true_masks.to(torch.float32), down, across)
