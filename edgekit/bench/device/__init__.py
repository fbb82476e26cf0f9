"""What the device spends: power, energy, memory, temperature, clocks, throttling."""
