"""Which copies go where."""
