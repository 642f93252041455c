"""The floating-point sums of a whole lane, element by element, in the adders that they share with other types.

``python tests/formal/lane_sums.py float16 bfloat16`` proves all cases of all elements: it takes minutes for float16,
hours for the others, and prints where it is.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from exact_sums import Number
from prover import Proof
from test_adder_proofs import adds_exactly
from test_lane_proofs import LANE_BITS, Lanes

from fanfold.codes import DataType, Operator
from fanfold.config import Config
from fanfold.fold.float.format import FORMATS

__all__ = ["SHARED", "element_adds_exactly"]

#: each adder with one of the long elements has one of the short ones in it
SHARED = Config(
    operators=(Operator.SUM, Operator.MIN),
    types=(DataType.INT16, DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT32),
)


def element_adds_exactly(data_type: DataType, index: int, config: Config = SHARED) -> Proof:
    """The proof for one element: as for the adder alone, the larger operand comes first and is positive."""
    form = FORMATS[data_type]
    proof = Proof(dut := Lanes(config))
    element = slice(form.width * index, form.width * (index + 1))
    a, b = (proof.earlier(getattr(dut, name)[element], dut.latency, name) for name in "ab")
    operator, kind, combine = (
        proof.earlier(getattr(dut, name), dut.latency + 1, name) for name in ("operator", "type", "combine")
    )
    numbers = (
        Number(proof.m, form.exponent, form.fraction, bits, name)
        for bits, name in ((a, "a"), (b, "b"), (dut.o[element], "o"))
    )
    asked = combine & (operator == Operator.SUM.value) & (kind == data_type.value)
    adds_exactly(proof, form, *numbers, asked)
    return proof


def _told(cases: range, begun: float) -> Iterator[int]:
    for case in cases:
        print(f"\r  {case} of {len(cases)} cases, {time.monotonic() - begun:.0f} s", end="", flush=True)
        yield case


def main(names: list[str]) -> None:
    for data_type in (DataType[name.upper()] for name in names):
        form = FORMATS[data_type]
        for index in range(LANE_BITS // form.width):
            proof, begun = element_adds_exactly(data_type, index), time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                cases = _told(range(2 << form.exponent), begun)
                proof.check_pipeline(Path(folder), latency=proof.dut.latency + 1, cases=cases)
            print(f"\r{data_type.name} element {index}: proven in {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
