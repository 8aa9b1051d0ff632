"""The effect of every public operation on an array's contents, and calls that try it: tables for several tests."""

import importlib.util

import memarray
import numpy as np
import pytest
from dlpack_structs import lend_by_table

READ, WRITE, NEUTRAL = "read", "write", "neutral"

#: The effect of each operation on the array's contents.
ARRAY = {
    **dict.fromkeys(["fill", "resize", "exchange", "read_numpy_array", "add_index_tuple", "move_memory"], WRITE),
    **dict.fromkeys(["write", "get_dlpack"], WRITE),
    **dict.fromkeys(["read", "view", "copy", "__copy__", "__deepcopy__", "__array__", "__dlpack__"], READ),
    **dict.fromkeys(["shape", "ndim", "size", "itemsize", "nbytes", "dtype", "device", "lock_id"], NEUTRAL),
    **dict.fromkeys(["is_foreign", "memory_type", "shared_memory", "recover"], NEUTRAL),
    **dict.fromkeys(["escaped_views", "_TYPE_INSTANCE_MAP", "from_numpy", "from_dlpack"], NEUTRAL),
    "__dlpack_device__": NEUTRAL,
    **dict.fromkeys(["__reduce_ex__", "__dlpack_c_exchange_api__"], READ),
    # Always refused, or about the object and not its contents.
    **dict.fromkeys(["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"], NEUTRAL),
    **dict.fromkeys(["__getitem__", "__setitem__", "__iter__", "__bool__"], NEUTRAL),
    **dict.fromkeys(["__new__", "__len__", "__repr__", "__doc__", "__module__", "__slots__", "__weakref__"], NEUTRAL),
    **dict.fromkeys(["__annotations__", "__firstlineno__", "__static_attributes__", "__weaklistoffset__"], NEUTRAL),
}
#: The effect of each operation on an open lease: it exports the contents, with the rights of the lease.
LEASE = {
    **dict.fromkeys(["__dlpack__", "view", "__array__", "__array_interface__", "__buffer__"], READ),
    **dict.fromkeys(["__release_buffer__", "__dlpack_c_exchange_api__"], READ),
    "__cuda_array_interface__": NEUTRAL,  # absent on the host; tested in test_devices.py
    **dict.fromkeys(["__enter__", "__exit__", "close", "is_open", "lock_id", "writable", "array"], NEUTRAL),
    **dict.fromkeys(["__dlpack_device__", "__doc__", "__module__", "__repr__", "__del__", "__reduce_ex__"], NEUTRAL),
    "__reduce__": NEUTRAL,
    # Numbers are copied out and keep no memory alive; rows are views, like those of `view`.
    **dict.fromkeys(["__int__", "__float__", "__complex__", "__index__", "__contains__", "__iter__"], NEUTRAL),
    **dict.fromkeys(["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__bool__"], NEUTRAL),
    **dict.fromkeys(["__weaklistoffset__", "__weakref__"], NEUTRAL),
}
#: The other names of the module.
MODULE = {
    "leases": WRITE,
    # test_view.py has the effects of views on the memory.
    **dict.fromkeys(["BufferView", "from_dlpack"], NEUTRAL),
    **dict.fromkeys(["MemArray", "Lease", "Device", "Stream", "Event", "MemoryPool"], NEUTRAL),
    **dict.fromkeys(["DeviceType", "MemoryType"], NEUTRAL),
    **dict.fromkeys(["Error", "LockError", "CudaError", "OutOfMemoryError", "UnsupportedTypeError"], NEUTRAL),
    **dict.fromkeys(["build_info", "stats", "synchronize", "trim"], NEUTRAL),
    **dict.fromkeys(["cuda", "dlpack", "options", "shared_memory", "__version__"], NEUTRAL),
}

#: Calls that are refused while the array is leased. The first word is the operation's name.
WRITES = {
    "fill": lambda a: a.fill(77),
    "resize": lambda a: a.resize([5, 5]),
    "resize to the same shape": lambda a: a.resize(list(a.shape)),
    "exchange": lambda a: a.exchange(memarray.MemArray([2, 3])),
    "exchange, as the other one": lambda a: memarray.MemArray([2, 3]).exchange(a),
    "read_numpy_array": lambda a: a.read_numpy_array(np.full((2, 3), 77.0)),
    "add_index_tuple": lambda a: a.add_index_tuple(),
    "move_memory": lambda a: a.move_memory(memarray.dlpack.kDLCPU),
    "write": lambda a: a.write().__enter__(),
    "write, discarding": lambda a: a.write(discard=True).__enter__(),
    "write, for a moment": lambda a: a.write(timeout=0.001).__enter__(),
    "get_dlpack": lambda a: a.get_dlpack().__enter__(),
    "get_dlpack on the cpu": lambda a: a.get_dlpack(memarray.dlpack.kDLCPU).__enter__(),
    "leases": lambda a: memarray.leases(a.write()).__enter__(),
    "leases of several": lambda a: memarray.leases(memarray.MemArray([1]).read(), a.write()).__enter__(),
}
#: Calls that are admitted beside readers.
READS = {
    "read": lambda a: a.read().__enter__().close(),
    "leases": lambda a: memarray.leases(a.read()).__enter__()[0].close(),
    "view": lambda a: a.view(),
    "copy": lambda a: a.copy(),
    "__copy__": lambda a: a.__copy__(),
    "__deepcopy__": lambda a: a.__deepcopy__({}),
    "__reduce_ex__": lambda a: a.__reduce_ex__(5),
    "__array__": lambda a: np.asarray(a),
    "np.array": lambda a: np.array(a),
    "__dlpack__": lambda a: np.from_dlpack(a),
    "__dlpack__, copied": lambda a: a.__dlpack__(copy=True),
    "__dlpack_c_exchange_api__": lambda a: lend_by_table(a, memarray.BufferView),
}


def name_of(trial):
    """Returns the operation that a key of these tables tries."""
    return trial.split(",")[0].split(" ")[0]


def use_lease(opened, change):
    with opened as leases:
        lease = next(lease for lease in (leases if isinstance(leases, tuple) else (leases,)) if lease.writable)
        change(np.from_dlpack(lease))


def change_some(view):
    view.flat[-1] += 1


def change_all(view):
    view[...] = 9


def exchange(array):
    other = memarray.MemArray(array.shape, array.dtype)
    array.exchange(other)
    other.fill(5)
    array.fill(6)


def exchange_as_the_other(array):
    other = memarray.MemArray(array.shape, array.dtype)
    other.exchange(array)
    other.add_index_tuple()
    array.add_index_tuple()


def move_and_write(array):
    array.move_memory(memarray.dlpack.kDLCPU)
    array.fill(9)


#: Uses of an array of any dtype while an escaped view exists, and the copies then reported: under a read-only view, and
#: under a writable one, which every use leaves behind.
USES = {
    "fill": (lambda a: a.fill(9), 0, 0),
    "add_index_tuple": (lambda a: a.add_index_tuple(), 0, 0),
    "read_numpy_array": (lambda a: a.read_numpy_array(np.full(a.shape, 9, a.dtype)), 0, 0),
    "resize": (lambda a: a.resize([2] * a.ndim), 0, 0),
    "resize to the same shape": (lambda a: (a.resize(list(a.shape)), a.fill(9)), 0, 0),
    "exchange": (exchange, 0, 1),
    "exchange, as the other one": (exchange_as_the_other, 0, 1),
    "move_memory to where it is": (move_and_write, 0, 1),
    "write": (lambda a: use_lease(a.write(), change_some), 1, 1),
    "write, waiting": (lambda a: use_lease(a.write(timeout=None), change_some), 1, 1),
    "write, discarding": (lambda a: use_lease(a.write(discard=True), change_all), 0, 0),
    "get_dlpack": (lambda a: use_lease(a.get_dlpack(), change_some), 1, 1),
    "get_dlpack on the cpu": (lambda a: use_lease(a.get_dlpack(memarray.dlpack.kDLCPU), change_some), 1, 1),
    "leases": (lambda a: use_lease(memarray.leases(a.write()), change_some), 1, 1),
    "leases, discarding": (lambda a: use_lease(memarray.leases(a.write(discard=True)), change_all), 0, 0),
}


def by_torch(lease):
    return pytest.importorskip("torch", reason="PyTorch is not installed").from_dlpack(lease)


def by_jax(lease):
    return pytest.importorskip("jax", reason="JAX is not installed").dlpack.from_dlpack(lease)


class Interface:
    """A consumer that knows only the array interface."""

    def __init__(self, lease):
        self.lease = lease
        self.__array_interface__ = lease.__array_interface__


class Jax:
    """A JAX array whose np.asarray is fresh: JAX itself may return an earlier result."""

    def __init__(self, lease):
        self.array = by_jax(lease)

    def __array__(self, dtype=None, copy=None):
        return np.from_dlpack(self.array)


#: Ways to export the memory of a lease. Each name starts with the protocol.
LENDS = {
    "__dlpack__": lambda lease: lease.__dlpack__(max_version=(1, 0)),
    "__dlpack__, copied": lambda lease: lease.__dlpack__(max_version=(1, 0), copy=True),
    "__dlpack__ of np.from_dlpack": np.from_dlpack,
    **({"__dlpack__ of torch.from_dlpack": by_torch} if importlib.util.find_spec("torch") else {}),
    **({"__dlpack__ of jax.dlpack.from_dlpack": by_jax} if importlib.util.find_spec("jax") else {}),
    "__array__": lambda lease: lease.__array__(),
    "__array__ of np.asarray": np.asarray,
    "__array__ of np.array": np.array,
    "view": lambda lease: lease.view(),
    "view, sliced": lambda lease: lease.view()[:, ::-1] if lease.array.ndim > 1 else lease.view()[::-1],
    "view, lent on": lambda lease: np.from_dlpack(lease.view()),
    "__dlpack_c_exchange_api__": lambda lease: lend_by_table(lease, memarray.BufferView),
    "__buffer__ of memoryview": memoryview,
    "__buffer__ of bytes": bytes,
    "__array_interface__": lambda lease: lease.__array_interface__,
    "__array_interface__, kept": Interface,
}

#: Escaped views of a lease, as objects that np.asarray reads.
KEEPERS = {
    "np.from_dlpack": np.from_dlpack,
    "np.asarray": np.asarray,
    "slice": lambda lease: np.from_dlpack(lease)[1:4, ::2],
    "transposed": lambda lease: np.from_dlpack(lease).T,
    "memoryview": memoryview,
    "memoryview slice": lambda lease: memoryview(lease)[2:],
    "view": lambda lease: lease.view(),
    "view slice": lambda lease: lease.view()[1:],
    "view lent on": lambda lease: np.asarray(lease.view()),
    "array interface": lambda lease: np.asarray(Interface(lease)),
    "torch": by_torch,
    "torch slice": lambda lease: by_torch(lease)[1:, ::2],
    "torch lent on": lambda lease: np.from_dlpack(by_torch(lease)),
    "JAX": Jax,
}
#: Views that a read lease refuses: they need the unversioned struct, which has no read-only flag.
WRITERS_ONLY = {"JAX"}
#: Views that are never written through.
READERS_ONLY = {"JAX"}
