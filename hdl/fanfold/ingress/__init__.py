"""Frames in: tagged or regular."""
