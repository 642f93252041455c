"""From the options of ``fanfold simulate`` to a job that can run; everything that can be wrong is found here."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import numpy as np

from fanfold.codes import Collective, DataType, Operator, defined
from fanfold.config import PRESETS, Config

from .. import toolchain
from ..faults import Injection, exchange_cycles, timing_for
from ..host.addresses import MOST_NODES
from ..host.background import BackgroundError, load_background
from ..host.parameters import PROFILES, HostParameters, NetworkParameters, with_settings
from ..host.rows import WorkloadError, load_rows, made_up_rows
from ..host.tree import NicTree
from ..host.workload import Workload
from ..nic import Timing
from ..topology import CoreGroup, Machine, TopologyError, group_cores, load_machine
from .options import BadInput, config_from

__all__ = ["COLLECTIVES", "DEFAULT_BYTES", "SIMULATORS", "TIMERS", "Job", "job_from"]

COLLECTIVES = ("allreduce", "barrier")
SIMULATORS = ("auto", "reference", "amaranth", "verilator")
DEFAULT_BYTES = 1024
MOST_TIMES = 1_000_000

#: what the timers' options say, for ``--help``
TIMERS = {
    "abort_ticks": "a segment may wait for contributors, times the levels of NICs from this one down",
    "retry_ticks": "from one packet to a parent that does not answer to the next",
    "retry_limit": "such packets are repeated at most so often, times the levels above",
    "linger_ticks": "a NIC answers its children after the deregistration, times the levels from this one up",
}

#: what is folded when the user does not say, the more important first
_USUAL = (Operator.SUM, DataType.FLOAT32, DataType.INT32)

#: machines whose latencies have a profile of their own; others take the first
_PROFILE_OF = {"kunpeng920-96": "kunpeng920", "xeon-8375c": "xeon-8375c", "epyc-7742": "epyc-7742"}


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run of ``fanfold simulate``, checked."""

    machine: Machine
    groups: tuple[CoreGroup, ...]
    group_by: str
    nodes: int
    config: Config
    workload: Workload
    simulator: str
    #: why another simulator than the usual one was taken, or nothing
    remark: str
    host: HostParameters
    network: NetworkParameters
    background: tuple[bytes, ...]
    background_load: float
    waves: Path | None
    waves_node: int
    pcap: Path | None
    json: Path | None
    seed: int
    injection: Injection | None
    #: what NICs are told to wait for, before their place in the tree counts
    timing: Timing | None
    #: how many collectives, and whether each has data of its own
    times: int
    made_up: bool

    def workloads(self) -> Iterator[Workload]:
        """One collective after another."""
        yield self.workload
        for number in range(1, self.times):
            rows = self.workload.rows
            if rows is not None and self.made_up:
                data_type, operator = self.workload.data_type, self.workload.operator
                rows = made_up_rows(data_type, len(rows), self.workload.row_bytes, self.seed + number, operator)
            yield replace(self.workload, rows=rows)


def job_from(args: Namespace) -> Job:
    """The job that ``args`` describe. Raises ``BadInput``."""
    try:
        machine = load_machine(args.topology)
        groups = group_cores(machine, args.group_by)
    except TopologyError as error:
        raise BadInput(f"--topology {error}") from None
    _between("--nodes", args.nodes, 1, MOST_NODES)
    _between("--seed", args.seed, 0, (1 << 64) - 1)
    wanted = _wanted(args, args.nodes * len(machine.cores))
    config = config_from(args, _able_to(wanted, _fitting(len(groups), args.nodes)))
    try:
        tree = NicTree.that_fits(args.nodes, len(groups), config.contributors)
    except ValueError as error:
        raise BadInput(f"--group-by {args.group_by} of {machine.name}: {error}") from None
    workload = _workload(args, wanted, config, args.nodes * len(machine.cores))
    simulator, remark = _simulator(args.simulator)
    host, network = _parameters(args, machine)
    injection = _injection(args, len(groups))
    timing = _timing(args, tree, network, config)
    _between("--times", args.times, 1, MOST_TIMES)
    background: list[bytes] = []
    if args.background is not None:
        try:
            background = load_background(args.background, args.seed, config.udp_port)
        except BackgroundError as error:
            raise BadInput(f"--background {error}") from None
    if not 0 < args.background_load <= 1:
        raise BadInput(f"--background-load {args.background_load:g}: it must be more than 0 and at most 1")
    _check_files(args, simulator)
    return Job(
        machine=machine,
        groups=groups,
        group_by=args.group_by,
        nodes=args.nodes,
        config=config,
        workload=workload,
        simulator=simulator,
        remark=remark,
        host=host,
        network=network,
        background=tuple(background),
        background_load=args.background_load,
        waves=args.waves,
        waves_node=args.waves_node,
        pcap=args.pcap,
        json=args.json,
        seed=args.seed,
        injection=injection,
        timing=timing,
        times=args.times,
        made_up=args.data is None,
    )


def _injection(args: Namespace, leaders: int) -> Injection | None:
    if not args.inject:
        return None
    try:
        injection = Injection.parse(args.inject)
        injection.check(args.nodes, leaders)
    except ValueError as error:
        raise BadInput(f"--inject {error}") from None
    return injection


def _timing(args: Namespace, tree: NicTree, network: NetworkParameters, config: Config) -> Timing | None:
    """What the user says of the timers; where something is injected the rest is what fits the tree, else nothing."""
    said = {name: getattr(args, name) for name in TIMERS if getattr(args, name) is not None}
    if not args.inject and not said:
        return None
    try:
        timing = Timing(**said)
        if not args.inject:
            return timing
        exchange = exchange_cycles(network, config)
        kept = {name: value for name, value in said.items() if name in ("abort_ticks", "retry_ticks")}
        return replace(timing_for(tree.depth, exchange, config.tick_bits, **kept), **said)
    except ValueError as error:
        name, _, rest = str(error).partition(" is ")
        raise BadInput(f"--{name.replace('_', '-')} {rest}") from None


def _between(option: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise BadInput(f"{option} {value}: it must be from {low} to {high}")


def _fitting(leaders: int, nodes: int) -> Config:
    """The smallest of the full-width presets that takes these leaders and a child NIC."""
    needed = leaders + (1 if nodes > 1 else 0)
    presets = sorted((PRESETS["numa"], PRESETS["cores"]), key=lambda config: config.contributors)
    return next((config for config in presets if config.contributors >= needed), presets[-1])


@dataclass(frozen=True)
class _Wanted:
    """What is to be folded, as far as the user says it; a barrier folds nothing."""

    operator: Operator | None = None
    data_type: DataType | None = None
    rows: np.ndarray | None = None


def _wanted(args: Namespace, cores: int) -> _Wanted:
    if args.collective.upper() == "BARRIER":
        given = [name for name in ("op", "type", "bytes", "data") if getattr(args, name) is not None]
        if given:
            raise BadInput(f"--{given[0]} {getattr(args, given[0])}: a barrier carries no data")
        return _Wanted()
    operator = None if args.op is None else _member(Operator, "--op", args.op)
    data_type = None if args.type is None else _member(DataType, "--type", args.type)
    if args.data is None:
        return _Wanted(operator, data_type)
    if args.bytes is not None:
        raise BadInput(f"--bytes {args.bytes}: --data {args.data} says how much data there is; give one of them")
    try:
        rows, data_type = load_rows(args.data, cores, data_type)
    except WorkloadError as error:
        raise BadInput(f"--data {error}") from None
    return _Wanted(operator, data_type, rows)


def _able_to(wanted: _Wanted, base: Config) -> Config:
    """``base`` with the operator and the type that are wanted; options and presets that the user gives come after."""
    operators = list(dict.fromkeys([*base.operators, *([wanted.operator] if wanted.operator is not None else [])]))
    types = list(dict.fromkeys([*base.types, *([wanted.data_type] if wanted.data_type is not None else [])]))
    # each goes with something
    for operator in operators:
        if not any(defined(operator, kind) for kind in types):
            types.append(next(kind for kind in DataType if defined(operator, kind)))
    for kind in types:
        if not any(defined(operator, kind) for operator in operators):
            operators.append(next(operator for operator in Operator if defined(operator, kind)))
    return replace(base, operators=tuple(operators), types=tuple(types))


def _workload(args: Namespace, wanted: _Wanted, config: Config, cores: int) -> Workload:
    collective: Collective = Collective[args.collective.upper()]
    if collective.name == "BARRIER":
        return Workload(collective)
    _check_built("--op", wanted.operator, config.operators)
    _check_built("--type" if args.data is None else "--data of type", wanted.data_type, config.types)
    operator, data_type = _pair(config, wanted.operator, wanted.data_type)
    rows = wanted.rows
    if rows is None:
        row_bytes = DEFAULT_BYTES if args.bytes is None else args.bytes
        try:
            rows = made_up_rows(data_type, cores, row_bytes, args.seed, operator)
        except WorkloadError as error:
            raise BadInput(f"--bytes {error}") from None
    return Workload(collective, operator, data_type, rows)


def _pair(config: Config, operator: Operator | None, data_type: DataType | None) -> tuple[Operator, DataType]:
    """What is to be folded: what the user left open is as usual where that fits, or the first that does."""
    fitting = [pair for pair in config.pairs if operator in (None, pair[0]) and data_type in (None, pair[1])]
    if fitting:
        return min(fitting, key=lambda pair: [usual not in pair for usual in _USUAL])
    # each goes with something, so both were given
    operators = [each for each, kind in config.pairs if kind is data_type]
    types = [kind for each, kind in config.pairs if each is operator]
    raise BadInput(
        f"--op {_names([operator])} of type {_names([data_type])} is not defined: {_names([data_type])} has "
        f"{_names(operators)}; {_names([operator])} takes {_names(types)}"
    )


def _names(members) -> str:
    return ", ".join(member.name.lower() for member in members)


def _member(members, option: str, text: str):
    """The member of an enumeration with this name."""
    try:
        return members[text.upper()]
    except KeyError:
        raise BadInput(f"{option} {text.lower()}: it must be one of {_names(members)}") from None


def _check_built(option: str, member: Operator | DataType | None, built) -> None:
    if member is not None and member not in built:
        choose = "--operators" if isinstance(member, Operator) else "--types"
        raise BadInput(f"{option} {_names([member])}: this configuration has {_names(built)}; {choose} gives it others")


def _simulator(wanted: str) -> tuple[str, str]:
    if wanted in ("reference", "amaranth"):
        return wanted, ""
    try:
        toolchain.verilator_environment()
    except toolchain.ToolMissing as error:
        if wanted == "verilator":
            raise BadInput(f"--simulator verilator: {error}; allowed without are reference, amaranth, auto") from None
        return "amaranth", f"{error}: running on Amaranth's simulator instead, which is much slower"
    return "verilator", ""


def _parameters(args: Namespace, machine: Machine) -> tuple[HostParameters, NetworkParameters]:
    profile = args.host_profile or _PROFILE_OF.get(args.topology, next(iter(PROFILES)))
    if profile not in PROFILES:
        raise BadInput(f"--host-profile {profile}: it must be one of {', '.join(PROFILES)}")
    settings = dict(_setting(text) for text in args.set)
    host, network = PROFILES[profile], NetworkParameters()
    if "nic_package" in settings:
        if settings["nic_package"] not in range(machine.packages):
            raise BadInput(f"--set nic_package={settings['nic_package']:g}: sockets are 0 to {machine.packages - 1}")
        settings["nic_package"] = int(settings["nic_package"])
    known = [name for part in (host, network) for name, value in vars(part).items() if isinstance(value, float | int)]
    for name in settings:
        if name not in known:
            raise BadInput(f"--set {name}: it must be one of {', '.join(known)}")
    try:
        return with_settings(host, settings), with_settings(network, settings)
    except ValueError as error:
        raise BadInput(f"--set {error}") from None


def _setting(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        equals = ""
    if not equals:
        raise BadInput(f"--set {text}: it must be NAME=NUMBER")
    return name.strip(), number


def _check_files(args: Namespace, simulator: str) -> None:
    if args.waves is not None:
        if simulator == "reference":
            raise BadInput("--waves: the reference model has no signals; it must be --simulator amaranth or verilator")
        if args.waves.suffix not in (".vcd", ".fst"):
            raise BadInput(f"--waves {args.waves}: the name must end in .vcd or .fst")
        if args.waves.suffix == ".fst" and simulator != "verilator":
            raise BadInput(f"--waves {args.waves}: {simulator} writes VCD; the name must end in .vcd")
        if args.waves.suffix == ".fst" and not toolchain.has_lz4():
            raise BadInput(f"--waves {args.waves}: FST needs the headers of LZ4 (lz4.h) here; give a name with .vcd")
        _between("--waves-node", args.waves_node, 0, args.nodes - 1)
        _can_write("--waves", args.waves)
    if args.json is not None:
        _can_write("--json", args.json)
    if args.pcap is not None:
        if args.pcap.exists() and not args.pcap.is_dir():
            raise BadInput(f"--pcap {args.pcap}: it is a file; it must be a directory")
        try:
            args.pcap.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            _cannot("--pcap", args.pcap, error)


def _can_write(option: str, path: Path) -> None:
    there = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        _cannot(option, path, error)


def _cannot(option: str, path: Path, error: OSError) -> NoReturn:
    raise BadInput(f"{option} {path}: {error.strerror or error}") from None
