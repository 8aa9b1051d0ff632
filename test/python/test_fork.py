"""Arrays and leases in a forked child."""

from pathlib import Path

import pytest
from support import run_python

TESTS = Path(__file__).parent

pytestmark = pytest.mark.threads


FORKED = """
    import os, sys, threading
    import numpy as np
    import memarray

    def in_child(work):
        pid = os.fork()
        if pid == 0:
            try:
                work()
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        assert status == 0, status

    def refused(work, words):
        try:
            work()
        except memarray.LockError as error:
            assert words in str(error), error
        else:
            raise AssertionError("not refused")

    def held_by_a_thread(lease):
        opened, done = threading.Event(), threading.Event()
        def hold():
            with lease:
                opened.set()
                done.wait()
        thread = threading.Thread(target=hold)
        thread.start()
        opened.wait()
        return thread, done
"""


def test_arrays_exports_and_threads_work_in_a_forked_child():
    run_python(
        FORKED
        + """
    array = memarray.MemArray([2**21], "int64")
    array.add_index_tuple()
    kept = np.from_dlpack(array)

    def work():
        array.add_index_tuple()
        assert np.asarray(array)[-1] == 2 * (2**21 - 1)
        assert kept[-1] == 2**21 - 1
        more = memarray.MemArray([2**21], "float32")
        more.fill(2)
        more.add_index_tuple()
        assert np.asarray(more)[7] == 9
        done = []
        thread = threading.Thread(target=lambda: (array.fill(3), done.append(1)))
        thread.start()
        thread.join()
        assert done and (np.asarray(array) == 3).all()

    for _ in range(3):
        in_child(work)
    assert np.asarray(array)[-1] == 2**21 - 1
    """
    )


def test_leases_of_the_forking_thread_carry_over():
    run_python(
        FORKED
        + """
    array = memarray.MemArray([4])
    array.fill(1)
    with array.write() as lease:
        def work():
            np.asarray(lease)[:] = 7
            lease.close()
            assert np.asarray(array).tolist() == [7] * 4
            array.fill(8)
        in_child(work)
        assert np.asarray(lease).tolist() == [1] * 4
    with array.read() as lease:
        def work():
            refused(lambda: array.fill(2), "forked")
            lease.close()
            array.fill(2)
        in_child(work)
    """
    )


def test_child_is_refused_arrays_leased_by_other_threads():
    run_python(
        FORKED
        + """
    for kind in ("read", "write"):
        array = memarray.MemArray([4])
        opened, done = threading.Event(), threading.Event()
        def hold():
            with getattr(array, kind)():
                opened.set()
                done.wait()
        thread = threading.Thread(target=hold)
        thread.start()
        opened.wait()
        in_child(lambda: refused(lambda: array.fill(2), "forked"))
        done.set()
        thread.join()
        array.fill(2)
        in_child(lambda: array.fill(3))
    """
    )


def test_waiting_writer_in_parent_does_not_block_child_readers():
    run_python(
        FORKED
        + """
    import time
    array = memarray.MemArray([4])
    with array.read():
        waiter = threading.Thread(target=lambda: array.write(timeout=None).__enter__().close())
        waiter.start()
        time.sleep(0.2)
        def work():
            with array.read():
                pass
        in_child(work)
    waiter.join()
    array.fill(1)
    """
    )


def test_forked_child_exits_normally():
    run_python(
        """
        import os, sys, memarray
        array = memarray.MemArray([2**21])
        array.add_index_tuple()
        pid = os.fork()
        if pid == 0:
            array.add_index_tuple()
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        """
    )


@pytest.mark.parametrize("held", ["write", "read"])
def test_child_never_waits_for_leases_of_missing_threads(held):
    run_python(
        FORKED
        + f"""
    array, other = memarray.MemArray([4]), memarray.MemArray([4])
    thread, done = held_by_a_thread(array.{held}())

    def enter(*leases, timeout):
        with memarray.leases(*leases, timeout=timeout):
            pass

    def work():
        for timeout in (0, 3600, None):
            refused(lambda: array.write(timeout=timeout).__enter__(), "forked")
            refused(lambda: enter(array.write(), other.write(), timeout=timeout), "forked")
            refused(lambda: enter(other.read(), array.write(), timeout=timeout), "forked")
            if "{held}" == "write":
                refused(lambda: array.read(timeout=timeout).__enter__(), "forked")
                refused(lambda: enter(array.read(), other.write(), timeout=timeout), "forked")
            else:
                enter(array.read(), other.write(), timeout=timeout)
                with array.read(timeout=timeout) as lease:
                    assert np.asarray(lease).sum() == 0
            refused(lambda: array.fill(1), "forked")
        with other.write(timeout=None) as lease:
            np.asarray(lease)[:] = 3
        assert np.asarray(other).tolist() == [3] * 4
        mine = memarray.MemArray([4])
        mine.fill(1)
    in_child(work)
    done.set()
    thread.join()
    array.fill(1)
    """
    )


def test_multiprocessing_children_do_not_hang_beside_writer_thread():
    run_python(
        """
    import multiprocessing, threading
    import memarray

    array = memarray.MemArray([1000])
    stop = threading.Event()
    def write():
        while not stop.is_set():
            with array.write(timeout=None) as lease:
                memarray.BufferView(lease).fill(1)

    def work(results):
        own = memarray.MemArray([4])
        try:
            with array.write(timeout=None):
                results.put("written")
        except memarray.LockError as error:
            assert "forked" in str(error), error
            results.put("refused")
        with own.write(timeout=None):
            pass
        own.fill(1)

    thread = threading.Thread(target=write)
    thread.start()
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    for _ in range(20):
        child = context.Process(target=work, args=(results,))
        child.start()
        child.join(30)
        assert child.exitcode == 0, child.exitcode
        assert results.get(timeout=30) in ("written", "refused")
    stop.set()
    thread.join()
    """,
        env={"PYTHONWARNINGS": "ignore"},
    )


@pytest.mark.parametrize("held", ["write", "read"])
def test_c_api_in_child_never_waits_for_missing_threads(held):
    run_python(
        FORKED
        + f"""
    import ctypes
    sys.path.insert(0, {str(TESTS)!r})
    from c_api_headers import declarations, header
    from test_c_api import pointer, structure, with_the_gil

    head = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]
    api = structure(declarations(header()), head).from_address(pointer())
    arrays = api.arrays.contents
    raise_last_error = with_the_gil(api.raise_last_error)
    array = memarray.MemArray([4])
    ref = with_the_gil(arrays.array_from_object)(id(array))
    thread, done = held_by_a_thread(array.{held}())

    def work():
        for timeout in (0.0, 3600.0, -1.0):
            assert arrays.write_array(ref, timeout, None, None, 0) is None
            refused(lambda: raise_last_error(b"writing"), "forked")
            lease = arrays.read_array(ref, timeout, None, None)
            if "{held}" == "write":
                assert lease is None
                refused(lambda: raise_last_error(b"reading"), "forked")
            else:
                arrays.release_lease(lease)
    in_child(work)
    done.set()
    thread.join()
    arrays.release_array(ref)
    """
    )
