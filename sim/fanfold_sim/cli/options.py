"""Options that subcommands share: a NIC's configuration, from a preset and single options.

``simulate`` and ``generate`` both call ``add_config_options`` when they build their parser and ``config_from`` when
they run.
"""

from argparse import ArgumentParser, Namespace
from dataclasses import fields
from typing import Any

from fanfold.config import PRESETS, Config

__all__ = ["CONFIG_HELP", "BadInput", "add_config_options", "config_from"]


class BadInput(Exception):
    """What the user gave cannot be used; the message is one line that names the value and what is allowed."""


#: what each parameter of ``Config`` means, for ``--help``; an option for each
CONFIG_HELP = {
    "beat_bytes": "bytes of one beat: 8, 16, 32 or 64",
    "contributors": "contributors of a communicator at one NIC (leaders and child NICs): 2 to 128",
    "contexts": "communicators open at once: a power of two, 2 to 256",
    "window": "segments a contributor may have unanswered: a power of two, 2 to 64",
    "segment_bytes": "payload bytes of a segment at most: a multiple of 64, 128 to 8192",
    "operators": "reduction operators, with commas between",
    "types": "element types, with commas between",
    "adder_stages": "pipeline registers of the floating-point adder: 3 to 9",
    "queue_bits": "width of the host queue number: 1 to 16",
    "udp_port": "UDP port of tagged packets",
    "frame_bytes": "bytes of the longest frame from the network, 256 to 16384: the receive buffer has room for two",
}


def add_config_options(parser: ArgumentParser) -> None:
    """Adds ``--preset`` and an option for each parameter of ``Config``."""
    group = parser.add_argument_group("configuration of the NIC")
    group.add_argument("--preset", metavar="NAME", help=f"start from one of {', '.join(PRESETS)}")
    for name, meaning in CONFIG_HELP.items():
        several = name in ("operators", "types")
        group.add_argument(
            f"--{name.replace('_', '-')}",
            dest=f"config_{name}",
            metavar="LIST" if several else "N",
            type=str if several else int,
            help=meaning,
        )


def config_from(args: Namespace, default: Config | None = None) -> Config:
    """The configuration that ``args`` describe: the preset (else ``default``, else ``numa``) with the options over it.

    Raises ``BadInput`` for an unknown preset and for what cannot be built.
    """
    if args.preset is not None and args.preset not in PRESETS:
        raise BadInput(f"--preset {args.preset}: it must be one of {', '.join(PRESETS)}")
    base = PRESETS[args.preset] if args.preset is not None else default or PRESETS["numa"]
    plain = base.as_dict()
    for field in fields(Config):
        value: Any = getattr(args, f"config_{field.name}", None)
        if value is None:
            continue
        if isinstance(value, str):
            value = [part.strip().lower() for part in value.split(",") if part.strip()]
        plain[field.name] = value
    try:
        return Config.from_dict(plain)
    except ValueError as error:
        raise BadInput(f"this configuration cannot be built: {error}") from None
