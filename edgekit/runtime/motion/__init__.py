"""How far the camera moved between two frames, measured where the fruit hangs."""
