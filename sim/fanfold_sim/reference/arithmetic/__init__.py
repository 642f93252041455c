"""What the operators do to elements: the golden model of the fold's arithmetic.

``elements.combine`` is the judge: two elements, plain whole numbers, exact (``formats`` says how a floating-point
number is one). ``arrays.fold_arrays`` does the same to millions of elements with NumPy, and ``payloads`` to the bytes
of packets and to the whole tree of the fold.

An element is its bit pattern, everywhere here: an unsigned number whose lowest byte comes first in the payload.
"""

from .arrays import as_array, fold_arrays
from .elements import combine, float_product, float_sum
from .formats import FLOATS, FloatFormat
from .payloads import fold_bytes, fold_tree

__all__ = [
    "FLOATS",
    "FloatFormat",
    "as_array",
    "combine",
    "float_product",
    "float_sum",
    "fold_arrays",
    "fold_bytes",
    "fold_tree",
]
