"""Who is who on the simulated network, and the communicator that the cores form."""

import random
from dataclasses import dataclass

from fanfold.config import Config

from ..frames import Address, Packet

__all__ = ["MOST_NODES", "Communicator", "leader_address", "nic_address"]

#: nodes that have addresses of their own
MOST_NODES = 1 << 14

#: locally administered MAC addresses and private IP addresses; the node's number goes into the lowest bits
_HOST_MAC, _HOST_IP = 0x02_00_00_01_00_00, 0x0A_01_00_00
_NIC_MAC, _NIC_IP = 0x02_00_00_02_00_00, 0x0A_02_00_00


def nic_address(node: int, config: Config) -> Address:
    """A node's NIC."""
    return Address(_NIC_MAC + node, _NIC_IP + node + 1, config.udp_port)


def leader_address(node: int, index: int, config: Config) -> Address:
    """A leader of a node. All share the node's MAC and IP; the host queues are dealt out among them."""
    # answers go to the collective port too: the leader's queue and its index in the header tell the leaders apart
    return Address(_HOST_MAC + node, _HOST_IP + node + 1, config.udp_port, queue=index % (1 << config.queue_bits))


@dataclass(frozen=True)
class Communicator:
    """Number and key of the communicator, and the sequence number of its registration."""

    comm_id: int
    key: int
    coll_tag: int

    @classmethod
    def made_up(cls, seed: int) -> "Communicator":
        """One for this seed. Its key is never 0."""
        random_ = random.Random(f"communicator {seed}")
        return cls(random_.getrandbits(16), random_.randint(1, (1 << 32) - 1), random_.getrandbits(32))

    def owns(self, packet: Packet) -> bool:
        """Whether a packet is one of this communicator."""
        return packet.comm_id == self.comm_id and packet.coll_tag_high32 == self.key
