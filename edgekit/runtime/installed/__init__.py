"""Models and season profiles that are installed on the device: kept by digest, one of each active."""
