"""Device memory that runs short or is freed."""

import memarray
import numpy as np
import pytest
from memarray import dlpack
from support import look


def on_device(nbytes, device_id=0):
    array = memarray.MemArray((nbytes,), "uint8")
    array.move_memory(dlpack.kDLCUDA, device_id)
    return array


@pytest.mark.parametrize("code", [2, 719])
def test_failed_allocation_is_retried_only_when_out_of_memory(simulated_devices, code):
    array = memarray.MemArray((8,), "float32")
    simulated_devices.fail("cuMemAllocAsync", nth=1, code=code)
    with pytest.raises(memarray.OutOfMemoryError if code == 2 else memarray.CudaError):
        array.move_memory(dlpack.kDLCUDA, 0)
    assert simulated_devices.calls("cuMemAllocAsync") == (2 if code == 2 else 1)
    simulated_devices.clear()
    array.move_memory(dlpack.kDLCUDA, 0)
    assert str(array.device) == "cuda:0"


@pytest.mark.parametrize("pools", [True, False])
def test_allocation_succeeds_on_retry_after_one_failure(pools):
    with memarray.testing.simulated_devices(pools=pools) as sim:
        array = memarray.MemArray((8,), "float32")
        sim.fail("cuMemAllocFromPoolAsync" if pools else "cuMemAlloc", nth=1, code=2, times=1)
        array.move_memory(dlpack.kDLCUDA, 0)
        assert str(array.device) == "cuda:0"
        # The allocation of staging memory is retried likewise.
        other = memarray.MemArray((1 << 20,), "float32")
        sim.fail("cuMemHostAlloc", nth=1, code=2, times=1)
        other.move_memory(dlpack.kDLCUDA, 0, stream=memarray.Stream(), async_copy=True)
        del array, other


@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
@pytest.mark.parametrize("async_copy", [False, True])
def test_moves_are_correct_where_pageable_memory_is_copied_late(size, async_copy):
    with memarray.testing.simulated_devices(late_copies=True) as sim:
        stream = memarray.Stream()
        given = np.arange(size, dtype="i4")
        copy = memarray.BufferView.from_numpy(given, device="cuda")
        array = memarray.MemArray((size,), "int32")
        array.read_numpy_array(given)
        sim.delay(0.005)
        array.move_memory(dlpack.kDLCUDA, 0, stream, async_copy)
        given[:] = -1
        array.add_index_tuple(stream)
        array.move_memory(dlpack.kDLCPU, 0, stream, async_copy)
        assert np.array_equal(look(array), 2 * np.arange(size, dtype="i4"))
        array.fill(-1)
        assert np.array_equal(np.asarray(copy.to_device("cpu")), np.arange(size, dtype="i4"))
        del array, copy


@pytest.mark.parametrize("dtype, reported", [("bool", 1), ("int8", 0)])
def test_asynchronous_move_reports_the_wait_for_bools(simulated_devices, waits, dtype, reported):
    array = memarray.MemArray([1000], dtype, memory_type="device")
    memarray.synchronize()
    waits()
    array.move_memory(dlpack.kDLCPU, async_copy=True)
    assert [wait for wait in waits() if "bools" in wait] == [
        "waited: bools from a device are checked on the host, so their copy was waited for"
    ] * reported


def test_wait_of_freed_unified_memory_is_reported(simulated_devices, waits):
    busy = memarray.MemArray([1000], memory_type="device")
    unified = memarray.MemArray([10], memory_type="unified")
    memarray.synchronize()
    simulated_devices.delay(0.05)
    busy.add_index_tuple()
    waits()
    del unified
    memarray.MemArray([3])
    assert waits() == ["waited: memory without a pool was freed, so earlier work of its stream was waited for"]


def test_pooled_memory_is_trimmed_for_larger_allocation():
    with memarray.testing.simulated_devices(memory=8 << 20, pools=True) as sim:
        array = on_device(6 << 20)
        del array
        free, total = memarray.cuda.memory_info()
        assert free <= total - (6 << 20), "kept for the next array"
        # Larger than the free memory: the allocation succeeds only if the library trims its pool.
        array = on_device(7 << 20)
        assert sim.calls("cuMemPoolTrimTo") >= 1
        del array


def next_calls():
    return {
        "memarray.synchronize": memarray.synchronize,
        "cuda.synchronize": memarray.cuda.synchronize,
        "cuda.memory_info": memarray.cuda.memory_info,
        "cuda.pool_stats": memarray.cuda.pool_stats,
        "cuda.trim": memarray.cuda.trim,
        "Stream": memarray.Stream,
        "Event": memarray.Event,
        "MemoryPool": memarray.MemoryPool,
        "memarray.stats": memarray.stats,
        "an array": lambda: memarray.MemArray((8,), "float32").move_memory(dlpack.kDLCUDA, 0),
    }


@pytest.mark.parametrize("call", list(next_calls()))
def test_next_library_call_frees_dropped_device_memory(simulated_devices, call):
    array = on_device(1 << 20)
    memarray.synchronize()
    frees = simulated_devices.calls("cuMemFreeAsync")
    del array
    next_calls()[call]()
    assert simulated_devices.calls("cuMemFreeAsync") >= frees + 1


def test_failed_kernel_launch_raises_and_unlocks_array(simulated_devices):
    array = memarray.MemArray((3,), "float32")
    array.fill(1)
    array.move_memory(dlpack.kDLCUDA, 0)
    for nth in (1, 2):
        simulated_devices.clear()
        simulated_devices.fail("cuLaunchKernel", nth=nth, code=701, times=1)
        if nth == 2:
            array.add_index_tuple()
        with pytest.raises(memarray.CudaError, match="701"):
            array.add_index_tuple()
        with array.write():
            pass  # the array is unlocked
    array.move_memory(dlpack.kDLCPU)
    assert list(look(array)) == [1, 2, 3]
    with pytest.raises(ValueError, match="cuLaunchKernel"):
        simulated_devices.drop("cuLaunchKernel")


@pytest.mark.parametrize("pools", [True, False])
def test_memory_is_freed_only_after_copies_by_other_device(pools):
    # The wait that would order the free fails, so the host waits, also for the other device.
    with memarray.testing.simulated_devices(pools=pools) as sim:
        for _ in range(10):
            array = on_device(7, device_id=1)
            array.resize((7,))
            sim.delay(0.002)
            with array.write(device="cuda:0"):
                pass
            sim.fail("cuStreamWaitEvent", times=1)
            array.move_memory(dlpack.kDLCUDA, 0)
            sim.clear()
            del array
            memarray.synchronize()


@pytest.mark.parametrize("where", ["cpu", "cuda:1"])
@pytest.mark.parametrize("order", [1, -1])
def test_refused_group_of_leases_discards_no_contents(simulated_devices, where, order):
    for first in range(2):  # the acquisition order of the two depends on their places
        made = [memarray.MemArray((6,)), memarray.MemArray((6,))]
        one, other = made[first], made[1 - first]
        one.fill(1)
        one.move_memory(dlpack.kDLCUDA)
        one.fill(7)  # only the copy on cuda:0 is valid
        leases = [one.write(where, discard=True), other.read("cuda:1")]
        with other.read(), pytest.raises(memarray.LockError):
            memarray.leases(*leases[::order]).__enter__()
        one.move_memory(dlpack.kDLCPU)
        assert list(look(one)) == [7] * 6


def test_stream_given_by_address_causes_no_host_wait(simulated_devices):
    streams = [memarray.Stream(device) for device in range(2)]
    array = on_device(100, device_id=1)
    memarray.synchronize()
    before = len(simulated_devices.waits())
    simulated_devices.delay(0.01)
    array.add_index_tuple(stream=streams[1].handle)
    array.move_memory(dlpack.kDLCUDA, 0, stream=streams[1].handle, async_copy=True)  # the source device has the stream
    array.move_memory(dlpack.kDLCUDA, 1, stream=streams[1].handle, async_copy=True)  # the target device has the stream
    array.add_index_tuple(stream=streams[1].handle)
    assert all(wait.startswith("cuStreamWaitEvent") for wait in simulated_devices.waits()[before:])
    array.move_memory(dlpack.kDLCPU)
    assert list(look(array)) == [2 * i for i in range(100)]
