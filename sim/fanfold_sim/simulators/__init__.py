"""NICs that are the hardware itself: Amaranth's simulator, and a Verilated model that runs without Python."""
