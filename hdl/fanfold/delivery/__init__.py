"""Which copies go where: ``Delivery`` has a ``Walker`` for each port."""

from .delivery import Delivery
from .walker import Walker

__all__ = ["Delivery", "Walker"]
