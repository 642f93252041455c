"""Proofs in layers: each stands on those before it, so that the solver has one thing to show at a time."""

from amaranth.lib import wiring
from prover import Proof

__all__ = ["LayeredProof"]


class LayeredProof(Proof):
    """A proof of what is stated in one ``layer``, or of all of it at once.

    What is stated in an earlier layer is assumed in every cycle, what comes in a later one is left out. So no statement
    is assumed for its own proof, and when all layers are proven, each by its bounded check and its induction, all of
    it holds.
    """

    def __init__(self, component: wiring.Component, layer: int | None = None, *, lemmas: bool = True):
        super().__init__(component, lemmas=lemmas)
        self._layer, self._stated = layer, 0

    def next_layer(self) -> None:
        """What is stated from here on stands on what was stated before."""
        self._stated += 1

    def require(self, condition, message: str):
        if self._layer is None or self._stated == self._layer:
            super().require(condition, message)
        elif self._stated < self._layer:
            self.assume(condition, message)
