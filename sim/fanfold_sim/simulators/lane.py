"""A Verilated lane of the fold: NumPy hands over blocks of elements, C++ streams them through, a word a cycle."""

import ctypes
import gc
import warnings
from collections.abc import Callable
from ctypes import c_uint64, c_void_p
from pathlib import Path

import numpy as np
from amaranth import *
from amaranth.hdl import UnusedElaboratable
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanfold import export
from fanfold.codes import DataType, Operator
from fanfold.config import Config
from fanfold.fold.lane import LANE_BYTES, Lane, splits_pairs

from . import library

__all__ = ["LaneMaker", "VerilatedLane"]

#: makes the lane of a configuration: ``fanfold.fold.lane.Lane``, or another with its ports
LaneMaker = Callable[[Config], wiring.Component]

_HARNESS = library.Harness(Path(__file__).parent / "lane.cpp", "lane", "lane")


class _Bench(wiring.Component):
    """A lane behind ports whose names are free in C++; the two halves of a 16-byte pair follow each other in it."""

    def __init__(self, config: Config, lane: wiring.Component):
        super().__init__(
            {
                "a": In(8 * LANE_BYTES),
                "b": In(8 * LANE_BYTES),
                "operator_code": In(8),
                "type_code": In(8),
                "combine": In(1),
                "half": In(1),
                "o": Out(8 * LANE_BYTES),
            }
        )
        self._lane = lane
        self._splits_pairs = splits_pairs(config)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._lane
        m.d.comb += [
            *(dut.a.eq(self.a), dut.b.eq(self.b), dut.combine.eq(self.combine), self.o.eq(dut.o)),
            Value.cast(dut.operator).eq(self.operator_code),
            Value.cast(dut.type).eq(self.type_code),
        ]
        if self._splits_pairs:
            before = Signal(2)
            m.d.sync += before.eq(dut.decided)
            m.d.comb += [dut.half.eq(self.half), dut.before.eq(before)]
        return m


class VerilatedLane:
    """The lane of a configuration; its first use builds the model, which is kept.

    Arrays are C-contiguous, of any number type and shape; what counts is their bytes, a whole number of words of 8.
    ``lane`` makes another component than the lane itself, such as one with a planted fault. Raises ``ToolMissing``
    without a C++ compiler.
    """

    def __init__(self, config: Config, *, lane: LaneMaker = Lane):
        self.config = config
        #: cycles from the operands to the result
        self.latency = _latency(config, lane)
        #: where the model is
        self.library = library.build(
            _HARNESS,
            lambda: export.verilog(_Bench(config, lane(config)), "lane", simulation=True),
            [config.as_dict(), *(path.read_bytes() for path in export.sources())] if lane is Lane else None,
            f"lane of {len(config.operators)} operators, {len(config.types)} types, {self.latency} cycles",
        )
        self._call = ctypes.CDLL(str(self.library))
        self._call.lane_create.restype = c_void_p
        self._call.lane_destroy.argtypes = [c_void_p]
        self._call.lane_fold.argtypes = [c_void_p, c_uint64, *3 * [c_void_p], c_uint64, *3 * [c_void_p], c_uint64]
        self._call.lane_fold.restype = None
        self._lane = c_void_p(self._call.lane_create())

    def __del__(self):
        if lane := getattr(self, "_lane", None):
            self._call.lane_destroy(lane)

    def fold(self, operator: Operator, data_type: DataType, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """``a`` combined with ``b``, element by element; like ``a`` in type and shape.

        Of a pair of 16 bytes the value comes first, in a word of its own, as in a payload.
        """
        codes = [np.array([code], np.uint8) for code in (operator.value, data_type.value, 1)]
        return self._run(codes, 0, a, b)

    def fold_mixed(
        self, operators: np.ndarray, types: np.ndarray, combines: np.ndarray, a: np.ndarray, b: np.ndarray
    ) -> np.ndarray:
        """Each word by the operator, type (their codes) and ``combine`` of its own, in consecutive cycles.

        A pair of 16 bytes begins at an even word.
        """
        codes = [np.ascontiguousarray(each, np.uint8) for each in (operators, types, combines)]
        if any(each.shape != (a.nbytes // LANE_BYTES,) for each in codes):
            raise ValueError(f"codes of shapes {[each.shape for each in codes]}: a has {a.nbytes // LANE_BYTES} words")
        return self._run(codes, 1, a, b)

    def _run(self, codes: list[np.ndarray], step: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.nbytes != b.nbytes or a.nbytes % LANE_BYTES:
            raise ValueError(f"operands of {a.nbytes} and {b.nbytes} bytes: they must be equal multiples of 8")
        if not (a.flags.c_contiguous and b.flags.c_contiguous):
            raise ValueError("the operands must be C-contiguous")
        o = np.empty_like(a)
        places = [each.ctypes.data for each in (*codes, a, b, o)]
        self._call.lane_fold(self._lane, self.latency, *places[:3], step, *places[3:], a.nbytes // LANE_BYTES)
        return o


def _latency(config: Config, lane: LaneMaker) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)  # it is asked, not built
        latency = lane(config).latency
        gc.collect()  # it goes while nobody listens
    return latency
