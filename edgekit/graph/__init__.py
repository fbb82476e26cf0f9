"""Reading ONNX graphs without a runtime: what they cost."""
