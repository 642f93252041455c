"""Answers for the rooms that ask: lookups, screening and the directory, from tables that enrolment writes."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..wire import address_layout
from .ports import directory_signature, geometry_layout, key_layout, lookup_layout, lookup_signature, screen_signature
from .table import Table

__all__ = ["Lookups", "context_layout", "member_layout"]


def context_layout(config: Config) -> data.StructLayout:
    """What enrolment writes of a context: who it is, its shape, the addresses of the parent and of this NIC, and
    how long its segments may wait here (``abort_ticks``)."""
    return data.StructLayout(
        {
            "context": range(config.contexts),
            "names": key_layout(),
            "geometry": geometry_layout(config),
            "parent": address_layout(config),
            "local_mac": 48,
            "local_ip": 32,
            "abort_ticks": 32,
        }
    )


def member_layout(config: Config) -> data.StructLayout:
    """What enrolment writes of a contributor: where it registered, at its place."""
    return data.StructLayout(
        {
            "place": range(config.pool_places),
            "address": address_layout(config),
        }
    )


class Lookups(wiring.Component):
    """The tables behind the registry's questions: one copy for each room that asks, so that none waits for another.

    Latency: as in ``ports``. Throughput: 1 on every port. Ready path: always ready. Order: kept. On error: an answer
    for a context that is neither open nor lingers says so, the rest of it means nothing.
    """

    def __init__(self, config: Config):
        lookup, directory = lookup_signature(), directory_signature(config)
        super().__init__(
            {
                "open_contexts": In(config.contexts),
                "lingering_contexts": In(config.contexts),
                "describe": In(stream.Signature(context_layout(config), always_ready=True)),
                "enrol": In(stream.Signature(member_layout(config), always_ready=True)),
                "host_lookup": In(lookup),
                "net_lookup": In(lookup),
                "host_directory": In(directory),
                "net_directory": In(directory),
                "screen": In(screen_signature(config)),
                #: where a contributor registered, for enrolment itself: the answer comes one cycle after the question
                "member": In(
                    wiring.Signature(
                        {
                            "context": Out(range(config.contexts)),
                            "index": Out(range(config.contributors)),
                            "address": In(address_layout(config)),
                        }
                    )
                ),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        local = data.StructLayout({"mac": 48, "ip": 32})

        m.submodules.names = names = Table(key_layout(), config.contexts, readers=3)
        m.submodules.geometry = geometry = Table(geometry_layout(config), config.contexts, readers=1)
        m.submodules.parents = parents = Table(address_layout(config), config.contexts, readers=3)
        m.submodules.locals = local_addresses = Table(local, config.contexts, readers=4)
        m.submodules.members = members = Table(address_layout(config), config.pool_places, readers=4)
        # few bits, read in the same cycle: they are part of the next table's address
        bases = Memory(shape=range(config.pool_places), depth=config.contexts, init=[])
        m.submodules.bases = bases
        self._bases = [bases.read_port(domain="comb") for _ in range(4)]
        base = bases.write_port()
        m.d.comb += [
            base.en.eq(self.describe.valid),
            base.addr.eq(self.describe.p.context),
            base.data.eq(self.describe.p.geometry.base),
        ]

        written = self.describe.p
        for table, row in (
            (names, written.names),
            (geometry, written.geometry),
            (parents, written.parent),
            (local_addresses, Cat(written.local_mac, written.local_ip)),
        ):
            m.d.comb += [
                table.write.valid.eq(self.describe.valid),
                table.write.p.address.eq(written.context),
                Value.cast(table.write.p.data).eq(Value.cast(row)),
            ]
        member = self.enrol.p
        m.d.comb += [
            members.write.valid.eq(self.enrol.valid),
            members.write.p.address.eq(member.place),
            members.write.p.data.eq(member.address),
        ]

        found = Signal(config.contexts)  # contexts whose packets concern this NIC
        self._look_up(m, self.host_lookup, names.read[0], local_addresses.read[0], found)
        self._look_up(m, self.net_lookup, names.read[1], local_addresses.read[1], found)
        self._direct(m, 0, self.host_directory, members.read[0], parents.read[0], local_addresses.read[2])
        self._direct(m, 1, self.net_directory, members.read[1], parents.read[1], local_addresses.read[3])

        question, answer = self.screen.question, self.screen.answer
        m.d.comb += found.eq(self.open_contexts | self.lingering_contexts)
        is_open = Signal()
        lingers = Signal()
        m.d.sync += [
            is_open.eq(self.open_contexts.bit_select(question.context, 1)),
            lingers.eq(self.lingering_contexts.bit_select(question.context, 1)),
        ]
        m.d.comb += [
            names.read[2].address.eq(question.context),
            geometry.read[0].address.eq(question.context),
            parents.read[2].address.eq(question.context),
            members.read[2].address.eq(self._member(m, 2, question.context, question.index)),
            answer.open.eq(is_open),
            answer.lingering.eq(lingers),
            answer.names.eq(names.read[2].data),
            answer.geometry.eq(geometry.read[0].data),
            answer.parent.eq(parents.read[2].data),
            answer.member.eq(members.read[2].data),
            members.read[3].address.eq(self._member(m, 3, self.member.context, self.member.index)),
            self.member.address.eq(members.read[3].data),
        ]
        return m

    def _member(self, m, reader, context, index):
        """The place of a contributor: a block begins at a multiple of its size."""
        port = self._bases[reader]
        m.d.comb += port.addr.eq(context)
        return port.data | Value.cast(index)[: self._config.levels]

    def _look_up(self, m, port, names, local, found):
        """One rank to read names and address, one to compare them."""
        index = port.request.p.names.comm_id[: (self._config.contexts - 1).bit_length()]
        asked = Signal(lookup_layout(), reset_less=True)
        asked_valid = Signal()
        is_open = Signal()
        m.d.comb += [names.address.eq(index), local.address.eq(index)]
        m.d.sync += [
            asked.eq(port.request.payload),
            asked_valid.eq(port.request.valid),
            is_open.eq(found.bit_select(index, 1)),
            port.response.p.open.eq(is_open & (Value.cast(names.data) == Value.cast(asked.names))),
            port.response.p.here.eq(Value.cast(local.data) == Cat(asked.local_mac, asked.local_ip)),
            port.response.valid.eq(asked_valid),
        ]

    def _direct(self, m, reader, port, member, parent, local):
        """One rank to read the tables, one to choose between them."""
        question = port.request.p
        to_parent = Signal()
        asked = Signal()
        m.d.comb += [
            member.address.eq(self._member(m, reader, question.context, question.index)),
            parent.address.eq(question.context),
            local.address.eq(question.context),
        ]
        m.d.sync += [
            to_parent.eq(question.parent),
            asked.eq(port.request.valid),
            port.response.valid.eq(asked),
            Value.cast(port.response.p.remote).eq(Mux(to_parent, Value.cast(parent.data), Value.cast(member.data))),
            port.response.p.local_mac.eq(local.data.mac),
            port.response.p.local_ip.eq(local.data.ip),
        ]
