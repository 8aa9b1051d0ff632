"""Every implicit copy is reported: counters and log records."""

import logging
import pickle
import re

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from memarray import BufferView
from support import filled, look, run_python

COPIES = "memarray.copies"


def partial_write(array):
    with array.write() as lease:
        np.asarray(lease)[0] = 1


@pytest.fixture
def records(caplog):
    caplog.set_level(logging.INFO, logger="memarray")
    return lambda: [record for record in caplog.records if record.name == COPIES]


def test_stats_has_the_expected_counters():
    stats = memarray.stats()
    names = "copies copied_bytes waits versions live_blocks live_bytes pool_bytes pool_blocks pool_hits pool_misses"
    names += " to_device_bytes to_host_bytes between_devices_bytes"
    assert set(names.split()) <= set(stats)
    assert all(type(value) is int and value >= 0 for value in stats.values())


@pytest.mark.parametrize("extent", [1, 1000, 123_457])
def test_copy_writes_one_info_record_with_byte_count(records, extent):
    array, _ = filled((extent,), "int64")
    kept = np.from_dlpack(array)
    before = memarray.stats()
    partial_write(array)
    after = memarray.stats()
    assert after["copies"] - before["copies"] == 1
    assert after["copied_bytes"] - before["copied_bytes"] == extent * 8
    assert after["versions"] - before["versions"] == 1
    (record,) = records()
    assert record.levelno == logging.INFO
    message = record.getMessage()
    assert re.search(rf"\b{extent * 8}\b", message), message
    assert f"MemArray<int64, 1> of shape ({extent},)" in message or f"({extent})" in message
    assert kept.shape == (extent,)


def test_each_copy_writes_one_record(records):
    array, _ = filled((10,))
    kept = []
    for _ in range(5):
        kept.append(np.from_dlpack(array))
        partial_write(array)
    assert len(records()) == 5


def test_explicit_copies_are_not_reported(records, copies):
    array, values = filled((10,))
    array.copy()
    np.array(array)
    np.from_dlpack(array, copy=True)
    memarray.MemArray.from_numpy(values)
    array.read_numpy_array(values)
    array.resize([20])
    array.move_memory(memarray.dlpack.kDLCPU)
    assert copies() == 0 and records() == []


def test_conversions_and_overlaps_are_reported(records, copies):
    array, values = filled((10,), "float32")
    array.read_numpy_array(values.astype("float64"))
    assert "40" in records()[-1].getMessage() and "float64" in records()[-1].getMessage()
    array.escaped_views = "alias"
    array.read_numpy_array(np.asarray(array)[::-1])
    assert "40" in records()[-1].getMessage() and "overlaps" in records()[-1].getMessage()
    assert copies() == len(records()) == 2


def test_a_record_is_written_before_the_call_returns(records):
    array, _ = filled((10,))
    with array.write() as lease:
        kept = np.asarray(lease)
    array.read().__enter__().close()
    assert len(records()) == 1
    assert kept.shape == (10,)


@pytest.mark.sanitize
def test_a_log_handler_may_use_the_array():
    array, _ = filled((10,))
    seen = []

    class Handler(logging.Handler):
        def emit(self, record):
            other = memarray.MemArray([3])
            other.add_index_tuple()
            seen.append((array.shape, look(other).tolist()))

    logger = logging.getLogger(COPIES)
    handler = Handler()
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        kept = np.from_dlpack(array)
        partial_write(array)
        array.escaped_views = "alias"
        whole = np.asarray(array)
        array.read_numpy_array(whole[::-1])
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert seen == [((10,), [0, 1, 2])] * 2
    assert kept.shape == (10,)


def test_exception_in_log_handler_does_not_break_the_write():
    array, _ = filled((10,))
    unraisable = []

    class Handler(logging.Handler):
        def handle(self, record):
            raise ZeroDivisionError("in the handler")

    logger = logging.getLogger(COPIES)
    handler = Handler()
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.unraisablehook", lambda seen: unraisable.append(seen.exc_type))
            kept = np.from_dlpack(array)
            partial_write(array)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert unraisable == [ZeroDivisionError]
    assert look(array)[0] == 1 and kept[0] == 0


def test_report_does_not_replace_the_error(records):
    """A refused exchange may already have left an escaped view. The report of that does not replace the error."""
    array, _ = filled((4,))
    other = memarray.MemArray([4])
    kept = np.from_dlpack(array)
    with other.read(), pytest.raises(memarray.LockError):
        array.exchange(other)
    assert_same_values(look(array), kept)


def test_copies_are_counted_without_importing_logging():
    run_python(
        """
        import sys
        import memarray
        assert "logging" not in sys.modules
        array = memarray.MemArray([10])
        with array.read() as lease:
            kept = memoryview(lease)
        with array.write():
            pass
        assert memarray.stats()["copies"] == 1
        assert "logging" not in sys.modules
        """
    )


def test_live_blocks_and_bytes_follow_the_arrays():
    before = memarray.stats()
    array = memarray.MemArray([1000], "float32")
    assert memarray.stats()["live_blocks"] == before["live_blocks"] + 1
    assert memarray.stats()["live_bytes"] == before["live_bytes"] + 4000
    array.resize([500])
    assert memarray.stats()["live_bytes"] == before["live_bytes"] + 2000
    del array
    assert memarray.stats() | {"pool_bytes": 0} == before | memarray.stats() | {
        "live_blocks": before["live_blocks"],
        "live_bytes": before["live_bytes"],
        "pool_bytes": 0,
    }


def pickled(source):
    return pickle.loads(pickle.dumps(source, protocol=5))


def arrived_misaligned(view):
    buffers = []
    data = pickle.dumps(view, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[memoryview(b"x" + bytes(buffers[0].raw()))[1:]])


#: Operations that copy a view of 12 floats: the call, and the bytes in its record.
COPIES_OF_VIEWS = {
    "copy": (lambda view: view.copy(), 96),
    "cast": (lambda view: view.cast("float32"), 48),
    "ensure_contiguous": (lambda view: view.T.ensure_contiguous(), 96),
    "BufferView(copy=True)": (lambda view: BufferView(view, copy=True), 96),
    "from_dlpack(copy=True)": (lambda view: memarray.from_dlpack(view, copy=True), 96),
    "MemArray.from_dlpack(copy=True)": (lambda view: memarray.MemArray.from_dlpack(view, copy=True), 96),
    "MemArray.from_dlpack of strides": (lambda view: memarray.MemArray.from_dlpack(view[:, ::2]), 48),
    "__dlpack__(copy=True)": (lambda view: view.__dlpack__(max_version=(1, 0), copy=True), 96),
    "pickle of strides": (lambda view: pickled(view[:, ::2]), 48),
    "pickle that arrives misaligned": (arrived_misaligned, 96),
    "pickle of an array": (lambda view: pickled(memarray.MemArray.from_dlpack(np.asarray(view))), 96),
}


@pytest.mark.parametrize("name", COPIES_OF_VIEWS)
def test_each_copy_of_a_view_is_counted_and_recorded(name, records):
    make, size = COPIES_OF_VIEWS[name]
    view = BufferView.from_numpy(np.arange(12.0).reshape(3, 4))
    before = memarray.stats()
    make(view)
    after = memarray.stats()
    assert after["copies"] - before["copies"] == 1
    assert after["copied_bytes"] - before["copied_bytes"] == size
    (record,) = records()
    assert record.levelno == logging.INFO
    assert record.getMessage().startswith(f"copied {size} bytes: ")


def test_view_transfer_between_host_and_device_is_recorded(simulated_devices, records):
    view = BufferView.from_numpy(np.arange(12.0).reshape(3, 4))
    there = view.to_device("cuda:0")
    there.to_device("cpu")
    assert [record.getMessage().split(":")[0] for record in records()] == ["copied 96 bytes"] * 2


# (same device, contiguous, the operation accepts strides): an operation, and its number of copies.
DECISIONS = {
    (True, True, True): (lambda view: view.sum(), 0),
    (True, True, False): (lambda view: view.ensure_contiguous(), 0),
    (True, False, True): (lambda view: view.sum(), 0),
    (True, False, False): (lambda view: view.ensure_contiguous(), 1),
    (False, True, True): (lambda view: view.to_device("cuda:0").sum(), 1),
    (False, True, False): (lambda view: view.to_device("cuda:0"), 1),
    # Made contiguous on its own device first: a transfer takes one piece of memory.
    (False, False, True): (lambda view: view.to_device("cuda:0").sum(), 2),
    (False, False, False): (lambda view: view.to_device("cuda:0"), 2),
}


@pytest.mark.parametrize(("same_device", "contiguous", "takes_strides"), DECISIONS)
def test_copies_match_the_decision_tree(same_device, contiguous, takes_strides, simulated_devices, copies):
    operation, expected = DECISIONS[same_device, contiguous, takes_strides]
    view = BufferView.from_numpy(np.arange(12.0).reshape(3, 4))
    operation(view if contiguous else view.T)
    assert copies() == expected
