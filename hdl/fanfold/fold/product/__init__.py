"""The products of a lane: what stands before its adders when an instance multiplies.

In order of flow: ``choice`` (which of the built types it is), ``operands`` (numbers made ready for the multipliers),
``multiplier`` (the array that all types share), ``scale`` (a floating-point product brought to its place), ``product``
(all of it together).
"""
