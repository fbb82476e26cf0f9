"""TensorRT engines of the contract: buffers made once, copies beside the kernels, all of it in one thread."""
