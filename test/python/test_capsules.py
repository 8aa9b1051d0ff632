"""Lifetimes of exports: capsules dropped, consumed, consumed twice; deleters called on any thread, at any time."""

import ctypes
import gc
import itertools
import sys
import threading

import memarray
import numpy as np
import pytest
from dlpack_structs import Taken, name_of
from dtype_values import assert_same_values
from support import filled, run_python

ORDERS_OF_FIVE = tuple(itertools.permutations(["array", "lease", "view", "slice", "memory"]))
VERSIONS = pytest.mark.parametrize("version", [None, (1, 0)], ids=["unversioned", "versioned"])


def live():
    return memarray.stats()["live_blocks"]


class Again:
    """A broken producer, which returns one capsule again and again."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.trap("T01")
@pytest.mark.sanitize
@VERSIONS
def test_unconsumed_capsule_frees_its_tensor(version):
    array = memarray.MemArray([100])
    start = live()
    with array.write() as lease:
        capsule = lease.__dlpack__(max_version=version)
    del array, lease
    assert live() == start
    del capsule
    assert live() == start - 1


@pytest.mark.trap("T04")
@pytest.mark.sanitize
@VERSIONS
def test_consumed_capsule_frees_nothing(version):
    array, values = filled((10,))
    with array.write() as lease:
        capsule = lease.__dlpack__(max_version=version)
        taken = Taken(capsule)
    start = live()
    del capsule, array, lease
    assert live() == start
    assert taken.bytes() == values.tobytes()
    taken.drop()
    assert live() == start - 1


@pytest.mark.trap("P01")
@pytest.mark.sanitize
@VERSIONS
def test_capsule_can_be_consumed_only_once(version):
    array, values = filled((10,))
    with array.write() as lease:
        capsule = lease.__dlpack__(max_version=version)
        offered = Again(capsule)
        view = np.from_dlpack(offered)
        assert name_of(capsule).startswith("used_")
        with pytest.raises(ValueError):
            np.from_dlpack(offered)
        del capsule, offered
        assert_same_values(view, values)
        del view


@pytest.mark.trap("P01")
def test_every_call_makes_a_new_capsule():
    array, values = filled((10,))
    with array.write() as lease:
        capsules = [lease.__dlpack__(max_version=(1, 0)) for _ in range(5)]
        assert len({id(capsule) for capsule in capsules}) == 5
        tensors = [Taken(capsule) for capsule in capsules]
        assert len({taken.managed.tensor.data for taken in tensors}) == 1
    for taken in tensors:
        assert taken.bytes() == values.tobytes()
        taken.drop()


@pytest.mark.sanitize
def test_tensor_shape_changes_do_not_reach_other_consumers():
    array, values = filled((4, 3))
    with array.write() as lease:
        first, second = (Taken(lease.__dlpack__()) for _ in range(2))
        first.managed.tensor.shape[0] = 2**40
        first.managed.tensor.strides[0] = -7
        assert second.managed.tensor.shape[0] == 4
        assert_same_values(np.from_dlpack(lease), values)
    first.drop()
    second.drop()


class MallInfo(ctypes.Structure):
    NAMES = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = tuple((name, ctypes.c_size_t) for name in NAMES.split())


def heap_bytes():
    """Returns the bytes that malloc has allocated; 0 if the C library does not report them."""
    mallinfo2 = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo2 is None:
        return 0
    mallinfo2.restype = MallInfo
    return mallinfo2().uordblks


EXPORTS = {
    "unversioned": lambda lease: lease.__dlpack__(),
    "versioned": lambda lease: lease.__dlpack__(max_version=(1, 0)),
    "np.from_dlpack": np.from_dlpack,
    "memoryview": memoryview,
    "np.asarray": np.asarray,
}


@pytest.mark.sanitize
@pytest.mark.parametrize(
    ("export", "kind"),
    # The unversioned struct has no read-only flag.
    [(export, kind) for export in EXPORTS for kind in ("write", "read") if (export, kind) != ("unversioned", "read")],
)
def test_repeated_exports_do_not_leak(export, kind):
    array, _ = filled((10,))
    export = EXPORTS[export]

    def repeat(count):
        with getattr(array, kind)() as lease:
            for _ in range(count):
                export(lease)
        array.fill(1)
        gc.collect()
        stats = memarray.stats()
        unchanged = {key: stats[key] for key in ("live_blocks", "live_bytes", "copies", "versions")}
        return unchanged, sys.getallocatedblocks(), heap_bytes()

    repeat(100)
    before, objects_before, bytes_before = repeat(100)
    after, objects_after, bytes_after = repeat(100_000)
    assert after == before
    # Far below one object and one block for each export.
    assert objects_after - objects_before < 1000
    assert bytes_after - bytes_before < 2**17


def test_more_than_a_million_live_exports_are_refused():
    array = memarray.MemArray([1])
    with array.read() as lease:
        kept = []
        with pytest.raises(BufferError, match="more than a million exports"):
            while len(kept) < 2_000_000:
                kept.append(lease.__dlpack__(max_version=(1, 0)))
        assert len(kept) >= 1_000_000
        del kept
        np.from_dlpack(lease)


@pytest.mark.trap("P03")
@VERSIONS
def test_dropping_capsule_preserves_pending_exception(version):
    array = memarray.MemArray([1])
    with array.write() as lease:
        with pytest.raises(TypeError, match="has no len"):
            # The argument is destroyed while the error is set.
            len(lease.__dlpack__(max_version=version))
    array.fill(1)


@pytest.mark.trap("T02")
@pytest.mark.sanitize
@pytest.mark.parametrize("order", ORDERS_OF_FIVE, ids="-".join)
def test_exports_stay_valid_in_every_destruction_order(order):
    start = live()
    array, values = filled((4, 5))
    things = {"array": array}
    things["lease"] = lease = array.write().__enter__()
    things["view"] = np.from_dlpack(lease)
    things["slice"] = things["view"][::2]
    things["memory"] = memoryview(lease)
    lease.close()
    del array, lease
    for name in order:
        for kept, rows in (("view", slice(None)), ("slice", slice(None, None, 2)), ("memory", slice(None))):
            if kept in things:
                assert_same_values(np.asarray(things[kept]), values[rows])
        del things[name]
    assert live() == start


def test_exports_survive_module_removal_in_every_order():
    run_python(ORDERS)


ORDERS = """
    import gc, itertools, sys
    import numpy as np
    for order in itertools.permutations(["array", "lease", "view", "module"]):
        import memarray
        things = {"module": memarray, "array": memarray.MemArray([8])}
        things["array"].fill(5)
        things["lease"] = things["array"].read()
        with things["lease"] as lease:
            things["view"] = np.from_dlpack(lease)
        del lease, memarray
        for name in order:
            del things[name]
            if name == "module":
                for loaded in [m for m in sys.modules if m.split(".")[0] == "memarray"]:
                    del sys.modules[loaded]
            gc.collect()
            if "view" in things:
                assert (things["view"] == 5).all()
            if "array" in things:
                things["array"].copy()
"""


@pytest.mark.threads
def test_views_are_dropped_by_other_threads_while_the_array_is_written():
    array = memarray.MemArray([4096], "int64")
    handed, failed = [], []
    stop = threading.Event()

    def drop():
        while not stop.is_set() or handed:
            try:
                view, expected = handed.pop()
            except IndexError:
                continue
            if not (view == expected).all():
                failed.append(expected)
            del view

    dropper = threading.Thread(target=drop)
    dropper.start()
    for step in range(2000):
        array.fill(step)
        with array.read() as lease:
            handed.append((np.from_dlpack(lease), step))
    stop.set()
    dropper.join(60)
    assert not failed


@pytest.mark.trap("P05")
@pytest.mark.parametrize("work", ["exports", "waits", "copies"])
def test_process_exits_cleanly_with_busy_daemon_threads(work):
    run_python(
        """
        import sys, threading, time
        import memarray
        array = memarray.MemArray([2**20])
        other = memarray.MemArray([2**20])
        held = other.write()
        held.__enter__()

        def exports():
            with array.read() as lease:
                lease.__dlpack__(max_version=(1, 0))
                memoryview(lease)

        def waits():
            try:
                with other.read(timeout=0.001):
                    pass
            except memarray.LockError:
                pass

        def copies():
            array.copy().fill(1)

        def for_ever(work):
            while True:
                work()

        work = {"exports": exports, "waits": waits, "copies": copies}[sys.argv[1]]
        for _ in range(4):
            threading.Thread(target=for_ever, args=(work,), daemon=True).start()
        time.sleep(0.3)
        held.close()
        """,
        work,
    )


def test_process_exits_cleanly_with_views_stored_in_modules():
    run_python(
        """
        import memarray, numpy as np, threading
        array = memarray.MemArray([1000])
        lease = array.read()
        with lease:
            np.kept_until_numpy_goes = np.from_dlpack(lease)
            threading.kept = memoryview(lease)
        """
    )


def test_exports_create_no_reference_cycles():
    array = memarray.MemArray([5])
    gc.collect()
    gc.disable()
    try:
        start = live()
        for _ in range(100):
            with array.read() as lease:
                view = np.from_dlpack(lease)
            array.fill(1)
            del view, lease
        assert live() == start
    finally:
        gc.enable()
