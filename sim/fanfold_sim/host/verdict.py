"""What became of a collective's segments at each leader, where something was injected: right, failed, or wrong.

A result that failed is none: its status says why, and it was counted. What may not be is *wrong*:

- a result with status 0 whose bits are not the reference's, or that came before every leader contributed;
- no result at all at a leader that lives (that is a hang, and found before);
- leaders of one node that disagree, or nodes of which some have the result and others a status, unless one of them
  could not be reached (PEER_GONE) or asked too late (EXPIRED).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from fanfold.codes import DataType, Status

from ..elements import shown
from ..leader import Answer
from ..records import PARENT, Fault
from .leader_process import LeaderProcess
from .node import Node
from .tree import NicTree

__all__ = ["Verdict", "judge"]

#: with these a leader may be alone: others have the result
_ALONE = (Status.PEER_GONE, Status.EXPIRED)


@dataclass(frozen=True)
class Verdict:
    """Results of leaders that live: ``right`` ones, ``failed`` ones by reason, what is ``wrong`` first."""

    right: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    wrong: str = ""

    def __add__(self, other: "Verdict") -> "Verdict":
        return Verdict(self.right + other.right, self.failed + other.failed, self.wrong or other.wrong)


def judge(nodes: Sequence[Node], tree: NicTree, expected: Sequence[bytes], data_type: DataType) -> Verdict:
    """The verdict on the collective that ``nodes`` have just finished; ``expected`` are the result's segments."""
    leaders = [(node, leader) for node in nodes for leader in node.leaders]
    right, failed, wrong = 0, Counter[str](), ""
    for segment, wanted in enumerate(expected):
        answers = [(node, leader, leader.answers[segment]) for node, leader in leaders if not leader.dead]
        for node, leader, answer in answers:
            if not answer.ok:
                failed[_reason(answer, nodes, tree)] += 1
            elif answer.payload == wanted:
                right += 1
            else:
                difference = _difference(answer.payload, wanted, data_type)
                wrong = wrong or f"{_who(node, leader)}, segment {segment}: {difference}"
        wrong = wrong or _too_early(segment, leaders) or _split(segment, answers)
    return Verdict(right, failed, wrong)


def _reason(answer: Answer, nodes: Sequence[Node], tree: NicTree) -> str:
    """The status, and who is at fault as the NIC says that found it."""
    status = answer.status.name if isinstance(answer.status, Status) else f"status {answer.status}"
    fault = answer.fault
    if fault is None:
        return status
    if answer.status is Status.PEER_GONE:
        return f"{status}: the NIC of node {fault.node} has no answer from {_name(fault, PARENT, nodes, tree)}"
    at_fault = ", ".join(_name(fault, index, nodes, tree) for index in fault.missing or [fault.contributor])
    verb = "missed" if fault.missing else "found a fault in what came from"
    return f"{status}: the NIC of node {fault.node} {verb} {at_fault}"


def _name(fault: Fault, index: int, nodes: Sequence[Node], tree: NicTree) -> str:
    """A contributor of a NIC, by what it is."""
    if index == PARENT:
        return f"its parent, node {tree.parent(fault.node)}"
    leaders = len(nodes[0].leaders)
    children = tree.children(fault.node)
    if index < leaders:
        return f"its leader {index}"
    return f"node {children[index - leaders]}" if index - leaders < len(children) else f"contributor {index}"


def _difference(got: bytes, wanted: bytes, data_type: DataType) -> str:
    if len(got) != len(wanted):
        return f"expected {len(wanted)} bytes, got {len(got)}"
    size = data_type.element_bytes
    first = next(at for at in range(0, len(wanted), size) if got[at : at + size] != wanted[at : at + size])
    expected, found = (shown(data_type, data[first : first + size]) for data in (wanted, got))
    return f"element {first // size}: expected {expected}, got {found}"


def _too_early(segment: int, leaders: Sequence[tuple[Node, LeaderProcess]]) -> str:
    """Whether someone had the result before everyone had contributed."""
    seen = [each.seen[segment] for _, each in leaders if segment in each.answers and each.answers[segment].ok]
    if not seen:
        return ""
    for node, leader in leaders:
        if leader.posted.get(segment, min(seen) + 1) > min(seen):
            return f"segment {segment} has a result that {_who(node, leader)} is not in"
    return ""


def _split(segment: int, answers: Sequence[tuple[Node, LeaderProcess, Answer]]) -> str:
    """Whether leaders disagree about how a segment ended, although all of them were told."""
    told = [(node, leader, answer) for node, leader, answer in answers if answer.status not in _ALONE]
    for node, leader, answer in told[1:]:
        first_node, first_leader, first = told[0]
        if (answer.status, answer.payload) != (first.status, first.payload):
            return (
                f"segment {segment} ended with {_status(first)} at {_who(first_node, first_leader)}, "
                f"but with {_status(answer)} at {_who(node, leader)}"
            )
    return ""


def _who(node: Node, leader: LeaderProcess) -> str:
    return f"node {node.number} leader {leader.group.index}"


def _status(answer: Answer) -> str:
    return getattr(answer.status, "name", str(answer.status))
