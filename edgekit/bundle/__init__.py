"""Everything that installs edgekit where there is no network, in one folder."""

from edgekit.bundle.build import build_bundle
from edgekit.bundle.checksums import differences
from edgekit.bundle.settings import BundleContents, BundleTarget

__all__ = ["BundleContents", "BundleTarget", "build_bundle", "differences"]
