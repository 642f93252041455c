"""Another communicator, which holds the table entry that a registration needs."""

from fanfold.config import Config

from ..frames import Address
from ..leader import Leader
from .addresses import Communicator, leader_address

__all__ = ["tenant_of"]


def tenant_of(communicator: Communicator, node: int, nic: Address, config: Config) -> Leader:
    """The one leader of a communicator that falls on the same entry of the NIC of ``node``, with another key."""
    # a key of 0 would be taken for regular traffic of nobody's
    key = communicator.key ^ 2 or 1
    return Leader(leader_address(node, 0, config), nic, communicator.comm_id, key, 0)
