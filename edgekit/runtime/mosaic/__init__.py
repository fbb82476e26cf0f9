"""The strip mosaic: frames and their displacement become columns of one long picture."""
