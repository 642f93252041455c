"""Frames out: headers built, copies and regular traffic merged."""
