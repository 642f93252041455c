"""How other rooms ask the registry: fixed latency, one question a cycle, always answered."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Status
from ..config import Config
from ..wire import address_layout

__all__ = [
    "DIRECTORY_LATENCY",
    "LOOKUP_LATENCY",
    "SCREEN_LATENCY",
    "commit_layout",
    "directory_signature",
    "geometry_layout",
    "key_layout",
    "lookup_layout",
    "lookup_signature",
    "screen_signature",
    "slot_layout",
    "slots_signature",
]

#: cycles from a lookup to its answer
LOOKUP_LATENCY = 2
#: cycles from a directory question to its answer
DIRECTORY_LATENCY = 2
#: cycles from a screening question to its answer
SCREEN_LATENCY = 1


def key_layout() -> data.StructLayout:
    """What names a communicator on the wire."""
    return data.StructLayout({"comm_id": 16, "key": 32})


def geometry_layout(config: Config) -> data.StructLayout:
    """A context's place in the tree of NICs, as its leaders described it, and where its block of places begins (the
    place of contributor i is ``base`` + i)."""
    return data.StructLayout(
        {
            "leaders": range(config.contributors + 1),
            "children": range(config.contributors + 1),
            "root": 1,
            "parent_index": 16,
            "node": 32,
            "base": range(config.pool_places),
        }
    )


def lookup_layout() -> data.StructLayout:
    """What a packet says about where it belongs: its communicator, and the address that it was sent to."""
    return data.StructLayout({"names": key_layout(), "local_mac": 48, "local_ip": 32})


def lookup_signature() -> wiring.Signature:
    """Is there a context, open or lingering, with this communicator and key, and is it at this address? As seen by the
    room that asks (an ingress).

    ``here`` says whether the address is the NIC's in the context that is ``open``, and means nothing without one; they
    are apart because each is the end of a long comparison. Neither stream can stall: the answer comes exactly
    ``LOOKUP_LATENCY`` cycles after the question, in order.
    """
    return wiring.Signature(
        {
            "request": Out(stream.Signature(lookup_layout(), always_ready=True)),
            "response": In(stream.Signature(data.StructLayout({"open": 1, "here": 1}), always_ready=True)),
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


def screen_signature(config: Config) -> wiring.Signature:
    """What is known of a context and one of its contributors? As seen by the room that asks (admission).

    ``answer`` belongs to the ``question`` of ``SCREEN_LATENCY`` cycles before. A ``lingering`` context was
    deregistered: its children may still ask for the last results. ``member`` is where contributor ``index`` registered,
    ``parent`` where the parent NIC is; both mean nothing while ``open`` and ``lingering`` are 0.
    """
    question = data.StructLayout({"context": range(config.contexts), "index": range(config.contributors)})
    answer = data.StructLayout(
        {
            "open": 1,
            "lingering": 1,
            "names": key_layout(),
            "geometry": geometry_layout(config),
            "member": address_layout(config),
            "parent": address_layout(config),
        }
    )
    return wiring.Signature({"question": Out(question), "answer": In(answer)})


#: what a segment ends with
_OUTCOME = {"status": Status, "collective": 8, "opt_code": 8, "data_type": 8, "root": 16, "length": 16}


def slot_layout(config: Config) -> data.StructLayout:
    """What is known of the segment that a fold slot folds now, or folds next.

    ``turn`` is its sequence number. ``begun``: a contribution is in, and ``status`` to ``length`` are what the segment
    will end with: what the first one said, but ``length`` is the fault's once the status is not 0. ``present`` has a
    bit for each contributor that is in, ``missing`` is how many are not. ``waiting``: the partial result went to the
    parent, and no result has come. ``last`` is how the segment one window before ended, if it is known.
    """
    return data.StructLayout(
        {
            "turn": 32,
            "waiting": 1,
            "begun": 1,
            "missing": range(config.contributors + 1),
            "present": config.contributors,
            **_OUTCOME,
            "last": data.StructLayout({"valid": 1, **_OUTCOME}),
        }
    )


def commit_layout(config: Config) -> data.StructLayout:
    """A fold slot's record to be written."""
    return data.StructLayout({"slot": range(config.fold_slots), "record": slot_layout(config)})


def slots_signature(config: Config) -> wiring.Signature:
    """Read and write the records of fold slots, one packet a cycle. As seen by the room that decides (admission).

    ``found`` is the record of the slot that ``find`` named one cycle before, with the commit of that cycle in it.
    """
    return wiring.Signature(
        {
            "find": Out(range(config.fold_slots)),
            "found": In(slot_layout(config)),
            "commit": Out(stream.Signature(commit_layout(config), always_ready=True)),
        }
    )
