"""The kernels of the order sweep: calls of every operation of the module ``kernels``, and what NumPy makes of them."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import memarray
import numpy as np
from memarray.dlpack import kDLCPU, kDLCUDA

DTYPE = "int32"
#: Kernels run on smaller numbers, so that no sum or product overflows.
LIMIT = 10_000

if importlib.util.find_spec("kernels"):
    from kernels import Kernels, Where

    kernels = Kernels(DTYPE, 1)
else:  # an installed package is tested without the module
    kernels = None

#: Operations of `Kernels` that the sweep does not call, and the reason for each.
EXPLAINED = {"overwrite_rows": "the arrays of the sweep have one dimension"}


@dataclass
class Launch:
    """The call of a kernel: in a stream, over a range, and with results that stay where the arrays are."""

    stream: object
    device: str
    begin: int
    end: int
    results: list = field(default_factory=list)

    @property
    def where(self):
        return Where([self.begin], [self.end], stream=self.stream)

    @property
    def key(self):
        return slice(self.begin, self.end)

    def result(self, size=1, dtype=DTYPE):
        """Returns a new array where the other arrays are."""
        array = memarray.MemArray([size], dtype)
        if self.device != "cpu":
            stream = 0 if self.stream is None else self.stream
            array.move_memory(kDLCUDA, stream=stream, device_id=int(self.device[-1]), async_copy=True)
        self.results.append(array)
        return array


class Left:
    """An array with the result of a kernel, to be read later."""

    def __init__(self, array):
        self.array = array

    def result(self):
        self.array.move_memory(kDLCPU)
        with self.array.read() as lease:
            return np.array(lease)


class Trial(NamedTuple):
    """One call. `uses` has a letter for each array: "r" if it is read, "w" if it is changed.

    `model` changes copies of the contents, and returns the value of the call, or what it leaves in its result.
    """

    uses: str
    call: Callable
    model: Callable
    needs_elements: bool = False


def init(value=0, dtype=DTYPE):
    return np.array(value, dtype).tobytes()


def of(found, dtype=DTYPE):
    return np.frombuffer(found, dtype).tolist() if isinstance(found, bytes) else found


def change(access):
    def model(how, x):
        added = np.arange(1, len(x) + 1, dtype=DTYPE)[how.key]
        x[how.key] = added + (0 if access == "overwrite" else x[how.key])

    return Trial("w", lambda how, a: kernels.change(a, access, how.where), model)


def change_element_first():
    def model(how, x):
        x += np.arange(1, len(x) + 1, dtype=DTYPE)

    return Trial("w", lambda how, a: kernels.change(a, "element first", Where(None, a.shape, stream=how.stream)), model)


def hold(into):
    def call(how, a, b):
        return of(kernels.hold(a, b, 3, how.where, how.result() if into else None))

    def model(how, x, y):
        for _ in range(3):
            y[how.key] += x[how.key]
        return [y[how.key].sum()]

    return Trial("rw", call, model)


def bundle():
    def model(how, x, y):
        x[how.key], y[how.key] = y[how.key].copy(), x[how.key] + y[how.key]
        return [y[how.key].sum()]

    return Trial("ww", lambda how, a, b: of(kernels.bundle(a, b, how.where)), model)


def scan(operation, start):
    ufunc = {"plus": np.add, "maximum": np.maximum}[operation]

    def call(how, a, b):
        return of(kernels.scan(a, b, operation, None if start is None else init(start), stream=how.stream))

    def model(how, x, y):
        found = ufunc.accumulate(x if start is None else np.append(np.array(start, DTYPE), x))
        y[:] = found[: len(y)]
        return None if start is None else [found[-1]]

    return Trial("rw", call, model)


def scan_wide():
    def call(how, a):
        kernels.scan_wide(a, how.result(len(a), "int64"), stream=how.stream)

    return Trial("r", call, lambda how, x: np.cumsum(x, dtype="int64"))


def sort_by_key():
    def model(how, x, y):
        order = np.argsort(x, kind="stable")
        x[:], y[:] = x[order], y[order]

    return Trial("ww", lambda how, a, b: kernels.sort_by_key(a, b, stream=how.stream), model)


def extremes(name, model):
    return Trial("r", lambda how, a: of(kernels.extremes(a, name, stream=how.stream)), model, needs_elements=True)


def position(name):
    def model(how, x):
        return [getattr(x, name)()]

    return Trial("r", lambda how, a: kernels.position(a, name, stream=how.stream), model, needs_elements=True)


def reduction(call, model):
    return Trial("r", call, lambda how, x: [model(x[how.key])])


def transform_reduce_into(how, a):
    kernels.transform_reduce_into(how.result(), a, "maximum", init(-5), how.where)


def with_init(x):
    return max(x.max(initial=-5), -5)


#: The trials, by an operation of `Kernels` and how the call differs from others.
TRIALS = {
    **{f"change, {name}": change(name) for name in ("update", "update, by index", "write", "overwrite")},
    "change, element first": change_element_first(),
    "hold": hold(False),
    "hold, into": hold(True),
    "bundle": bundle(),
    "transform_reduce": reduction(
        lambda how, a: of(kernels.transform_reduce(a, "maximum", init(-5), how.where)), with_init
    ),
    "transform_reduce_into": reduction(transform_reduce_into, with_init),
    "count": reduction(lambda how, a: [kernels.count(a, how.where)], np.count_nonzero),
    "reduce": Trial(
        "r",
        lambda how, a: of(kernels.reduce(a, "minimum", init(7), stream=how.stream)),
        lambda how, x: [x.min(initial=7)],
    ),
    "reduce_wide": Trial(
        "r",
        lambda how, a: of(kernels.reduce_wide(a, init(7, "int64"), stream=how.stream), "int64"),
        lambda how, x: [x.sum() + 7],
    ),
    "extremes, min": extremes("min", lambda how, x: [x.min()]),
    "extremes, max": extremes("max", lambda how, x: [x.max()]),
    "extremes, minmax": extremes("minmax", lambda how, x: [x.min(), x.max()]),
    "position, argmin": position("argmin"),
    "position, argmax": position("argmax"),
    "dot": Trial("rr", lambda how, a, b: of(kernels.dot(a, b, stream=how.stream)), lambda how, x, y: [(x * y).sum()]),
    "sum": Trial("r", lambda how, a: of(kernels.sum(a, stream=how.stream), "int64"), lambda how, x: [x.sum()]),
    "scan": scan("plus", None),
    "scan, exclusive": scan("plus", 3),
    "scan, maximum": scan("maximum", None),
    "scan_wide": scan_wide(),
    "sort_by_key": sort_by_key(),
}
#: Trials that run over a view of a lease as well.
VIEW_TRIALS = [name for name in TRIALS if name.startswith(("change", "transform_reduce"))]


def add_index_tuple(how, x):
    x += np.arange(len(x), dtype=DTYPE)


if kernels is None:
    TRIALS.clear()
    VIEW_TRIALS.clear()
TRIALS["add_index_tuple"] = Trial("w", lambda how, a: a.add_index_tuple(stream=how.stream), add_index_tuple)
