"""The exact packet-level reference of a Fanfold NIC, in plain Python.

It follows docs/protocol.md rule by rule and shares nothing with the hardware but the wire tables, the codes and the
configuration. ``classify`` is its section 1, ``registry`` section 2, ``slots`` section 3, ``outgoing`` section 4,
``arithmetic`` section 5, ``endings`` and ``deadlines`` section 7; ``core`` puts them together without a clock, ``nic``
adds the clock (``timing``).
"""
