"""edgekit: fruit instance segmentation on a trolley between greenhouse rows."""

__version__ = "0.1.0"
