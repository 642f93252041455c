"""The tree of NICs: node 0 at the root, node n's parent is (n - 1) // k."""

from dataclasses import dataclass

__all__ = ["NicTree"]


@dataclass(frozen=True)
class NicTree:
    """``nodes`` NICs, each with at most ``fanout`` children."""

    nodes: int
    fanout: int

    def __post_init__(self):
        if self.nodes < 1:
            raise ValueError(f"nodes is {self.nodes}: it must be at least 1")
        if self.nodes > 1 and self.fanout < 1:
            raise ValueError(f"fan-out is {self.fanout}: {self.nodes} nodes need at least 1")

    @classmethod
    def that_fits(cls, nodes: int, leaders: int, contributors: int) -> "NicTree":
        """The flattest tree in which leaders and children fit the contributors of a NIC.

        Raises ``ValueError`` when they do not fit at all.
        """
        room = contributors - leaders
        if room < 0:
            raise ValueError(f"a node has {leaders} leaders, but a NIC takes {contributors} contributors")
        if nodes > 1 and room < 1:
            raise ValueError(
                f"a node has {leaders} leaders, and a NIC takes {contributors} contributors: "
                f"{nodes} nodes need room for at least one child NIC more"
            )
        return cls(nodes, max(0, min(room, nodes - 1)))

    def parent(self, node: int) -> int | None:
        """The node above, ``None`` at the root."""
        return None if node == 0 else (node - 1) // self.fanout

    def children(self, node: int) -> range:
        """The nodes below, in the order of their contributor indices."""
        if not self.fanout:
            return range(0)
        return range(min(node * self.fanout + 1, self.nodes), min((node + 1) * self.fanout + 1, self.nodes))

    def rank_among_siblings(self, node: int) -> int:
        """Place among the children of the parent; 0 at the root."""
        return 0 if node == 0 else (node - 1) % self.fanout

    def height(self, node: int) -> int:
        """Links between a node and the farthest one below it."""
        return max((self.height(child) + 1 for child in self.children(node)), default=0)

    def level(self, node: int) -> int:
        """Links between the root and a node."""
        level = 0
        while node:
            node, level = (node - 1) // self.fanout, level + 1
        return level

    @property
    def depth(self) -> int:
        """Links between the root and the farthest node."""
        return self.level(self.nodes - 1)
