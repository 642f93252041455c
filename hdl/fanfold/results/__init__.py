"""How results are kept and read."""
