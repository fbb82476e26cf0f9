"""The R-CNN models in PyTorch, as torchvision trains them."""

from edgekit.export.models.lively import enliven
from edgekit.export.models.mask_rcnn import mask_rcnn, trainable_parameters
from edgekit.export.models.mask_rcnn_sw import mask_rcnn_sw
from edgekit.export.models.ms_rcnn import MaskScoringRoIHeads, ms_rcnn

__all__ = ["MaskScoringRoIHeads", "enliven", "mask_rcnn", "mask_rcnn_sw", "ms_rcnn", "trainable_parameters"]
