"""What a device reads of itself: power, memory, temperature, clocks, throttling. Boards, GPUs, processors."""
