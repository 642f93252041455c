"""What is explored: a root with its children, and a middle NIC between its children and its parent."""

from collections.abc import Callable

from explorer import Explorer, Link
from folding_nic import Nic
from neighbours import Child, Parent
from slot_rules import EXPIRED, PEER_GONE, Size

__all__ = ["LOCAL_ENDS", "agreement", "all_done", "middle", "root"]


def root(size: Size, *, watch: Callable | None = None) -> Explorer:
    """A root NIC with its leaders, and its child NICs."""
    return _around(Nic(size, name="root"), size, watch)


def middle(size: Size, *, watch: Callable | None = None) -> Explorer:
    """A NIC with its leaders, its child NICs, and its parent."""
    return _around(Nic(size, parent=True, name="middle"), size, watch)


def _around(nic: Nic, size: Size, watch: Callable | None) -> Explorer:
    children = [Child(size, f"child {size.leaders + index}") for index in range(size.children)]
    parts, links = [nic, *children], []
    for index, child in enumerate(children):
        links.append(Link(0, index + 1, lambda s, index=index: s.down[index], child.packet_down))
        links.append(Link(index + 1, 0, lambda s: s.up, lambda s, packet, index=index: nic.packet_up(s, index, packet)))
    if nic.parent:
        parent = Parent(size)
        parts.append(parent)
        links.append(Link(0, len(parts) - 1, lambda s: s.up, parent.packet_up))
        links.append(Link(len(parts) - 1, 0, lambda s: s.down, nic.packet_down))
    return Explorer(parts, links, watch=watch)


def all_done(explorer: Explorer) -> Callable:
    """Whether every leader of every NIC has the result of every segment that takes place."""
    return lambda *states: all(part.done(state) for part, state in zip(explorer.parts, states, strict=True))


def agreement(*allowed: tuple[str, str]) -> Callable:
    """What a ``watch`` says when a NIC and a child end one segment differently, except as ``allowed`` (NIC, child)."""

    def watch(nic, *others) -> str | None:
        for child in (other for other in others if hasattr(other, "ends")):
            for segment, (here, there) in enumerate(zip(nic.ends, child.ends, strict=True)):
                if None not in (here, there) and here != there and (here, there) not in allowed:
                    return f"segment {segment} ends with {here} at the NIC and with {there} at a child"
        return None

    return watch


#: how a child may differ from its parent: it gave up, or came too late to be told
LOCAL_ENDS = tuple(
    (here, there) for here in ("OK", "FAILED", "TIMED_OUT", PEER_GONE, EXPIRED) for there in (PEER_GONE, EXPIRED)
)
