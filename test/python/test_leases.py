"""Leases: which can be open together, how long they wait, and the messages of refusals."""

import gc
import itertools
import os
import sys
import threading
import time
import warnings

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from operations import EXPORTS
from support import filled, look

KINDS = {
    "read": lambda a, **options: a.read(**options),
    "write": lambda a, **options: a.write(**options),
    "get_dlpack": lambda a, timeout=0: a.get_dlpack(),
    "discard": lambda a, **options: a.write(discard=True, **options),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def refused_by(lease, words):
    """Checks that every export of a lease that is not open is refused, and its device too."""
    for name, export in EXPORTS.items():
        with pytest.raises((memarray.LockError, AttributeError)) as refused:
            export.call(lease)
        # An absent attribute, because consumers look it up first and then try other protocols.
        if refused.type is AttributeError:
            assert "__array_interface__ is available only inside the lease's 'with' block" in str(refused.value)
            assert name.startswith("__array_interface__")
        else:
            assert words in str(refused.value)
    with pytest.raises(memarray.LockError, match=words):
        lease.__dlpack_device__()


@pytest.mark.sanitize
@every_kind
def test_a_lease_is_inert_before_it_is_entered(kind):
    array = memarray.MemArray([2])
    lease = KINDS[kind](array)
    assert not lease.is_open
    assert lease.lock_id == -1
    refused_by(lease, "not open yet: use it in a 'with' statement")
    assert not hasattr(lease, "__array_interface__")
    array.fill(1)
    lease.close()
    with lease:
        assert lease.is_open


@pytest.mark.sanitize
@every_kind
def test_lease_cannot_be_used_or_reopened_after_its_block(kind):
    array = memarray.MemArray([2])
    with KINDS[kind](array) as lease:
        assert lease.is_open
    assert not lease.is_open
    assert lease.lock_id == -1
    refused_by(lease, "this lease is over")
    with pytest.raises(memarray.LockError, match="cannot be opened again"):
        lease.__enter__()
    lease.__exit__(None, None, None)
    lease.close()
    array.fill(1)


@every_kind
def test_lease_opens_once_and_may_be_closed_twice(kind):
    array = memarray.MemArray([2])
    lease = KINDS[kind](array)
    assert lease.__enter__() is lease
    with pytest.raises(memarray.LockError, match="open already"):
        lease.__enter__()
    assert lease.is_open
    lease.__exit__()
    lease.__exit__(None, None, None)
    with array.write():
        lease.close()
        assert array.lock_id >= 0


@every_kind
def test_exception_in_block_closes_lease_and_propagates(kind):
    array = memarray.MemArray([2])
    with pytest.raises(KeyError, match="mine"):
        with KINDS[kind](array) as lease:
            raise KeyError("mine")
    assert not lease.is_open
    array.fill(1)


def test_readers_share_and_writers_exclude():
    array = memarray.MemArray([2])
    for held, wanted in itertools.product(KINDS, KINDS):
        with KINDS[held](array):
            if held == wanted == "read":
                with KINDS[wanted](array):
                    pass
            else:
                with pytest.raises(memarray.LockError):
                    KINDS[wanted](array).__enter__()
    assert array.lock_id == -1


@pytest.mark.trap("T06")
def test_write_leases_have_unique_64_bit_lock_ids():
    array = memarray.MemArray([2])
    seen = set()
    for _ in range(1000):
        with array.write() as lease:
            assert lease.lock_id == array.lock_id
            assert 2**62 <= lease.lock_id < 2**63
            seen.add(lease.lock_id)
    assert len(seen) == 1000
    with array.read() as lease:
        assert lease.lock_id == array.lock_id == -1


def test_lock_error_describes_leases_that_hold_the_array():
    array = memarray.MemArray([2, 3])
    with array.read(), array.read(), array.read():
        with pytest.raises(memarray.LockError, match=r"fill is refused on MemArray<float64, 2> of shape \(2, 3\).*"):
            array.fill(1)
        with pytest.raises(memarray.LockError, match="leased for reading by 3 leases; close them first"):
            array.fill(1)
    with array.write() as lease:
        with pytest.raises(memarray.LockError, match=rf"leased for writing \(lock id {lease.lock_id}\)"):
            array.fill(1)
    with array.read(), pytest.raises(memarray.LockError, match="by 1 lease; close it first"):
        array.resize([1, 1])


def test_refusals_say_where_leases_were_opened_under_trace_leases():
    memarray.options.trace_leases = True
    array = memarray.MemArray([2])
    with array.read(), array.read():
        with pytest.raises(memarray.LockError) as refused:
            array.fill(1)
    here = f"{os.path.basename(__file__)}"
    lines = [line for line in str(refused.value).splitlines() if "opened at" in line]
    assert len(lines) == 2
    assert all(here in line and "test_refusals_say_where" in line for line in lines)
    memarray.options.trace_leases = False
    with array.read(), pytest.raises(memarray.LockError) as refused:
        array.fill(1)
    assert "opened at" not in str(refused.value)


@pytest.mark.parametrize("name", ["opener", "not UTF-8: \udcff"])
def test_traced_leases_keep_no_code_object(name):
    memarray.options.trace_leases = True
    array = memarray.MemArray([2])
    code = compile("with array.read(): pass", f"{name}.py", "exec")
    before = sys.getrefcount(code)
    for _ in range(100):
        exec(code, {"array": array})
    memarray.options.trace_leases = False
    assert sys.getrefcount(code) - before < 10


def test_lock_errors_are_runtime_and_buffer_errors():
    assert issubclass(memarray.LockError, memarray.Error)
    assert issubclass(memarray.LockError, BufferError)
    assert issubclass(memarray.Error, RuntimeError)


@every_kind
def test_collecting_open_lease_closes_it_with_a_warning(kind):
    array = memarray.MemArray([2])
    with pytest.warns(ResourceWarning, match="lease was collected while it was open"):
        KINDS[kind](array).__enter__()
        gc.collect()
    array.fill(1)


def test_collecting_open_lease_in_cycle_closes_it():
    array = memarray.MemArray([2])
    holder = {"lease": array.write()}
    holder["self"] = holder
    holder["lease"].__enter__()
    with pytest.warns(ResourceWarning):
        del holder
        gc.collect()
    array.fill(1)


@pytest.mark.trap("P03")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_collecting_lease_keeps_pending_exception():
    array = memarray.MemArray([2])
    with pytest.raises(TypeError, match="bad operand"):
        -array.read().__enter__()
    array.fill(1)


def test_lock_is_released_when_resource_warning_is_an_error():
    array = memarray.MemArray([2])
    unraisable = []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        patch.setattr("sys.unraisablehook", unraisable.append)
        array.write().__enter__()
    assert [seen.exc_type for seen in unraisable] == [ResourceWarning]
    unraisable.clear()
    array.fill(1)


def test_lease_keeps_array_alive_and_exposes_it():
    array, values = filled((3,))
    lease = array.read()
    del array
    with lease:
        assert_same_values(np.from_dlpack(lease), values)
        assert isinstance(lease.array, memarray.MemArray)
        assert lease.array.shape == (3,)
        with pytest.raises(memarray.LockError):
            lease.array.fill(0)
    lease.array.fill(0)


def test_lease_repr_and_writable_report_its_kind():
    array = memarray.MemArray([2, 3])
    read, write = array.read(), array.write()
    assert (read.writable, write.writable) == (False, True)
    with read:
        assert repr(read) == "<open read lease of MemArray<float64, 2> of shape (2, 3)>"
    assert "write lease" in repr(write)


def test_write_lease_with_discard_stores_new_contents():
    array, _ = filled((4,))
    with array.write(discard=True) as lease:
        np.asarray(lease)[:] = 5
    assert (look(array) == 5).all()


@pytest.mark.threads
def test_lease_is_refused_after_its_timeout():
    array = memarray.MemArray([2])
    with array.write():
        for take in (array.read, array.write):
            start = time.monotonic()
            with pytest.raises(memarray.LockError, match="leased for writing"):
                take(timeout=0.05).__enter__()
            assert 0.04 < time.monotonic() - start < 5


@pytest.mark.threads
@pytest.mark.parametrize("timeout", [30, 30.0, None, np.float64(30), float("inf")], ids=repr)
@pytest.mark.parametrize("kind", ["read", "write"])
def test_waiting_lease_opens_when_array_is_released(kind, timeout):
    array = memarray.MemArray([2])
    waiting = threading.Event()
    granted = []

    def wait():
        waiting.set()
        with KINDS[kind](array, timeout=timeout) as lease:
            granted.append(lease.is_open)

    with array.write():
        waiter = threading.Thread(target=wait)
        waiter.start()
        waiting.wait()
        time.sleep(0.02)
        assert not granted
    waiter.join(30)
    assert granted == [True]


@pytest.mark.threads
def test_new_reader_is_refused_while_writer_waits():
    array = memarray.MemArray([2])
    order = []

    def write():
        with array.write(timeout=30):
            order.append("writer")

    first = array.read()
    first.__enter__()
    writer = threading.Thread(target=write)
    writer.start()
    deadline = time.monotonic() + 30
    refused = False
    while not refused and time.monotonic() < deadline:
        try:
            array.read().__enter__().close()
        except memarray.LockError as error:
            refused = True
            assert "writer is waiting" in str(error) or "by 1 lease" in str(error)
    assert refused
    first.close()
    writer.join(30)
    assert order == ["writer"]
    with array.read():
        pass


def test_leases_opens_all_or_none():
    a, b, c = (memarray.MemArray([2]) for _ in range(3))
    with memarray.leases(a.read(), b.write(), c.get_dlpack()) as (x, y, z):
        assert x.is_open and y.is_open and z.is_open
        np.asarray(y)[:] = np.asarray(x)
    assert not (x.is_open or y.is_open or z.is_open)
    with b.read():
        wanted = [a.write(), b.write(), c.write()]
        with pytest.raises(memarray.LockError, match="leased for reading by 1 lease"):
            memarray.leases(*wanted).__enter__()
        assert not any(lease.is_open for lease in wanted)
        a.fill(1)
        c.fill(1)
    with memarray.leases(*wanted):
        pass


def test_leases_refuses_conflicting_leases_of_one_array():
    a = memarray.MemArray([2])
    with memarray.leases(a.read(), a.read()):
        pass
    for first, second in ((a.read(), a.write()), (a.write(), a.read()), (a.write(), a.write())):
        with pytest.raises(memarray.LockError, match="requested twice, at least once for writing"):
            memarray.leases(first, second).__enter__()
    twice = a.read()
    with pytest.raises(memarray.LockError, match="open already"):
        memarray.leases(twice, twice).__enter__()
    a.fill(1)
    with memarray.leases() as none:
        assert none == ()


@pytest.mark.threads
def test_leases_in_opposite_orders_do_not_deadlock():
    a, b = (memarray.MemArray([2]) for _ in range(2))
    done = []

    def run(first, second):
        for _ in range(300):
            with memarray.leases(first.write(), second.write(), timeout=60):
                pass
        done.append(True)

    threads = [threading.Thread(target=run, args=order) for order in ((a, b), (b, a))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert done == [True, True]


def test_timeout_of_leases_limits_total_wait():
    a, b = (memarray.MemArray([2]) for _ in range(2))
    with a.write(), b.write():
        start = time.monotonic()
        with pytest.raises(memarray.LockError):
            memarray.leases(a.read(timeout=0), b.read(timeout=60), timeout=0.05).__enter__()
        assert 0.04 < time.monotonic() - start < 10


@pytest.mark.parametrize("kind", ["read", "write", "discard"])
def test_lease_that_another_thread_opens_can_be_closed(kind):
    array = memarray.MemArray([2])
    failures = []
    lease = KINDS[kind](array, timeout=60)

    def open_it():
        try:
            lease.__enter__()
        except memarray.LockError as error:
            failures.append(str(error))

    with array.write():
        thread = threading.Thread(target=open_it)
        thread.start()
        # Has no effect before the thread has begun.
        while "<closed " not in repr(lease):
            lease.close()
            time.sleep(0.001)
    thread.join()
    assert failures == ["this lease was closed while another thread opened it; take a new one"]
    assert not lease.is_open
    array.fill(1)
