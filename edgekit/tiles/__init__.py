"""tiles."""
