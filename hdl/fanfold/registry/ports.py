"""How other rooms ask the registry: fixed latency, one question a cycle, always answered."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..wire import address_layout

__all__ = ["DIRECTORY_LATENCY", "LOOKUP_LATENCY", "directory_signature", "lookup_signature"]

#: cycles from a lookup to its answer
LOOKUP_LATENCY = 2
#: cycles from a directory question to its answer
DIRECTORY_LATENCY = 2


def lookup_signature() -> wiring.Signature:
    """Is there an open context with this communicator and key? As seen by the room that asks (an ingress).

    Neither stream can stall: the answer comes exactly ``LOOKUP_LATENCY`` cycles after the question, in order.
    """
    return wiring.Signature(
        {
            "request": Out(stream.Signature(data.StructLayout({"comm_id": 16, "key": 32}), always_ready=True)),
            "response": In(stream.Signature(data.StructLayout({"open": 1}), always_ready=True)),
        }
    )


def directory_signature(config: Config) -> wiring.Signature:
    """Under which addresses does a copy travel? As seen by the room that asks (delivery).

    ``parent`` asks for the parent NIC, otherwise for contributor ``index``. Neither stream can stall: the answer comes
    exactly ``DIRECTORY_LATENCY`` cycles after the question, in order.
    """
    question = data.StructLayout(
        {
            "context": range(config.contexts),
            "index": range(config.contributors),
            "parent": 1,
        }
    )
    answer = data.StructLayout({"remote": address_layout(config), "local_mac": 48, "local_ip": 32})
    return wiring.Signature(
        {
            "request": Out(stream.Signature(question, always_ready=True)),
            "response": In(stream.Signature(answer, always_ready=True)),
        }
    )
