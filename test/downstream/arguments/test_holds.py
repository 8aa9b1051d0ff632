"""Leases that arguments hold: for the call, under exceptions, and in copies that C++ keeps."""

import gc
import logging
import threading
import time
import weakref

import arguments
import memarray
import numpy as np
import pytest


@pytest.fixture
def a():
    array = memarray.MemArray([1000])
    array.fill(1)
    yield array
    arguments.drop()


def is_free(array):
    return array.lock_id == -1 and array.write().__enter__().__exit__() is None


def test_read_argument_holds_read_lease_during_call(a):
    def write():
        with pytest.raises(memarray.LockError, match="leased for reading by 1 lease"):
            a.fill(2)
        with a.read():
            pass

    assert arguments.read_and_call(a, write) == 1000
    assert is_free(a)


@pytest.mark.parametrize(("call", "shape"), [(arguments.span_and_call, [6]), (arguments.mdspan_and_call, [2, 3])])
def test_span_argument_holds_read_lease_during_call(call, shape):
    array = memarray.MemArray(shape)
    array.fill(1)
    tried = []

    def write():
        with pytest.raises(memarray.LockError, match="leased for reading by 1 lease"):
            array.fill(2)
        with array.read():
            tried.append(array.lock_id)

    copies = memarray.stats()["copies"]
    assert call(array, write) == 6
    assert len(tried) == 1
    with pytest.raises(ZeroDivisionError):
        call(array, lambda: 1 / 0)
    assert is_free(array)
    assert memarray.stats()["copies"] == copies


def test_write_argument_holds_write_lease_during_call(a):
    def read():
        with pytest.raises(memarray.LockError, match="leased for writing"):
            np.asarray(a)
        assert a.lock_id >= 0

    arguments.write_and_call(a, read)
    assert is_free(a)


def test_lease_is_released_on_exception(a):
    with pytest.raises(RuntimeError, match="as asked"):
        arguments.fail(a)
    assert is_free(a)
    for call in (arguments.read_and_call, arguments.write_and_call):
        with pytest.raises(ZeroDivisionError):
            call(a, lambda: 1 / 0)
        assert is_free(a)
    # The second argument does not fit, when the first was taken.
    with pytest.raises(TypeError):
        arguments.copy_into(a, np.zeros(3, "int8"))
    assert is_free(a)


def test_passing_one_array_to_read_and_write_is_refused(a):
    with pytest.raises(memarray.LockError):
        arguments.copy_into(a, a)
    assert is_free(a)
    b = memarray.MemArray([1000])
    arguments.copy_into(a, b)
    assert np.asarray(b).sum() == 1000


def test_lock_error_is_raised_despite_failed_overloads():
    b = memarray.MemArray([3], "float32")
    with b.write(), pytest.raises(memarray.LockError, match="leased for writing"):
        arguments.overloaded(b)
    assert arguments.overloaded(b)[0] == "float32"
    # Said once, it is over.
    with pytest.raises(TypeError, match=r"memory of float64.*the dtype"):
        arguments.read_and_call(b, print)
    with pytest.raises(TypeError, match=r"memory of float64.*the number of dimensions"):
        arguments.read_and_call(memarray.MemArray([3, 3]), print)
    # An overload that needs no lease is called.
    c = memarray.MemArray([2, 2], "float32")
    with c.write():
        assert arguments.overloaded(c) == "array"


def test_the_line_of_the_call_is_traced(a):
    memarray.options.trace_leases = True
    try:

        def write():
            with pytest.raises(memarray.LockError, match=r"test_holds.py:\d+ \(test_the_line_of_the_call_is_traced\)"):
                a.fill(2)

        arguments.read_and_call(a, write)
    finally:
        memarray.options.trace_leases = False


def test_lease_argument_stays_open_after_call(a):
    with a.write() as lease:
        arguments.write_without_gil(lease, 4)
        assert lease.is_open
    assert np.asarray(a).sum() == 4000

    # A lease that ends meanwhile leaves an escaped view.
    lease = a.read().__enter__()

    def close_and_write():
        lease.close()
        a.fill(5)

    assert arguments.read_and_call(lease, close_and_write) == 4000
    assert np.asarray(a)[0] == 5


def test_stored_view_holds_its_lease(a):
    arguments.keep_copy(a)
    with pytest.raises(memarray.LockError):
        a.fill(2)
    assert arguments.kept_sum() == 1000
    arguments.drop()
    assert is_free(a)


def test_stored_view_keeps_memory_alive():
    gc.collect()
    before = memarray.stats()["live_blocks"]
    b = memarray.MemArray([1000])
    b.fill(3)
    arguments.keep(b)
    del b
    gc.collect()
    assert arguments.kept_sum() == 3000
    arguments.drop()
    assert memarray.stats()["live_blocks"] == before


@pytest.mark.parametrize("drop", [arguments.drop, arguments.drop_in_a_thread])
def test_stored_views_are_dropped_with_and_without_gil(a, drop):
    x = np.arange(4.0)
    gone = weakref.ref(x)
    arguments.keep(x)
    arguments.keep_to_write(a)
    del x
    gc.collect()
    assert gone() is not None
    with pytest.raises(memarray.LockError, match="leased for writing"):
        a.read().__enter__()
    arguments.write_kept(7)
    drop()
    assert gone() is None
    assert is_free(a)
    assert np.asarray(a)[0] == 7


def test_an_untyped_view_holds_no_lease(a):
    view = arguments.keep_untyped(a)
    assert isinstance(view, memarray.BufferView) and not view.writable
    a.fill(2)
    assert view.sum() == 1000, "the view has escaped, so it is a snapshot"


def test_views_are_returned_as_views(a):
    x = np.arange(6.0)
    view = arguments.pass_on(x)
    assert isinstance(view, memarray.BufferView) and view.writable
    assert view.data_ptr == x.ctypes.data
    assert not arguments.pass_on_to_read(x).writable
    part = arguments.every_other(x)
    assert (part.shape, part.strides) == ((3,), (16,))
    gone = weakref.ref(x)
    del x, view
    gc.collect()
    assert gone() is not None and part.sum() == 6
    del part
    assert gone() is None
    assert arguments.made_here(4).sum() == 8
    with pytest.raises(ValueError, match="closed"):
        arguments.nothing()
    # A view of an array is an export that outlives its lease.
    copies = memarray.stats()["copies"]
    kept = arguments.pass_on(a)
    a.fill(2)
    assert kept.sum() == 1000
    assert memarray.stats()["copies"] == copies


def test_write_under_escaped_view_is_reported(a, caplog):
    caplog.set_level(logging.INFO, "memarray.copies")
    with a.read() as lease:
        kept = np.from_dlpack(lease)
    arguments.write_and_call(a, lambda: None)
    assert "8000" in caplog.text
    assert kept[0] == 1 and kept.sum() == 1000


def test_policies_of_escaped_views_are_respected(a):
    a.escaped_views = "error"
    with a.read() as lease:
        kept = np.from_dlpack(lease)
    with pytest.raises(memarray.LockError):
        arguments.write_without_gil(a, 2)
    assert arguments.read_and_call(a, lambda: None) == 1000
    del kept
    arguments.write_without_gil(a, 2)


def test_other_threads_run_while_a_function_reads(a):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(arguments.read_without_gil(a, 0.3)))
    thread.start()
    refused = 0
    while thread.is_alive():
        try:
            a.fill(2)
        except memarray.LockError:
            refused += 1
    thread.join()
    assert seen == [True]
    assert refused > 10


def test_reads_and_writes_of_eight_threads_are_not_torn(a):
    """Readers never see half of a write. Every thread gets its turn, and reads between writes."""
    done = [0] * 8  # by each: writes, or reads after the first write
    counting = threading.Lock()
    torn = []
    end = time.monotonic() + 60

    def ask(question, of=slice(None)):
        with counting:
            return question(done[of])

    def work(number):
        i = 0
        while i < 300 or (ask(min) < 4 and time.monotonic() < end):
            i += 1
            counts = number % 2 or ask(any, slice(1, None, 2))
            try:
                if number % 2:
                    arguments.write_without_gil(a, number * 1000 + i)
                elif not arguments.read_without_gil(a, 0):
                    torn.append(i)
                with counting:
                    done[number] += bool(counts)
            except memarray.LockError:
                pass
            if i >= 300:
                time.sleep(0.001)  # else readers that overlap hold the lock for ever

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torn == []
    assert is_free(a)
    assert min(done) >= 4, done
    assert np.asarray(a)[0] > 1000


def test_shared_pointers_share_the_array(a):
    arguments.share(a)
    assert arguments.shared().shape == a.shape
    a.fill(2)
    assert arguments.shared_sum(arguments.shared()) == 2000
    del a
    gc.collect()
    assert arguments.shared_sum(arguments.shared()) == 2000
    arguments.unshare()
    assert arguments.shared() is None
    assert arguments.shared_sum(None) == -1
    with pytest.raises(TypeError, match="MemArray<float64, 1> is needed"):
        arguments.share(memarray.MemArray([2], "int8"))


def test_arrays_taken_by_value_share_the_memory(a):
    def address():
        return arguments.look(a, "float64", 1)[1]

    before = memarray.stats()["copies"], address()
    arguments.fill_by_value(a, 4)
    assert np.asarray(a).tolist() == [4] * 1000
    assert (memarray.stats()["copies"], address()) == before
    assert is_free(a)
    with a.read(), pytest.raises(memarray.LockError, match="leased for reading"):
        arguments.fill_by_value(a, 5)
    with pytest.raises(TypeError, match=r"MemArray<float64, 1> is needed"):
        arguments.fill_by_value(memarray.MemArray([2], "int8"), 1)


def test_array_returned_by_value_is_not_copied():
    gc.collect()
    before = memarray.stats()["live_blocks"]
    made = arguments.make(3)
    assert np.asarray(made).tolist() == [3, 3, 3]
    assert memarray.stats()["live_blocks"] == before + 1


def test_argument_works_under_pybind11_call_guard(a):
    assert arguments.sum_under_guard(a) == 1000
    assert is_free(a)
