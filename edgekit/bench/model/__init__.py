"""What a model costs by its graph: multiply-accumulates and parameters."""
