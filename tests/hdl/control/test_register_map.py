"""The register map: consistent in itself, with the events, with the configuration, and with the documentation."""

import json
from pathlib import Path

import pytest

from fanfold.config import PRESETS, Config
from fanfold.control import EVENTS, by_name, counter, describe, register_map
from fanfold.control.description import ADDRESS_BITS, table

DOCS = Path(__file__).parents[3] / "docs" / "registers.md"


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_addresses_are_words_of_their_own(config):
    registers = describe(config)
    assert len({register.address for register in registers}) == len({register.name for register in registers})
    for register in registers:
        assert register.address % 4 == 0
        assert register.address < 1 << ADDRESS_BITS
        assert 1 <= register.width <= 32
        assert register.reset < 1 << register.width
        assert register.description


def test_every_event_has_its_counter():
    counters = {name: register for name, register in by_name(Config()).items() if name.startswith("count_")}
    assert list(counters) == [counter(event) for event in EVENTS]
    assert [register.description for register in counters.values()] == list(EVENTS.values())
    first = counters[counter(next(iter(EVENTS)))].address
    assert [register.address for register in counters.values()] == [first + 4 * n for n in range(len(EVENTS))]
    assert all(register.access == "ro" and not register.constant for register in counters.values())


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_constants_tell_the_configuration(config):
    registers = by_name(config)
    for name, value in config.as_dict().items():
        if name not in ("operators", "types", "adder_stages", "places"):
            assert registers[name].reset == value
    assert registers["places"].reset == config.pool_places
    for name in ("operators", "types"):
        codes = [code for code in range(32) if registers[name].reset >> code & 1]
        assert codes == sorted(member.value for member in getattr(config, name))
    assert registers["places"].reset == config.pool_places
    assert registers["magic"].reset.to_bytes(4, "big") == b"FOLD"


def test_the_extremes_of_the_configuration_fit_their_registers():
    sizes = dict(contributors=128, contexts=256, window=64, segment_bytes=8192, queue_bits=16, udp_port=65535)
    extreme = Config(**sizes, frame_bytes=16384, waiting_segments=256)
    registers = by_name(extreme)
    for name in (*sizes, "frame_bytes", "waiting_segments"):
        assert registers[name].reset == getattr(extreme, name)
    assert registers["places"].reset == extreme.pool_places == 2**15
    assert [name for name in registers if name.startswith("open_contexts")] == [f"open_contexts_{n}" for n in range(8)]


def test_the_map_is_ready_for_json():
    plain = register_map(PRESETS["tiny"])
    assert json.loads(json.dumps(plain)) == plain
    assert plain["registers"][0]["name"] == "magic"


def test_the_documentation_has_the_map():
    assert table(Config()) in DOCS.read_text(), "print the table anew: python -m fanfold.control.description"
