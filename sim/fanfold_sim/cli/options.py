"""Options that subcommands share: a NIC's configuration, from a preset and single options.

``simulate`` and ``generate`` both call ``add_config_options`` when they build their parser and ``config_from`` when
they run.
"""

from argparse import ArgumentParser, Namespace
from dataclasses import fields
from typing import Any

from fanfold.codes import DataType, Operator, defined
from fanfold.config import PRESETS, Config

__all__ = ["CONFIG_HELP", "BadInput", "add_config_options", "config_from"]


class BadInput(Exception):
    """What the user gave cannot be used; the message is one line that names the value and what is allowed."""


def _listed(members) -> str:
    return ", ".join(member.name.lower() for member in members)


#: what each parameter of ``Config`` means, for ``--help``; an option for each
CONFIG_HELP = {
    "beat_bytes": "bytes of one beat: 8, 16, 32 or 64",
    "contributors": "contributors of a communicator at one NIC (leaders and child NICs): 2 to 128",
    "contexts": "communicators open at once: a power of two, 2 to 256",
    "window": "segments a contributor may have unanswered: a power of two, 2 to 64",
    "segment_bytes": "payload bytes of a segment at most: a multiple of 64, 128 to 8192",
    "operators": f"reduction operators, with commas between: all, or some of {_listed(Operator)}",
    "types": f"element types, with commas between: all, or some of {_listed(DataType)}",
    "adder_stages": "pipeline registers of the floating-point adder: 3 to 10",
    "queue_bits": "width of the host queue number: 1 to 16",
    "udp_port": "UDP port of tagged packets",
    "places": "contributors of all communicators together: a power of two; 0: as many as all contexts may have",
    "tick_bits": "a tick of the timers is 2 to the power of this many cycles: 4 to 20",
    "frame_bytes": "bytes of the longest frame from the network, 256 to 16384: the receive buffer has room for two",
    "waiting_segments": "segments that may wait for the fold at each port: a power of two, 4 to 256",
    "telemetry": "count packets by contributor too, not by context alone: 0 or 1",
}

#: parameters that are lists of codes
_CODES = {"operators": Operator, "types": DataType}


def add_config_options(parser: ArgumentParser) -> None:
    """Adds ``--preset`` and an option for each parameter of ``Config``."""
    group = parser.add_argument_group("configuration of the NIC")
    group.add_argument("--preset", metavar="NAME", help=f"start from one of {', '.join(PRESETS)}")
    for name, meaning in CONFIG_HELP.items():
        several = name in _CODES
        group.add_argument(
            f"--{name.replace('_', '-')}",
            dest=f"config_{name}",
            metavar="LIST" if several else "N",
            type=str if several else int,
            help=meaning,
        )


def config_from(args: Namespace, default: Config | None = None) -> Config:
    """The configuration that ``args`` describe: the preset (else ``default``, else ``numa``) with the options over it.

    Of operators and types that are not chosen, those that no longer go with anything are left out. Raises ``BadInput``
    for an unknown preset and for what cannot be built.
    """
    if args.preset is not None and args.preset not in PRESETS:
        raise BadInput(f"--preset {args.preset}: it must be one of {', '.join(PRESETS)}")
    base = PRESETS[args.preset] if args.preset is not None else default or PRESETS["numa"]
    chosen: dict[str, Any] = {}
    for field in fields(Config):
        value = getattr(args, f"config_{field.name}", None)
        if value is not None:
            chosen[field.name] = _names(value, _CODES[field.name]) if field.name in _CODES else value
    try:
        return Config.from_dict({**base.as_dict(), **_still_useful(base, chosen), **chosen})
    except ValueError as error:
        raise BadInput(f"this configuration cannot be built: {error}") from None


def _names(text: str, members) -> list[str]:
    if text.strip().lower() == "all":
        return [member.name.lower() for member in members]
    return [part.strip().lower() for part in text.split(",") if part.strip()]


def _known(members, names):
    return [members[name.upper()] for name in names if name.upper() in members.__members__]


def _still_useful(base: Config, chosen: dict[str, Any]) -> dict[str, list[str]]:
    """When only operators or only types are chosen: those of the others that go with them, if there are any."""
    operators, types = (_known(members, chosen.get(option, ())) for option, members in _CODES.items())
    if bool(operators) == bool(types):
        return {}
    if operators:
        option, left = "types", [kind for kind in base.types if any(defined(each, kind) for each in operators)]
    else:
        option, left = "operators", [each for each in base.operators if any(defined(each, kind) for kind in types)]
    return {option: [member.name.lower() for member in left]} if left else {}
