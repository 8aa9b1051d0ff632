"""mpi4py's message tests, with memarray's views and leases as messages: over the buffer protocol and over DLPack."""

import sys
import unittest

import memarray
import numpy as np
from mpi4py import MPI
from suites import Shim, load, sdist

FOLDER = sdist("mpi4py") / "test"
sys.path.insert(0, str(FOLDER))
suite = load(FOLDER / "test_msgspec.py", "mpi4py_msgspec")


class Elements:
    """The memory that the suite fills and compares. MPI gets `exported`."""

    def __init__(self, typecode, initializer):
        self.array, self.exported = self.make(np.array(initializer, dtype=typecode))

    def __len__(self):
        return len(self.array)

    def __iter__(self):
        return iter(self.array)

    def __getitem__(self, index):
        return self.array[index]

    def __setitem__(self, index, value):
        self.array[index] = value.array


class OverDLPack:
    """A wrapper that shows only the DLPack methods of an object."""

    def __init__(self, exporter):
        self.exporter = exporter

    def __dlpack__(self, **keywords):
        return self.exporter.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.exporter.__dlpack_device__()


class View(Elements):
    def make(self, array):
        return array, memarray.BufferView(array)


class ViewOverDLPack(Elements):
    def make(self, array):
        return array, OverDLPack(memarray.BufferView(array))


class Lease(Elements):
    def make(self, array):
        lease = memarray.MemArray.from_numpy(array).write().__enter__()
        return np.asarray(lease), lease


class LeaseOverDLPack(Elements):
    def make(self, array):
        lease = memarray.MemArray.from_numpy(array).write().__enter__()
        return np.from_dlpack(lease), OverDLPack(lease)


def exported(message):
    """Returns the message with `Elements` replaced by their exports."""
    if isinstance(message, Elements):
        return message.exported
    return [exported(part) for part in message] if isinstance(message, list) else message


def sending_exports(function):
    return lambda sent, received: function(exported(sent), exported(received))


class Buffer:
    """A replacement for `MPI.buffer`, which makes MPI's own buffers of exports."""

    @staticmethod
    def frombuffer(obj, **keywords):
        return MPI.buffer.frombuffer(exported(obj), **keywords)


suite.MPI = Shim(MPI, buffer=Buffer)
suite.Sendrecv = sending_exports(suite.Sendrecv)
suite.Alltoallv = sending_exports(suite.Alltoallv)


def case(base, kind):
    class Case(unittest.TestCase, base):
        def array(self, typecode, initializer):
            return kind(typecode, initializer)

    Case.__name__ = Case.__qualname__ = f"{base.__name__.removeprefix('BaseTest')}{kind.__name__}"
    return Case


for base in (suite.BaseTestMessageSimpleArray, suite.BaseTestMessageVectorArray):
    for kind in (View, ViewOverDLPack, Lease, LeaseOverDLPack):
        made = case(base, kind)
        globals()[made.__name__] = made
del made

DIFFERENCES = {}
