"""What admission knows of a packet, rank by rank: shapes between its own stages."""

from amaranth.lib import data

from ..codes import Origin, Port, Status
from ..config import Config
from ..registry.ports import geometry_layout
from ..wire import COLLECTIVE, segment_layout

__all__ = ["decided_layout", "screened_layout"]


def screened_layout(config: Config) -> data.StructLayout:
    """A beat with what can be said of its packet without knowing its slot.

    ``refusal`` is the first cause that does not depend on the slot, ``failing`` the first that fails the whole
    segment. A result that is ``too_long`` has no room in its slot. ``down`` packets come from the parent, those of
    another ``origin`` than a port from the NIC itself; one of them may be for a ``sole`` contributor. In a
    ``lingering`` context only old segments are answered.
    """
    return data.StructLayout(
        {
            "data": 8 * config.beat_bytes,
            "first": 1,
            "last": 1,
            "bad": 1,
            "port": Port,
            "origin": Origin,
            "sole": 1,
            "down": 1,
            "header": COLLECTIVE.struct(),
            "context": range(config.contexts),
            "geometry": geometry_layout(config),
            "lingering": 1,
            "refusal": Status,
            "failing": Status,
            "too_long": 1,
        }
    )


def decided_layout(config: Config) -> data.StructLayout:
    """A beat that enters the fold, before its plan is drawn up.

    ``folds`` contributions climb the tree as far as ``present`` says (the contributors that are in, this one included,
    of ``total``); others pass. ``leaves`` packets leave the fold: their ``segment`` goes to the results.
    """
    return data.StructLayout(
        {
            "data": 8 * config.beat_bytes,
            "first": 1,
            "last": 1,
            "bad": 1,
            "beat": range(config.segment_beats),
            "slot": range(config.fold_slots),
            "leaf": range(config.leaves),
            "operator": 8,
            "type": 8,
            "folds": 1,
            "present": config.contributors,
            "total": range(config.contributors + 1),
            "leaves": 1,
            "segment": segment_layout(config),
        }
    )
