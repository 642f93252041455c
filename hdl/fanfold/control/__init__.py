"""Registers and counters."""
