"""The tables of docs/guide/libraries.md: each cell is run. ``python exchange_page.py --update`` writes the results.

A row belongs to a library. If the library is not installed, the page keeps the row as it was seen elsewhere; each cell
of a row that was never seen says so. A test compares only the rows of installed libraries.
"""

import functools
import gc
import re
import sys
from pathlib import Path

import memarray
import numpy as np
from dlpack_producer import Producer
from exchange_libraries import (
    CONSUMERS,
    PRODUCERS,
    READ_ONLY_PRODUCERS,
    Jitted,
    address,
    is_available,
    load,
    version_of,
)
from memarray.testing import simulated_devices
from support import filled, run_python

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "libraries.md"
NEVER_SEEN = "not available here"
VALUES = np.arange(24, dtype="float32").reshape(4, 6)


def said(error):
    return f"`{type(error).__name__}`"


# Their imports of our memory.


def taken(consume, producer, ndim=1):
    try:
        found = address(consume(producer, ndim))
    except Exception as error:
        return said(error)
    return "shared" if found == np.asarray(producer).ctypes.data else "a copy"


def reinterprets(consume):
    """True if a consumer misreads the dtype or the shape of the memory."""
    producer = memarray.BufferView(np.arange(6, dtype="int32").reshape(2, 3), copy=True)
    try:
        found = consume(producer, 2)
    except Exception:
        return False
    if not (hasattr(found, "shape") and hasattr(found, "dtype")):
        return False
    return tuple(found.shape) != (2, 3) or "int32" not in str(found.dtype)


def of_a_lease(consume, kind):
    with getattr(filled((8,), "float32")[0], kind)() as lease:
        cell = taken(consume, lease)
    return "**as flat float32**" if cell == "shared" and reinterprets(consume) else cell


def of_a_view(consume, change):
    # A copy by memarray is aligned; JAX would copy unaligned memory.
    return taken(consume, change(memarray.BufferView(VALUES, copy=True)), 2)


def under_a_read_lease(ask):
    """Returns a cell about the export of a read lease, or "–" if the export is not shared."""

    def cell(consume):
        with filled((8,), "float32")[0].read() as lease:
            if taken(consume, lease) != "shared":
                return "–"
            return ask(consume(lease, 1))

    return cell


def can_be_written(view):
    try:
        view[0] = 1
    except (TypeError, ValueError, AttributeError):
        return "no"
    return "**yes**"


def exported_as(view):
    if isinstance(view, Jitted):
        return "–"  # no result still shows the memory
    try:
        again = memarray.BufferView(view)
    except Exception as error:
        return said(error)
    return "**writable**" if again.writable else "read-only"


TAKEN = {
    "`a.read()`": lambda consume: of_a_lease(consume, "read"),
    "`a` itself": lambda consume: taken(consume, filled((8,), "float32")[0]),
    "`a.write()`": lambda consume: of_a_lease(consume, "write"),
    "`view.T`": lambda consume: of_a_view(consume, lambda view: view.T),
    "`view[:, ::2]`": lambda consume: of_a_view(consume, lambda view: view[:, ::2]),
    "`view[::-1]`": lambda consume: of_a_view(consume, lambda view: view[::-1]),
    "writes to what is read-only": under_a_read_lease(can_be_written),
    "exports that as": under_a_read_lease(exported_as),
}


# Our imports of their memory.


def imported(take, producer):
    try:
        found = take(producer)
    except Exception as error:
        return said(error)
    view = found.view() if isinstance(found, memarray.MemArray) else found
    return "shared" if view.data_ptr == address(producer) else "a copy"


def part_of(make, part):
    """Returns the cell for a part that the library itself cuts from an array, or "–" if it cannot."""
    try:
        exported = make(VALUES)[part]
        address(exported)
    except Exception:
        return "–"
    return imported(memarray.BufferView, exported)


def writable(make):
    try:
        return "writable" if memarray.BufferView(make(VALUES)).writable else "read-only"
    except Exception as error:
        return said(error)


GIVEN = {
    "`BufferView(x)`": lambda name: imported(memarray.BufferView, PRODUCERS[name][1](VALUES)),
    "`from_dlpack(x)`": lambda name: imported(memarray.from_dlpack, PRODUCERS[name][1](VALUES)),
    "`MemArray.from_dlpack(x)`": lambda name: imported(memarray.MemArray.from_dlpack, PRODUCERS[name][1](VALUES)),
    "its `x[:, ::2]`": lambda name: part_of(PRODUCERS[name][1], np.s_[:, ::2]),
    "its `x[::-1]`": lambda name: part_of(PRODUCERS[name][1], np.s_[::-1]),
    "is taken as": lambda name: writable(PRODUCERS[name][1]),
    "read-only ones as": lambda name: writable(READ_ONLY_PRODUCERS[name]) if name in READ_ONLY_PRODUCERS else "–",
}


# Devices.


class Asked:
    """A lease that records the streams of its exports."""

    def __init__(self, lease):
        self.lease, self.streams = lease, []
        self.__dlpack_device__ = lease.__dlpack_device__

    def __dlpack__(self, **arguments):
        self.streams.append(arguments.get("stream"))
        return self.lease.__dlpack__(**arguments)


def stream_asked_for(consume):
    """Returns a cell. `consume` may be bound to the owner of the stream, which lives as long as the lease."""
    array, _ = filled((8,), "float32")
    array.move_memory(memarray.dlpack.kDLCUDA)
    with array.write() as lease:
        asked = Asked(lease)
        view = consume(asked)
        stream = asked.streams[-1]
        del view
    return (
        "none" if stream is None else "a default one" if stream in (1, 2) else "no order" if stream == -1 else "its own"
    )


def on_simulated_devices(make):
    with simulated_devices():
        return stream_asked_for(make())


def host_only(consume):
    """Returns the cell of a consumer without streams: "refuses devices" if it raises any exception for device
    memory."""
    array, _ = filled((8,), "float32")
    with simulated_devices(lend_as_cuda=True):
        array.move_memory(memarray.dlpack.kDLCUDA)
        with array.write() as lease:
            try:
                consume(lease, 1)
            except Exception:
                return "refuses devices"
    return "no: it takes the address"


HOST_CONSUMERS = {
    name: CONSUMERS[name]
    for name in (
        *("np.from_dlpack", "np.asarray", "memoryview", "array_api_strict.from_dlpack", "nb::ndarray<float>"),
        *("MPI.buffer.frombuffer", "numba.njit(f)", "pyarrow.py_buffer", "Cython's float[:]"),
    )
}
DEVICE_CONSUMERS = {
    "memarray.testing.Consumer": ("memarray", lambda: memarray.testing.Consumer().take),
    "torch.from_dlpack": ("torch", lambda: load("torch.from_dlpack")),
    "jax.dlpack.from_dlpack": ("jax", lambda: load("jax.dlpack.from_dlpack")),
    "cupy.from_dlpack": ("cupy", lambda: load("cupy.from_dlpack")),
    "tvm_ffi.from_dlpack": ("tvm_ffi", lambda: load("tvm_ffi.from_dlpack")),
}


HOST_MODULES = {module for module, _ in HOST_CONSUMERS.values()}


def has_device(module):
    """True if a library can use a device of this machine."""
    if module == "memarray":
        return True
    if module in HOST_MODULES:
        return is_available(module)
    if not (memarray.cuda.is_available() and is_available(module)):
        return False
    if module == "torch":
        return load("torch.cuda").is_available()
    return module != "jax" or any(device.platform == "gpu" for device in load("jax").devices())


def streams(name):
    if name in HOST_CONSUMERS:
        return host_only(HOST_CONSUMERS[name][1])
    module, make = DEVICE_CONSUMERS[name]
    return on_simulated_devices(make) if module == "memarray" else stream_asked_for(make())


STREAMS = {"asks for the stream": streams}


# Imports of invalid tensors. Each runs in a process of its own, which it may crash.

LIES = {
    "shape is NULL": {"shape": None},
    "ndim is −1": {"ndim": -1},
    "ndim is 2³¹−1": {"ndim": 2**31 - 1},
    "negative strides": {"strides": (3, -1), "byte_offset": 8},
    "one capsule twice": None,
}
TRUSTING = {
    "memarray.from_dlpack": ("memarray", "memarray.from_dlpack"),
    **{
        f"{name}.from_dlpack": (name.split(".")[0], f"{name}.from_dlpack")
        for name in ("numpy", "torch", "jax.dlpack", "cupy", "array_api_strict", "tvm_ffi")
    },
    "nb::ndarray<float>": ("nanobind", "nanobind"),
    "MPI.buffer.frombuffer": ("mpi4py", "mpi4py.MPI.buffer.frombuffer"),
}
PROBE = """
    import os, resource, sys, exchange_page
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30,) * 2)  # as one of them takes memory for each of 2³¹ dimensions
    print(exchange_page.heard(*sys.argv[1:]), flush=True)
    os._exit(0)  # before an object made from false fields is released
"""


class Liar:
    """A producer of an invalid tensor, in a capsule of the requested kind, which counts the calls of the deleter."""

    def __init__(self, lie):
        self.lie, self.producer, self.capsule = LIES[lie], None, None

    def __dlpack__(self, *, max_version=None, **_):
        if self.capsule is None or self.lie is not None:
            self.producer = Producer(versioned=max_version is not None, **(self.lie or {}))
            self.producer.managed.tensor.dtype.code = 2  # floats, which all importers support
            self.capsule = self.producer.capsule()
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def heard(how, lie):
    """Returns the result of importing a lie. It may crash the process."""
    liar = Liar(lie)
    take = (lambda producer: load_nanobind()(producer, 2)) if how == "nanobind" else load(how)
    taken = [take(liar)] if LIES[lie] is None else []
    try:
        taken.append(take(liar))
    except MemoryError:
        return "**runs out of memory**"
    except Exception:
        return "refused"
    taken.clear()
    gc.collect()
    return f"**deleted {liar.producer.deleted} times**" if liar.producer.deleted > 1 else "taken"


def load_nanobind():
    return CONSUMERS["nb::ndarray<float>"][1]


def believed(how, lie):
    environment = {"PYTHONPATH": ":".join([str(Path(__file__).parent), *filter(None, sys.path)])}
    finished = run_python(PROBE, how, lie, check=False, env=environment)
    if finished.returncode < 0:
        return "**ends the process**"
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip().splitlines()[-1]


BELIEVED = {lie: functools.partial(lambda lie, name: believed(TRUSTING[name][1], lie), lie) for lie in LIES}


class Table:
    """Named rows, each with a module, and a function for each column, which gets `argument(name)`."""

    def __init__(self, modules, columns, argument=lambda name: name, is_there=is_available):
        self.modules, self.columns, self.argument, self.is_there = modules, columns, argument, is_there

    def is_available(self, name):
        return self.is_there(self.modules[name])

    def run(self, name):
        """Returns the cells of a row, run here."""
        return {column: cell(self.argument(name)) for column, cell in self.columns.items()}


def modules_of(rows):
    return {name: module for name, (module, _) in rows.items()}


TABLES = {
    "taken": Table(modules_of(CONSUMERS), TAKEN, lambda name: CONSUMERS[name][1]),
    "given": Table(modules_of(PRODUCERS), GIVEN),
    "streams": Table(modules_of(DEVICE_CONSUMERS | HOST_CONSUMERS), STREAMS, is_there=has_device),
    "believed": Table(modules_of(TRUSTING), BELIEVED),
}
BETWEEN = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def committed(text):
    """Returns the tables of a page: table -> row -> column -> cell; "seen with" is a column, too."""
    tables = {}
    for _, table, body, _ in BETWEEN.findall(text):
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.strip().splitlines()]
        tables[table] = {row[0].strip("`"): dict(zip(lines[0][1:], row[1:], strict=True)) for row in lines[2:]}
    return tables


def render(table, rows):
    heads = ["", *table.columns, "seen with"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name, cells in rows.items():
        lines.append("| " + " | ".join([f"`{name}`", *(cells[head] for head in heads[1:])]) + " |")
    return "\n".join(lines) + "\n"


def updated(text, tables=TABLES):
    """Returns the page with all available rows run. The others stay, or are marked as never seen."""
    before = committed(text)

    def row(table, name):
        if tables[table].is_available(name):
            return {**tables[table].run(name), "seen with": version_of(tables[table].modules[name])}
        unseen = dict.fromkeys(tables[table].columns, NEVER_SEEN) | {"seen with": "–"}
        return unseen | {head: cell for head, cell in before[table].get(name, {}).items() if head in unseen}

    def replaced(found):
        table = found[2]
        if table not in tables:
            return found[0]
        rows = {name: row(table, name) for name in tables[table].modules}
        return f"{found[1]}{render(tables[table], rows)}{found[4]}"

    return BETWEEN.sub(replaced, text)


if __name__ == "__main__":
    if sys.argv[1:2] != ["--update"]:
        sys.exit(f"usage: {sys.argv[0]} --update [{'|'.join(TABLES)} ...]")
    PAGE.write_text(updated(PAGE.read_text(), {name: TABLES[name] for name in sys.argv[2:] or TABLES}))
