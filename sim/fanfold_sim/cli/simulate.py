"""``fanfold simulate``: one collective on simulated nodes through simulated NICs, checked bit by bit."""

import json
import platform
import sys
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from ..fault_report import FaultReport
from ..faults.injection import KINDS
from ..host.cluster import Cluster, Refused
from ..host.node import SimulationError
from ..host.outcome import Outcome
from ..host.parameters import PROFILES
from ..host.recorder import Recorder
from ..nic import Nic, make_nic
from ..report import Regular, Report
from ..toolchain import ToolMissing, verilator_version
from ..topology import GROUPINGS, MACHINES
from ..waveforms import save_path
from .job import COLLECTIVES, DEFAULT_BYTES, SIMULATORS, TIMERS, Job, job_from
from .options import BadInput, add_config_options
from .progress import Progress

__all__ = ["add_parser", "run", "simulate"]


def add_parser(subparsers) -> None:
    """Adds the subcommand."""
    parser: ArgumentParser = subparsers.add_parser(
        "simulate",
        help="run a collective on simulated nodes",
        description="Runs a collective on simulated nodes, through NICs played by RTL or by the reference model, and "
        "compares every core's result with the reference order, bit by bit.",
    )
    add = parser.add_argument
    add("--topology", default="kunpeng920-96", metavar="NAME|FILE",
        help=f"a machine ({', '.join(MACHINES)}) or an lstopo XML file; default %(default)s")  # fmt: skip
    add("--nodes", type=int, default=2, metavar="N", help="machines; default %(default)s")
    add("--group-by", default="numa", choices=tuple(GROUPINGS), help="a leader for each; default %(default)s")
    add("--collective", default="allreduce", choices=COLLECTIVES, help="default %(default)s")
    add("--op", metavar="OPERATOR", help="reduction operator; default sum, or minloc for pairs")
    add("--type", metavar="TYPE", help="element type; default float32 if the operator takes it, or that of --data")
    add("--bytes", type=int, metavar="N", help=f"random data for each core; default {DEFAULT_BYTES}")
    add("--data", type=Path, metavar="FILE.npy", help="a row of data for each core of the cluster, node by node")
    add("--simulator", default="auto", choices=SIMULATORS,
        help="who plays the NICs; auto is verilator, or amaranth without a C++ compiler")  # fmt: skip
    add("--background", metavar="FILE.pcap|synthetic:N",
        help="regular traffic through every NIC, both ways: a capture, or N made-up frames")  # fmt: skip
    add("--background-load", type=float, default=0.5, metavar="PART", help="of the ports' rate; default %(default)s")
    add("--waves", type=Path, metavar="FILE.vcd|.fst", help="waveform of one NIC")
    add("--waves-node", type=int, default=0, metavar="N", help="of this node's; default %(default)s, the tree's root")
    add("--pcap", type=Path, metavar="DIR", help="captures of what crossed the NICs' ports, a file a node")
    add("--seed", type=int, default=0, metavar="N", help="of random data and of the communicator; default %(default)s")
    add("--json", type=Path, metavar="FILE", help="the report for programs")
    add("--host-profile", metavar="NAME", help=f"latencies of the host: {', '.join(PROFILES)}; default by topology")
    add(
        "--set", action="append", default=[], metavar="NAME=NUMBER", help="one latency or rate of the model; repeatable"
    )
    add("--times", type=int, default=1, metavar="N", help="collectives, one after another; default %(default)s")
    faults = parser.add_argument_group("faults")
    faults.add_argument("--inject", action="append", default=[], metavar="SPEC",
        help="what goes wrong, with commas between; repeatable: "
        + "; ".join(f"{form}: {meaning}" for form, meaning in KINDS.values()))  # fmt: skip
    for name, meaning in TIMERS.items():
        unit = "" if name == "retry_limit" else "ticks that "
        faults.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=unit + meaning)
    add_config_options(parser)


def run(args: Namespace) -> int:
    """Runs the subcommand; 0 when the result and the regular traffic are right, else 1."""
    job = job_from(args)
    if job.remark:
        print(f"fanfold simulate: {job.remark}", file=sys.stderr)
    try:
        report = simulate(job)
    except (SimulationError, AssertionError) as error:
        if job.json is not None:
            _write_json(job.json, {"correct": False, "wrong": str(error), "seed": job.seed, "versions": _versions(job)})
        print(f"fanfold simulate: {error}", file=sys.stderr)
        return 1
    if job.json is not None:
        _write_json(job.json, report.as_dict())
    for line in report.lines():
        print(line)
    return 0 if report.passed else 1


def simulate(job: Job) -> Report:
    """Registers, runs the collective beside the regular traffic, deregisters, and reports; in software when the NICs
    refuse.

    Raises ``SimulationError`` when the run hangs, and ``AssertionError`` when the hardware finds itself wrong.
    """
    with ExitStack() as stack:
        progress = stack.enter_context(Progress())
        recorder = None
        if job.pcap is not None:
            recorder = Recorder(job.pcap, job.nodes)
            stack.callback(recorder.close)
        progress.stage(f"making {job.nodes} NIC{'s' if job.nodes > 1 else ''} ({job.simulator})")
        cluster = Cluster(
            job.machine,
            job.groups,
            job.nodes,
            job.config,
            lambda node: _make(job, node),
            host=job.host,
            network=job.network,
            seed=job.seed,
            captures=recorder,
            progress=progress.advance,
            timing=job.timing,
            injection=job.injection,
        )
        stack.callback(cluster.close)
        progress.stage("registering")
        ranks, fallback, left_open = job.nodes * len(job.machine.cores), "", ""
        try:
            cluster.register()
        except Refused as refused:
            fallback = str(refused)
            progress.stage(f"{fallback}: going on in software")
        left_out = cluster.start_background(job.background, job.background_load)
        progress.stage(job.workload.collective.name.lower())
        if job.times > 1:
            cluster.progress = lambda done, total: progress.advance(len(outcomes), job.times)
        outcomes: list[Outcome] = []
        for workload in job.workloads():
            outcomes.append((cluster.collective_in_software if fallback else cluster.collective)(workload))
            if not outcomes[-1].correct:
                break
        if not fallback:
            progress.stage("deregistering")
            cluster.progress = progress.advance
            left_open = cluster.deregister()
        progress.stage("draining")
        cluster.drain()
        streams = [stream for node in cluster.nodes if not node.dead for stream in node.streams.values()]
        faults = None
        if job.injection is not None:
            tick_ns = cluster.period * (1 << job.config.tick_bits) / 1000
            faults = FaultReport.of(cluster, tick_ns, [outcome.verdict for outcome in outcomes], left_open)
        counters = [node.nic.nic.counters() for node in cluster.nodes]
    files = {"waves": [str(job.waves), str(save_path(job.waves))] if job.waves is not None else []}
    files["captures"] = [str(path) for path in recorder.paths] if recorder else []
    files["json"] = [str(job.json)] if job.json is not None else []
    has_data = job.workload.rows is not None
    return Report(
        collective=job.workload.collective.name.lower(),
        operator=job.workload.operator.name.lower() if has_data else None,
        data_type=job.workload.data_type.name.lower() if has_data else None,
        bytes=job.workload.row_bytes,
        segments=outcomes[0].segments,
        machine=job.machine.summary,
        nodes=job.nodes,
        group_by=job.group_by,
        leaders=len(job.groups),
        ranks=ranks,
        simulator=job.simulator,
        config=job.config,
        host=job.host,
        network=job.network,
        clock_ps=cluster.period,
        wrong=_wrong(outcomes),
        latency_ps=outcomes[0].latency,
        parts_ps=outcomes[0].parts,
        regular=Regular(
            sent=sum(stream.sent for stream in streams),
            identical=sum(stream.identical for stream in streams),
            left_out=left_out,
            difference=next((stream.difference for stream in streams if stream.difference), ""),
        ),
        links=cluster.links,
        counters=counters,
        seed=job.seed,
        versions=_versions(job),
        files={kind: paths for kind, paths in files.items() if paths},
        faults=faults,
        fallback=fallback,
        times=len(outcomes),
    )


def _wrong(outcomes: list[Outcome]) -> str:
    """What is wrong with the last collective, after which no other was begun."""
    last = outcomes[-1]
    wrong = last.trouble or (str(last.mismatch) if last.mismatch else "")
    return f"collective {len(outcomes)}: {wrong}" if wrong and len(outcomes) > 1 else wrong


def _make(job: Job, node: int) -> Nic:
    try:
        return make_nic(job.simulator, job.config, waves=job.waves if node == job.waves_node else None)
    except ToolMissing as error:
        raise BadInput(f"--simulator {job.simulator}: {error}") from None


def _versions(job: Job) -> dict[str, str]:
    versions = {name: version(name) for name in ("fanfold", "amaranth", "numpy")}
    versions["python"] = platform.python_version()
    if job.simulator == "verilator":
        versions["verilator"] = verilator_version()
    return versions


def _write_json(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")
