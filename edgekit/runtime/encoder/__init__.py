"""An encoder on a wheel of the trolley: how far it rode, beside what the pictures say."""

from edgekit.runtime.encoder.opening import open_odometer
from edgekit.runtime.encoder.settings import EncoderSettings
from edgekit.runtime.encoder.track import Odometer, read_track

__all__ = ["EncoderSettings", "Odometer", "open_odometer", "read_track"]
