"""The panorama on disk: segments, its folder, its quality report and its export."""
