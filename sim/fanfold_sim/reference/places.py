"""Places for contributors (docs/protocol.md, section 2): all communicators share them, each in a block of its own."""

from fanfold.config import Config

__all__ = ["Places"]

#: a place is not given away alone where there are more than this: then they go in equal parts, this many
_PARTS = 64


class Places:
    """``count`` places, given away in aligned blocks whose size is a power of two; the lowest free one first."""

    def __init__(self, config: Config):
        self.count = config.pool_places
        self._least = max(1, self.count // _PARTS)
        self._taken: set[int] = set()

    def find(self, contributors: int, instead: range | None = None) -> range | None:
        """The block that so many contributors would get, if ``instead`` were given back before; ``None``: there is
        none."""
        size = max(self._least, 1 << (contributors - 1).bit_length())
        taken = self._taken.difference(instead or ())
        blocks = (range(base, base + size) for base in range(0, self.count, size))
        return next((block for block in blocks if taken.isdisjoint(block)), None)

    def take(self, block: range) -> None:
        """Gives a free block away."""
        self._taken.update(block)

    def give_back(self, block: range) -> None:
        """Makes a block free."""
        self._taken.difference_update(block)
