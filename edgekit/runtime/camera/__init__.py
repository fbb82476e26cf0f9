"""What lies between the scene and a camera's pixels: its lens, its roll, the fall-off of its light."""

from edgekit.runtime.camera.lens import Lens, read_lens
from edgekit.runtime.camera.optics import CameraOptics, optics_of

__all__ = ["CameraOptics", "Lens", "optics_of", "read_lens"]
