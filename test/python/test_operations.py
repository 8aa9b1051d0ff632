"""Every public attribute is classed, and what is classed as a write is refused under every kind of lease."""

import threading

import memarray
import numpy as np
import pytest
from support import filled

READ, WRITE, NEUTRAL = "read", "write", "neutral"

#: What an operation on the array does to the contents.
ARRAY = {
    **dict.fromkeys(["fill", "resize", "exchange", "read_numpy_array", "add_index_tuple", "move_memory"], WRITE),
    **dict.fromkeys(["write", "get_dlpack"], WRITE),
    **dict.fromkeys(["read", "copy", "__copy__", "__deepcopy__", "__array__", "__dlpack__"], READ),
    **dict.fromkeys(
        [
            *(
                "shape",
                "ndim",
                "size",
                "itemsize",
                "nbytes",
                "dtype",
                "device",
                "lock_id",
                "is_foreign",
                "escaped_views",
            ),
            *("_TYPE_INSTANCE_MAP", "from_numpy", "__dlpack_device__"),
        ],
        NEUTRAL,
    ),
    # Refused always, or about the object and not its contents.
    **dict.fromkeys(["__getitem__", "__setitem__", "__iter__", "__bool__", "__reduce_ex__"], NEUTRAL),
    **dict.fromkeys(["__new__", "__len__", "__repr__", "__doc__", "__module__", "__slots__", "__weakref__"], NEUTRAL),
    **dict.fromkeys(["__annotations__", "__firstlineno__", "__static_attributes__", "__weaklistoffset__"], NEUTRAL),
}
#: What an operation on an open lease does to the array's contents: it lends them, under the lease's own right.
LEASE = {
    **dict.fromkeys(["__dlpack__", "__array__", "__array_interface__", "__buffer__", "__release_buffer__"], READ),
    **dict.fromkeys(["__enter__", "__exit__", "close", "is_open", "lock_id", "writable", "array"], NEUTRAL),
    **dict.fromkeys(["__dlpack_device__", "__doc__", "__module__", "__repr__", "__del__", "__reduce_ex__"], NEUTRAL),
    **dict.fromkeys(["__weaklistoffset__", "__weakref__"], NEUTRAL),
}
MODULE = dict.fromkeys(memarray.__all__, NEUTRAL)

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
}
READS = {
    "read": lambda a: a.read().__enter__().close(),
    "leases": lambda a: memarray.leases(a.read()).__enter__()[0].close(),
    "copy": lambda a: a.copy(),
    "__copy__": lambda a: a.__copy__(),
    "__deepcopy__": lambda a: a.__deepcopy__({}),
    "__array__": lambda a: np.asarray(a),
    "np.array": lambda a: np.array(a),
    "__dlpack__": lambda a: np.from_dlpack(a),
    "__dlpack__, copied": lambda a: a.__dlpack__(copy=True),
}
LEASES = {
    "read": lambda a: [a.read()],
    "two readers": lambda a: [a.read(), a.read()],
    "write": lambda a: [a.write()],
    "discard": lambda a: [a.write(discard=True)],
    "get_dlpack": lambda a: [a.get_dlpack()],
    "get_dlpack on the cpu": lambda a: [a.get_dlpack(memarray.dlpack.kDLCPU)],
}


def public_names(cls):
    ours = [base for base in cls.__mro__ if base is not object]
    return {name for base in ours for name in vars(base) if not name.startswith("_") or name.startswith("__")}


@pytest.mark.parametrize(
    ("cls", "table"), [(memarray.MemArray, ARRAY), (memarray.Lease, LEASE)], ids=["MemArray", "Lease"]
)
def test_every_attribute_is_classed(cls, table):
    assert public_names(cls) - set(table) == set(), "say in the table whether this reads, writes or neither"


def test_everything_in_the_module_is_classed():
    # The demo's package is there once another test has imported it, and has tests of its own.
    others = {"annotations", "lennard_jones"}
    assert {name for name in vars(memarray) if not name.startswith("_")} - set(MODULE) <= others


def test_every_write_and_read_has_its_trial():
    tried = {name.split(",")[0].split(" ")[0] for name in WRITES}
    assert {name for name, kind in ARRAY.items() if kind == WRITE} <= tried
    tried = {name.split(",")[0] for name in READS}
    assert {name for name, kind in ARRAY.items() if kind == READ} <= tried


class Witness:
    """Remembers all that can be seen of an array, from within the leases that hold it."""

    def __init__(self, array, lease):
        self.array, self.view = array, np.from_dlpack(lease)
        self.before = self.now()

    def now(self):
        a, stats = self.array, memarray.stats()
        seen = (a.shape, a.dtype, a.lock_id, a.device, a.escaped_views, self.view.tobytes(), self.view.ctypes.data)
        return (*seen, stats["copies"], stats["versions"])


def hold(kind, policy="snapshot"):
    array, _ = filled((2, 3), start=3)
    array.escaped_views = policy
    leases = LEASES[kind](array)
    for lease in leases:
        lease.__enter__()
    return array, leases


def in_another_thread(call):
    outcome = []

    def run():
        try:
            call()
            outcome.append(None)
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return outcome[0]


@pytest.mark.sanitize
@pytest.mark.parametrize("policy", ["snapshot", "error", "alias"])
@pytest.mark.parametrize("operation", WRITES)
@pytest.mark.parametrize("kind", LEASES)
def test_writes_are_refused_under_every_lease(kind, operation, policy):
    array, leases = hold(kind, policy)
    witness = Witness(array, leases[0])
    with pytest.raises(memarray.LockError, match="is refused on MemArray<float64, 2> of shape"):
        WRITES[operation](array)
    assert witness.now() == witness.before
    refusal = in_another_thread(lambda: WRITES[operation](array))
    assert isinstance(refusal, memarray.LockError)
    assert witness.now() == witness.before
    assert all(lease.is_open for lease in leases)
    del witness, refusal
    for lease in leases:
        lease.close()
    assert array.lock_id == -1


@pytest.mark.parametrize("operation", READS)
@pytest.mark.parametrize("kind", LEASES)
def test_reads_pass_under_readers_and_not_under_writers(kind, operation):
    array, leases = hold(kind)
    witness = Witness(array, leases[0])
    if leases[0].writable:
        with pytest.raises(memarray.LockError):
            READS[operation](array)
    else:
        READS[operation](array)
    assert witness.now() == witness.before
    del witness
    for lease in leases:
        lease.close()


@pytest.mark.parametrize("kind", LEASES)
def test_neutral_attributes_can_be_asked_under_every_lease(kind):
    array, leases = hold(kind)
    for name, what in ARRAY.items():
        if what == NEUTRAL and not name.startswith("_"):
            getattr(array, name)
    assert array.__dlpack_device__() == (1, 0)
    assert len(array) == 2 and repr(array)
    for lease in leases:
        lease.close()


@pytest.mark.parametrize("operation", WRITES)
def test_writes_pass_when_nobody_holds_the_array(operation):
    array, _ = filled((2, 3))
    WRITES[operation](array) if not operation.startswith(("write", "get_dlpack", "leases")) else None
    with array.write():
        pass
