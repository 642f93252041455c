"""The products of a lane against exact arithmetic in Python's integers, and against Berkeley SoftFloat."""

import random
from fractions import Fraction
from types import SimpleNamespace

import pytest
import softfloatpy
from amaranth.back import rtlil
from amaranth.sim import Simulator

from fanfold.codes import DataType, Operator
from fanfold.config import Config
from fanfold.fold.product.layouts import product_layout
from fanfold.fold.product.parts import multipliers
from fanfold.fold.product.product import Product, product_latency
from fanfold.fold.units import float_units

#: bits of the exponent and of the fraction
FIELDS = {
    DataType.FLOAT16: (5, 10),
    DataType.BFLOAT16: (8, 7),
    DataType.FLOAT32: (8, 23),
    DataType.FLOAT64: (11, 52),
}

SOFTFLOAT = {
    DataType.FLOAT16: (softfloatpy.Float16, softfloatpy.f16_mul),
    DataType.FLOAT32: (softfloatpy.Float32, softfloatpy.f32_mul),
    DataType.FLOAT64: (softfloatpy.Float64, softfloatpy.f64_mul),
}

INTEGERS = tuple(each for each in DataType if each.value <= DataType.UINT64.value)

#: types of an instance, the cycles its products take, the multipliers of its lanes
BUILT = {
    "int32": ((DataType.INT32,), 3, 6),
    "small integers": ((DataType.INT8, DataType.UINT16), 3, 8),
    "int8 and int64": ((DataType.INT8, DataType.INT64), 5, 14),
    "float16": ((DataType.FLOAT16,), 5, 4),
    "bfloat16": ((DataType.BFLOAT16,), 5, 4),
    "float64": ((DataType.FLOAT64,), 6, 16),
    "default": ((DataType.INT32, DataType.UINT32, DataType.FLOAT32), 5, 8),
    "three formats": ((DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT32), 5, 8),
    "no 64 bits": ((*INTEGERS[:3], *INTEGERS[4:7], DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT32), 5, 8),
    "everything": ((*INTEGERS, *FIELDS, DataType.FLOAT32_INT32), 6, 16),
}


def product_of(types) -> Product:
    operators = (Operator.PROD, Operator.MINLOC) if any(each.pair for each in types) else (Operator.PROD,)
    return Product(Config(operators=operators, types=types))


def multiply(dut: Product, cases: list[tuple[DataType, int, int]]) -> list[dict[str, int]]:
    """Feeds two lanes of a type each cycle; all outputs as bits, by name."""
    outputs = {name: value for name, value in vars(dut).items() if name == "integer" or name.startswith("unit_")}
    ports = {name: getattr(value, "as_value", lambda value=value: value)() for name, value in outputs.items()}
    results = []

    async def bench(ctx):
        for cycle in range(len(cases) + dut.latency):
            if cycle < len(cases):
                data_type, a, b = cases[cycle]
                ctx.set(dut.type, data_type)
                ctx.set(dut.a, a)
                ctx.set(dut.b, b)
            if cycle >= dut.latency:
                results.append({name: ctx.get(port) for name, port in ports.items()})
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run_until(1e-6 * (len(cases) + dut.latency + 10))
    assert len(results) == len(cases)
    return results


def check(types, cases):
    """Every element of every case is right."""
    dut = product_of(types)
    forms = {unit.start: unit.form for unit in float_units(Config(operators=(Operator.PROD,), types=plain(types)))}
    members = {start: list(product_layout(form)) for start, form in forms.items()}
    for (data_type, a, b), found in zip(cases, multiply(dut, cases), strict=True):
        bits = 8 * data_type.element_bytes
        for start in range(0, 64, bits):
            element_a, element_b = (lane >> start & (1 << bits) - 1 for lane in (a, b))
            said = f"{data_type.name} {element_a:#x} x {element_b:#x} at {start}"
            if data_type.floating:
                fields = fields_of(members[start], found[f"unit_{start}"])
                check_number(data_type, element_a, element_b, forms[start].fraction, fields, said)
            else:
                whole = found["integer"] >> start & (1 << bits) - 1
                assert whole == element_a * element_b % (1 << bits), f"{said} = {whole:#x}"


def fields_of(members, bits) -> SimpleNamespace:
    return SimpleNamespace(**{name: bits >> field.offset & (1 << field.width) - 1 for name, field in members})


def plain(types):
    return tuple(each for each in types if not each.pair)


def split(data_type, number) -> tuple[int, int, int]:
    """Sign, exponent field and fraction field."""
    exponent_bits, fraction_bits = FIELDS[data_type]
    return (
        number >> exponent_bits + fraction_bits,
        number >> fraction_bits & (1 << exponent_bits) - 1,
        number & (1 << fraction_bits) - 1,
    )


def power(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def check_number(data_type, a, b, form_fraction, found, said):
    """``found`` describes the exact product, and gives SoftFloat's bits when it is rounded."""
    exponent_bits, fraction_bits = FIELDS[data_type]
    top, bias = (1 << exponent_bits) - 1, (1 << exponent_bits - 1) - 1
    value, kinds, sign = Fraction(1), [], 0
    for number in (a, b):
        negative, exponent, fraction = split(data_type, number)
        sign ^= negative
        hidden = exponent > 0
        value *= ((hidden << fraction_bits) + fraction) * power(max(exponent, 1) - bias - fraction_bits)
        special = "nan" if fraction else "infinity"
        kinds.append(special if exponent == top else "number" if exponent or fraction else "zero")
    if "nan" in kinds or {"infinity", "zero"} == set(kinds):
        assert found.nan, said
        return
    assert not found.nan, said
    assert found.sign == sign, said
    if "infinity" in kinds:
        assert found.infinite, said
        return
    if found.infinite:
        assert value >= power(top - bias), said
        check_softfloat(data_type, a, b, sign << exponent_bits + fraction_bits | top << fraction_bits, said)
        return
    unit = power(found.exponent - bias - form_fraction - 2 - found.distance)
    if found.sticky:
        assert found.magnitude * unit < value < (found.magnitude + 1) * unit, said
    else:
        assert found.magnitude * unit == value, said
    assert 1 <= found.exponent < top, said
    assert not found.distance or found.exponent == 1, said
    if value == 0:
        assert found.exponent == 1, said
    elif split(data_type, a)[1] or split(data_type, b)[1]:
        assert found.magnitude >> form_fraction + 2, f"{said}: no leading one"
    check_softfloat(data_type, a, b, rounded(data_type, form_fraction, found), said)


def rounded(data_type, form_fraction, found) -> int:
    """The number that the fields round to, to nearest even."""
    exponent_bits, fraction_bits = FIELDS[data_type]
    carry = found.magnitude >> form_fraction + 3 and not found.distance
    exponent = found.exponent + bool(carry)
    dropped = exponent - found.exponent + found.distance + form_fraction - fraction_bits + 3
    exact = found.magnitude << 1 | found.sticky
    kept, rest, half = exact >> dropped, exact & (1 << dropped) - 1, 1 << dropped - 1
    kept += rest > half or (rest == half and kept & 1)
    number = min((exponent - 1 << fraction_bits) + kept, (1 << exponent_bits) - 1 << fraction_bits)
    return found.sign << exponent_bits + fraction_bits | number


def check_softfloat(data_type, a, b, number, said):
    if data_type in SOFTFLOAT:
        kind, times = SOFTFLOAT[data_type]
        size = data_type.element_bytes
        product = times(*(kind.from_bytes(each.to_bytes(size, "big")) for each in (a, b))).to_bytes()
        assert number == int.from_bytes(product, "big"), said


def specials(data_type) -> list[int]:
    """One of each kind, and its neighbours."""
    exponent_bits, fraction_bits = FIELDS[data_type]
    top, bias, one = (1 << exponent_bits) - 1, (1 << exponent_bits - 1) - 1, 1 << fraction_bits
    bits = [0, 1, 2, one // 2 - 1, one // 2, one - 1, one, one + 1, 2 * one - 1, 2 * one]
    bits += [
        bias // 2 * one,
        bias * one - 1,
        bias * one,
        bias * one + 1,
        (bias + 1) * one,
        (bias + fraction_bits) * one,
    ]
    bits += [3 * bias // 2 * one, (top - 1) * one, top * one - 1, top * one, top * one + 1, top * one + one // 2]
    return [sign << exponent_bits + fraction_bits | each for sign in (0, 1) for each in bits]


def random_number(rng, data_type, near: int | None = None) -> int:
    """Often subnormal or with few ones or zeros; with ``near``, its exponent field is around that."""
    exponent_bits, fraction_bits = FIELDS[data_type]
    top = (1 << exponent_bits) - 1
    exponent = rng.choice((0, 0, 1, top - 1, rng.randint(0, top), rng.randint(0, top), rng.randint(0, top)))
    if near is not None:
        exponent = min(max(near, 0), top - 1)
    fraction = rng.getrandbits(fraction_bits) >> (rng.randrange(fraction_bits) if rng.random() < 0.5 else 0)
    if rng.random() < 0.4:
        ones = (1 << rng.randrange(fraction_bits + 1)) - 1
        fraction = fraction | ones if rng.random() < 0.5 else fraction & ~ones
    return (rng.getrandbits(1) << exponent_bits | exponent) << fraction_bits | fraction


def random_pair(rng, data_type) -> tuple[int, int]:
    """Their product is often at the edge of overflow, of subnormals, or of nothing."""
    if not data_type.floating:
        bits = 8 * data_type.element_bytes
        corners = (0, 1, (1 << bits) - 1, 1 << bits - 1, (1 << bits - 1) - 1)
        a, b = (rng.choice(corners) if rng.random() < 0.2 else rng.getrandbits(bits) for _ in range(2))
        return a, b
    exponent_bits, fraction_bits = FIELDS[data_type]
    a, b = random_number(rng, data_type), random_number(rng, data_type)
    if rng.random() < 0.6:
        bias = (1 << exponent_bits - 1) - 1
        edge = rng.choice((bias, bias, bias - fraction_bits, 3 * bias + 1)) + rng.randint(-2, 2)
        b = random_number(rng, data_type, edge - split(data_type, a)[1])
    return (a, b) if rng.random() < 0.5 else (b, a)


def lanes(data_type, pairs) -> list[tuple[DataType, int, int]]:
    """The pairs packed into lanes; the last one is filled up with its first pair."""
    bits = 8 * data_type.element_bytes
    cases = []
    for at in range(0, len(pairs), 64 // bits):
        group = pairs[at : at + 64 // bits]
        group += group[:1] * (64 // bits - len(group))
        a, b = (sum(pair[side] << bits * index for index, pair in enumerate(group)) for side in (0, 1))
        cases.append((data_type, a, b))
    return cases


def mixed(rng, types, count) -> list[tuple[DataType, int, int]]:
    """Lanes whose types change from one to the next."""
    cases = []
    for _ in range(count):
        data_type = rng.choice(plain(types))
        cases += lanes(data_type, [random_pair(rng, data_type) for _ in range(8 // data_type.element_bytes)])
    return cases


@pytest.mark.parametrize("name", BUILT)
def test_mixed_types(name):
    types, latency, _ = BUILT[name]
    assert product_latency(Config(operators=(Operator.PROD,), types=plain(types))) == latency
    check(types, mixed(random.Random(name), types, 400))


@pytest.mark.long
@pytest.mark.parametrize("name", BUILT)
def test_many_mixed_types(name):
    types, _, _ = BUILT[name]
    check(types, mixed(random.Random(f"many {name}"), types, 20000))


@pytest.mark.parametrize("name", BUILT)
def test_multipliers(name):
    """There are as many as are said, and no more."""
    types, _, count = BUILT[name]
    dut = product_of(types)
    assert multipliers(Config(operators=(Operator.PROD,), types=plain(types))) == count
    assert rtlil.convert(dut, name="top").count("cell $mul ") == count


def test_special_pairs_of_narrow_formats():
    types, _, _ = BUILT["three formats"]
    cases = []
    for data_type in types:
        numbers = specials(data_type)
        cases += lanes(data_type, [(a, b) for a in numbers for b in numbers])
    random.Random(1).shuffle(cases)
    check(types, cases)


def test_special_pairs_of_float64():
    numbers = specials(DataType.FLOAT64)
    check((DataType.FLOAT64,), lanes(DataType.FLOAT64, [(a, b) for a in numbers for b in numbers]))


def test_every_subnormal_of_float16():
    """Each with a number that brings the product to where it is just subnormal, or just not."""
    pairs = [(a, random.Random(a).randrange(24 << 10, 26 << 10)) for a in range(1 << 10)]
    check((DataType.FLOAT16,), lanes(DataType.FLOAT16, pairs))


def test_bytes_all():
    """Each product of two bytes, in one of the places."""
    pairs = [(a, b) for a in range(256) for b in range(256)]
    random.Random(2).shuffle(pairs)
    check((DataType.INT8,), lanes(DataType.INT8, pairs[: 1 << 14]))
