"""IEEE 754 arithmetic."""
