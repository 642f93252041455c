"""AXI4-Stream and AXI4-Lite: the only place with foreign names."""
