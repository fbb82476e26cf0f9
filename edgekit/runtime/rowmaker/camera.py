"""A camera that slides along a strip: a source of frames whose true positions are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import cv2
import numpy as np

from edgekit.contracts import Frame, Image
from edgekit.runtime.mosaic.resample import read_window
from edgekit.runtime.rowmaker.layers import Layer
from edgekit.runtime.rowmaker.look import Lens, Look
from edgekit.runtime.rowmaker.motion import Motion, camera_path


class SlidingCamera:
    """Frames of a camera that slides along a strip, made one at a time.

    The true position of the frame numbered n is `path.x_px[n]`, `path.y_px[n]`.

    Args:
        strip: H x W x 3; at least as high as a frame, and as long as the motion needs.
        motion: how the camera moves.
        size_wh: of the frames; by default 1280 wide and 24 px lower than the strip, which leaves room for jitter.
        look: what the camera does to the picture.
        layers: what lies before or behind the strip at another depth.

    Raises:
        ValueError: the strip is lower than a frame, or shorter than the motion.
    """

    def __init__(
        self,
        strip: Image,
        motion: Motion,
        *,
        size_wh: tuple[int, int] | None = None,
        look: Look | None = None,
        layers: Sequence[Layer] = (),
    ) -> None:
        self.size_wh = size_wh or (min(1280, strip.shape[1]), strip.shape[0] - _ROOM_PX)
        self.path = camera_path(motion)
        self._strip = strip
        self._layers = tuple(layers)
        self._lens = Lens(look or Look(), self.size_wh)
        reach_px = float(self.path.x_px.max()) + self.size_wh[0]
        if strip.shape[0] < self.size_wh[1] or strip.shape[1] < reach_px:
            raise ValueError(f"a motion of {reach_px:.0f} px does not fit a strip of {strip.shape[1]} px")
        self.top_px = (strip.shape[0] - self.size_wh[1]) / 2
        """Strip row of a frame's top edge where its y_px is 0."""

    @property
    def name(self) -> str:
        """Says that the frames are made."""
        return "made row"

    @property
    def length(self) -> int | None:
        """Frames that are delivered."""
        return int(np.count_nonzero(self.path.kept))

    @property
    def faults(self) -> tuple[str, ...]:
        """What the source itself would know: nothing; lost frames show in the sequence numbers."""
        return ()

    def __iter__(self) -> Iterator[Frame]:
        """Frames at 30 a second; a lost frame leaves a gap in numbers and times."""
        for number in np.flatnonzero(self.path.kept).tolist():
            yield Frame(self.picture(int(self.path.shows[number])), number, number / 30)

    def picture(self, number: int) -> Image:
        """The picture that the camera takes at the position of frame `number`."""
        x_px, y_px = float(self.path.x_px[number]), float(self.path.y_px[number])
        image = self._read((x_px, self.top_px + y_px), float(self.path.roll_deg[number]))
        for layer in self._layers:
            image = layer.laid_over(image, (x_px, self.top_px + y_px))
        return self._lens.see(image, number)

    def close(self) -> None:
        """Nothing is held open."""

    def _read(self, origin_xy: tuple[float, float], roll_deg: float) -> Image:
        if not roll_deg:
            return read_window(self._strip, origin_xy, self.size_wh)
        width, height = self.size_wh
        middle = np.array([(width - 1) / 2, (height - 1) / 2])
        turn = cv2.getRotationMatrix2D((0.0, 0.0), roll_deg, 1.0)[:, :2]
        offset = middle + origin_xy - turn @ middle
        start = int(max(offset[0] - _ROOM_PX - width, 0))
        offset[0] -= start
        near = self._strip[:, start : start + 3 * width + 2 * _ROOM_PX]
        flags = cv2.INTER_LANCZOS4 | cv2.WARP_INVERSE_MAP
        matrix = np.column_stack((turn, offset))
        return np.asarray(cv2.warpAffine(near, matrix, self.size_wh, flags=flags), np.uint8)


_ROOM_PX = 24
