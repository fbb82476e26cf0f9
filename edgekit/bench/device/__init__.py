"""What a piece of work costs the device: energy, memory, heat."""
