"""Every public attribute has an entry in the table, and every kind of lease refuses the writes of the table."""

import threading
import types

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from operations import OPERATIONS, READS, VIEW_WRITES, WRITES, entries_of
from support import filled

#: Every kind of lease, open.
LEASES = {
    "read": lambda a: [a.read().__enter__()],
    "two readers": lambda a: [a.read().__enter__(), a.read().__enter__()],
    "write": lambda a: [a.write().__enter__()],
    "discard": lambda a: [a.write(discard=True).__enter__()],
    "get_dlpack": lambda a: [a.get_dlpack().__enter__()],
    "get_dlpack on the cpu": lambda a: [a.get_dlpack(memarray.dlpack.kDLCPU).__enter__()],
    "leases reading": lambda a: memarray.leases(a.read()).__enter__(),
    "leases reading twice": lambda a: memarray.leases(a.read(), a.read()).__enter__(),
    "leases writing": lambda a: memarray.leases(a.write()).__enter__(),
    "leases discarding": lambda a: memarray.leases(a.write(discard=True)).__enter__(),
}


class Empty:
    """A class with the names that Python gives classes by itself, except for the optional ones."""


COMMON = {*vars(Empty), "__slots__", "__weaklistoffset__", "__annotations__", "__match_args__", "__slotnames__"}
CLASSES = ("MemArray", "Lease", "BufferView", "Stream", "Event", "MemoryPool")
#: Modules that appear once another test has imported them, and that have their own tests.
SUBMODULES = {"annotations", "lennard_jones", "testing", "pytest_plugin", "dask"}


def public_names(cls):
    ours = [base for base in cls.__mro__ if base is not object]
    names = {name for base in ours for name in vars(base) if not name.startswith("_") or name.startswith("__")}
    if cls is memarray.MemArray:
        names.add("_TYPE_INSTANCE_MAP")
    if cls in (memarray.Lease, memarray.BufferView):
        names |= {"__buffer__", "__release_buffer__"}  # attributes since Python 3.12
    return names - COMMON


@pytest.mark.parametrize("owner", CLASSES)
def test_table_has_an_entry_for_each_attribute(owner):
    assert set(entries_of(owner)) == public_names(getattr(memarray, owner))


def test_table_has_an_entry_for_each_name_of_the_module():
    # pytest rewrites the assertions of an installed plugin's package and adds names that start with "@".
    assert {name for name in vars(memarray) if not name.startswith(("_", "@"))} <= {*memarray.__all__, *SUBMODULES}
    assert set(entries_of("memarray")) == set(memarray.__all__)
    functions = {name for name, value in vars(memarray.cuda).items() if isinstance(value, types.FunctionType)}
    assert set(entries_of("memarray.cuda")) == functions
    assert {name.rpartition(".")[0] for name in OPERATIONS} == {*CLASSES, "memarray", "memarray.cuda"}


class Witness:
    """Records everything visible of an array, from within the leases that hold it."""

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
    return array, LEASES[kind](array)


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
@pytest.mark.parametrize("operation", [name for name, write in WRITES.items() if not write.waits])
@pytest.mark.parametrize("kind", LEASES)
def test_writes_are_refused_under_every_lease(kind, operation, policy):
    array, leases = hold(kind, policy)
    witness = Witness(array, leases[0])
    with pytest.raises(memarray.LockError, match="is refused on MemArray<float64, 2> of shape"):
        WRITES[operation].enter(array)
    assert witness.now() == witness.before
    refusal = in_another_thread(lambda: WRITES[operation].enter(array))
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
            READS[operation].call(array)
    else:
        READS[operation].call(array)
    assert witness.now() == witness.before
    del witness
    for lease in leases:
        lease.close()


@pytest.mark.parametrize("kind", LEASES)
def test_neutral_attributes_work_under_every_lease(kind):
    array, leases = hold(kind)
    for name, calls in entries_of("MemArray").items():
        if not calls and not name.startswith("_"):
            getattr(array, name)
    assert array.__dlpack_device__() == (1, 0)
    assert len(array) == 2 and repr(array)
    for lease in leases:
        lease.close()


@pytest.mark.parametrize("operation", WRITES)
def test_writes_succeed_without_open_leases(operation):
    array, _ = filled((2, 3))
    leases = WRITES[operation].enter(array)
    assert len(leases) == (0 if WRITES[operation].change is None else 2 if "several" in operation else 1)
    for lease in leases:
        assert lease.is_open
        if lease.writable:
            assert array.lock_id == lease.lock_id >= 0
            np.from_dlpack(lease)[...] = 5
            lease.close()
            with array.read() as reader:
                assert (np.from_dlpack(reader) == 5).all()
        lease.close()
    with array.write():
        pass


@pytest.mark.parametrize("operation", VIEW_WRITES)
def test_writes_through_read_only_views_are_refused(operation):
    array, values = filled((4,))
    with array.read() as lease:
        view = lease.view()
        with pytest.raises((ValueError, BufferError, TypeError), match="read-only"):
            VIEW_WRITES[operation].call(view)
        assert_same_values(np.asarray(view), values)
    with array.write() as lease:
        VIEW_WRITES[operation].call(lease.view())
        assert not np.array_equal(np.asarray(lease), values)
