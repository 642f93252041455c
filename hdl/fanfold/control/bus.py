"""The bus between whoever asks and the registers: one word at a time, every request is answered."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .description import ADDRESS_BITS, WORD_BITS

__all__ = ["bus_signature", "request_layout", "response_layout"]


def request_layout() -> data.StructLayout:
    """One access to the word at byte ``address`` (its two lowest bits do not count).

    With ``write``, the bytes of ``data`` whose bit of ``strobe`` is set are to be written.
    """
    return data.StructLayout(
        {
            "address": ADDRESS_BITS,
            "write": 1,
            "data": WORD_BITS,
            "strobe": WORD_BITS // 8,
        }
    )


def response_layout() -> data.StructLayout:
    """The answer to one access: what was read (0 for a write), or ``error`` when the access was refused."""
    return data.StructLayout({"data": WORD_BITS, "error": 1})


def bus_signature() -> wiring.Signature:
    """Requests and their answers, in order, as seen by the one who asks."""
    return wiring.Signature(
        {
            "request": Out(stream.Signature(request_layout())),
            "response": In(stream.Signature(response_layout())),
        }
    )
