"""What ends a simulation."""

__all__ = ["SimulationError"]


class SimulationError(RuntimeError):
    """The simulated system did something that it must never do: it hangs, or delivers to the wrong place."""
