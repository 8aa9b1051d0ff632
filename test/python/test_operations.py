"""Every public attribute is classed, and every kind of lease refuses operations classed as writes."""

import threading

import memarray
import numpy as np
import pytest
from operations import ARRAY, LEASE, LENDS, MODULE, NEUTRAL, READ, READS, USES, WRITE, WRITES, name_of
from support import filled

#: Every kind of lease, open.
LEASES = {
    "read": lambda a: [a.read().__enter__()],
    "two readers": lambda a: [a.read().__enter__(), a.read().__enter__()],
    "write": lambda a: [a.write().__enter__()],
    "discard": lambda a: [a.write(discard=True).__enter__()],
    "get_dlpack": lambda a: [a.get_dlpack().__enter__()],
    "get_dlpack on the cpu": lambda a: [a.get_dlpack(memarray.dlpack.kDLCPU).__enter__()],
    "leases, reading": lambda a: memarray.leases(a.read()).__enter__(),
    "leases, reading twice": lambda a: memarray.leases(a.read(), a.read()).__enter__(),
    "leases, writing": lambda a: memarray.leases(a.write()).__enter__(),
    "leases, discarding": lambda a: memarray.leases(a.write(discard=True)).__enter__(),
}


def public_names(cls):
    ours = [base for base in cls.__mro__ if base is not object]
    return {name for base in ours for name in vars(base) if not name.startswith("_") or name.startswith("__")}


@pytest.mark.parametrize(
    ("cls", "table"), [(memarray.MemArray, ARRAY), (memarray.Lease, LEASE)], ids=["MemArray", "Lease"]
)
def test_every_attribute_is_classified(cls, table):
    assert public_names(cls) - set(table) == set(), "say in the table whether this reads, writes or neither"


def test_every_module_name_is_classified():
    # Modules that appear once another test has imported them, and that have their own tests.
    others = {"annotations", "lennard_jones", "testing", "pytest_plugin", "dask"}
    # pytest rewrites the assertions of an installed plugin's package and adds names that start with "@".
    assert {name for name in vars(memarray) if not name.startswith(("_", "@"))} - set(MODULE) <= others
    assert set(memarray.__all__) == set(MODULE)


def test_every_write_and_read_operation_is_tested():
    writes = {name for table in (ARRAY, MODULE) for name, kind in table.items() if kind == WRITE}
    assert {name_of(trial) for trial in WRITES} == writes
    assert {name_of(trial) for trial in USES} == writes
    reads = {name for name, kind in ARRAY.items() if kind == READ}
    assert reads <= {name_of(trial) for trial in READS}
    lends = {name for name, kind in LEASE.items() if kind == READ and name != "__release_buffer__"}
    assert {name_of(trial) for trial in LENDS} == lends


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
def test_neutral_attributes_work_under_every_lease(kind):
    array, leases = hold(kind)
    for name, what in ARRAY.items():
        if what == NEUTRAL and not name.startswith("_"):
            getattr(array, name)
    assert array.__dlpack_device__() == (1, 0)
    assert len(array) == 2 and repr(array)
    for lease in leases:
        lease.close()


@pytest.mark.parametrize("operation", WRITES)
def test_writes_succeed_without_open_leases(operation):
    array, _ = filled((2, 3))
    outcome = WRITES[operation](array)
    leases = [lease for lease in (outcome if isinstance(outcome, tuple) else [outcome]) if lease is not None]
    assert len(leases) == {"leases": 1, "leases of several": 2}.get(operation, operation.startswith(("write", "get_")))
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
