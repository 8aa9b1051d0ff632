"""Trials of every public operation where it calls the driver: a table for several tests."""

import memarray
import numpy as np
from device_trials import (
    LARGE,
    PEERLESS,
    POOLLESS,
    SHAPE,
    Trial,
    after_kernel,
    close_all,
    drop,
    exhausted,
    leased,
    leased_for_writing,
    lent_twice,
    moving_back,
    numpy_on_host,
    on_device,
    on_host,
    on_second,
    open_and_close,
    recorded,
    stale_on_device,
    view_dropped,
    view_dropped_anywhere,
    viewed,
    viewed_anywhere,
    viewed_for_writing,
)
from device_view_operations import VIEW_TRIALS, VIEWS_WITHOUT_CALLS, VIEWS_WITHOUT_DRIVER
from memarray.dlpack import kDLCPU, kDLCUDA

#: Names that call no driver function, wherever the array is.
NO_DRIVER = {
    "MemArray": [
        *("shape", "ndim", "size", "itemsize", "nbytes", "dtype", "device", "lock_id", "is_foreign", "escaped_views"),
        "memory_type",
        *("from_numpy", "from_dlpack", "_TYPE_INSTANCE_MAP", "__getitem__", "__setitem__", "__iter__", "__bool__"),
        *("__len__", "__repr__", "__new__", "__reduce_ex__"),
        *("shared_memory", "recover"),
        *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"),
    ],
    "Lease": [
        *("is_open", "lock_id", "writable", "array", "__dlpack_device__", "__repr__", "__del__", "__reduce_ex__"),
        "__reduce__",
        *("__array_interface__", "__array__", "__buffer__", "__release_buffer__"),
        *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__bool__", "__index__"),
        *("__int__", "__float__", "__complex__", "__iter__"),  # one number, or views
    ],
    "BufferView": VIEWS_WITHOUT_DRIVER,
    "Stream": ["handle", "device", "__cuda_stream__", "__eq__", "__hash__", "__repr__", "__reduce_ex__", "__reduce__"],
    "Event": ["handle", "device", "timing", "__repr__", "__reduce_ex__", "__reduce__"],
    "MemoryPool": ["handle", "device", "__repr__", "__reduce_ex__", "__reduce__"],
    "memarray": [
        *(
            "Device",
            "DeviceType",
            "MemoryType",
            "Error",
            "LockError",
            "CudaError",
            "OutOfMemoryError",
            "UnsupportedTypeError",
            "build_info",
        ),
        *("stats", "dlpack", "options", "__version__"),
        "shared_memory",  # stays on the host
    ],
}

#: The first word is the operation.
TRIALS = {
    "MemArray.__new__ in pinned memory": Trial(on_host, lambda w: memarray.MemArray(SHAPE, memory_type="pinned")),
    "MemArray.__new__ in unified memory": Trial(on_host, lambda w: memarray.MemArray(SHAPE, memory_type="unified")),
    "MemArray.__new__ on a device": Trial(on_host, lambda w: memarray.MemArray(SHAPE, memory_type="device")),
    "MemArray.from_numpy on a device": Trial(
        on_host, lambda w: memarray.MemArray.from_numpy(np.ones(SHAPE), device="cuda:1")
    ),
    "MemArray.move_memory to a device": Trial(on_host, lambda w: w.a.move_memory(kDLCUDA)),
    "MemArray.move_memory to a device later": Trial(
        on_host, lambda w: w.a.move_memory(kDLCUDA, stream=w.first, async_copy=True)
    ),
    "MemArray.move_memory to a device without pools": Trial(
        on_host, lambda w: w.a.move_memory(kDLCUDA, stream=w.first), POOLLESS
    ),
    "MemArray.move_memory to a device again": Trial(
        stale_on_device, lambda w: w.a.move_memory(kDLCUDA, stream=w.first, async_copy=True)
    ),
    "MemArray.move_memory to the default stream's device": Trial(
        on_host, lambda w: w.a.move_memory(kDLCUDA, stream=2, async_copy=True)
    ),
    "MemArray.move_memory into a stream named by its address": Trial(
        on_host, lambda w: w.a.move_memory(kDLCUDA, stream=w.first.handle, async_copy=True)
    ),
    "MemArray.move_memory into a full device": Trial(
        exhausted, lambda w: w.b.move_memory(kDLCUDA), {"memory": 2 << 20}, (1 << 16,)
    ),
    "MemArray.move_memory to another device": Trial(after_kernel, lambda w: w.a.move_memory(kDLCUDA, device_id=1)),
    "MemArray.move_memory to another device, its stream": Trial(
        after_kernel, lambda w: w.a.move_memory(kDLCUDA, device_id=1, stream=w.elsewhere, async_copy=True)
    ),
    "MemArray.move_memory to another device, the first's stream": Trial(
        after_kernel, lambda w: w.a.move_memory(kDLCUDA, device_id=1, stream=w.second, async_copy=True)
    ),
    "MemArray.move_memory to another device through the host": Trial(
        after_kernel, lambda w: w.a.move_memory(kDLCUDA, device_id=1, stream=w.second, async_copy=True), PEERLESS
    ),
    "MemArray.move_memory to another device without pools": Trial(
        after_kernel, lambda w: w.a.move_memory(kDLCUDA, device_id=1), POOLLESS
    ),
    "MemArray.move_memory to the host": Trial(after_kernel, lambda w: w.a.move_memory(kDLCPU)),
    "MemArray.move_memory to the host later": Trial(
        after_kernel, lambda w: w.a.move_memory(kDLCPU, stream=w.second, async_copy=True)
    ),
    "MemArray.move_memory to the host from under a view": Trial(
        viewed_for_writing, lambda w: w.a.move_memory(kDLCPU, stream=w.second, async_copy=True)
    ),
    "MemArray.fill with one byte": Trial(after_kernel, lambda w: w.a.fill(0)),
    "MemArray.fill with a pattern": Trial(after_kernel, lambda w: w.a.fill(7)),
    "MemArray.fill with a pattern, often": Trial(
        after_kernel, lambda w: w.a.fill(7), shape=LARGE, may_change="contents"
    ),
    "MemArray.fill under a view": Trial(viewed, lambda w: w.a.fill(7)),
    "MemArray.fill after a view": Trial(view_dropped, lambda w: w.a.fill(7)),
    "MemArray.fill on the host while it is copied": Trial(
        lambda w: w.a.move_memory(kDLCUDA, stream=w.first, async_copy=True) or w.a.move_memory(kDLCPU),
        lambda w: w.a.fill(7),
    ),
    "MemArray.add_index_tuple": Trial(after_kernel, lambda w: w.a.add_index_tuple(stream=w.second)),
    "MemArray.add_index_tuple under a view": Trial(viewed, lambda w: w.a.add_index_tuple(stream=w.second)),
    "MemArray.add_index_tuple under a writable view": Trial(
        viewed_for_writing, lambda w: w.a.add_index_tuple(stream=w.second)
    ),
    "MemArray.add_index_tuple under a view of anybody's": Trial(
        viewed_anywhere, lambda w: w.a.add_index_tuple(stream=w.second)
    ),
    "MemArray.add_index_tuple after a view of anybody's": Trial(
        view_dropped_anywhere, lambda w: w.a.add_index_tuple(stream=w.second)
    ),
    "MemArray.add_index_tuple in a stream named by its address": Trial(
        after_kernel, lambda w: w.a.add_index_tuple(stream=w.second.handle)
    ),
    "MemArray.add_index_tuple on the host, after a move": Trial(moving_back, lambda w: w.a.add_index_tuple()),
    "MemArray.resize": Trial(after_kernel, lambda w: w.a.resize([9, 7])),
    "MemArray.resize to less": Trial(after_kernel, lambda w: w.a.resize([2, 2])),
    "MemArray.resize under a view": Trial(viewed_for_writing, lambda w: w.a.resize([9, 7])),
    "MemArray.resize on the host, after a move": Trial(moving_back, lambda w: w.a.resize([9, 7])),
    "MemArray.exchange": Trial(after_kernel, lambda w: w.a.exchange(w.b)),
    "MemArray.exchange under a view": Trial(viewed_for_writing, lambda w: w.b.exchange(w.a)),
    "MemArray.copy": Trial(after_kernel, lambda w: w.keep(w.a.copy())),
    "MemArray.copy under a view": Trial(viewed_for_writing, lambda w: w.keep(w.a.copy())),
    "MemArray.copy on another device": Trial(on_second, lambda w: w.keep(w.a.copy())),
    "MemArray.copy on the host, after a move": Trial(moving_back, lambda w: w.keep(w.a.copy())),
    "MemArray.__copy__": Trial(on_device, lambda w: w.keep(w.a.__copy__())),
    "MemArray.__deepcopy__": Trial(on_device, lambda w: w.keep(w.a.__deepcopy__({}))),
    "MemArray.read_numpy_array": Trial(after_kernel, lambda w: w.a.read_numpy_array(np.full(SHAPE, 2.5))),
    "MemArray.read_numpy_array, after a move": Trial(moving_back, lambda w: w.a.read_numpy_array(np.full(SHAPE, 2.5))),
    "MemArray.__array__, after a move": Trial(moving_back, numpy_on_host),
    "MemArray.__dlpack__": Trial(after_kernel, lambda w: w.lend(w.a)),
    "MemArray.__dlpack__ for a stream": Trial(after_kernel, lambda w: w.lend(w.a, stream=w.second.handle)),
    "MemArray.__dlpack__ for no stream": Trial(after_kernel, lambda w: w.lend(w.a, stream=-1)),
    "MemArray.__dlpack__ copied": Trial(after_kernel, lambda w: w.lend(w.a, copy=True, stream=w.second.handle)),
    "MemArray.__dlpack__ copied, for no stream": Trial(after_kernel, lambda w: w.lend(w.a, copy=True, stream=-1)),
    "MemArray.__dlpack__ copied to the host": Trial(
        after_kernel, lambda w: w.lend(w.a, copy=True, dl_device=(kDLCPU, 0))
    ),
    "MemArray.__dlpack_c_exchange_api__": Trial(after_kernel, lambda w: w.lend_over_table(w.a)),
    "MemArray.__dlpack_device__": Trial(viewed_for_writing, lambda w: w.a.__dlpack_device__()),
    "MemArray.read where it is": Trial(after_kernel, lambda w: open_and_close(w.a.read(stream=w.second))),
    "MemArray.read on a device": Trial(on_host, lambda w: open_and_close(w.a.read("cuda:0", stream=w.first))),
    "MemArray.read on another device": Trial(after_kernel, lambda w: open_and_close(w.a.read("cuda:1"))),
    "MemArray.read on another device, the first's stream": Trial(
        after_kernel, lambda w: open_and_close(w.a.read("cuda:1", stream=w.elsewhere.handle))
    ),
    "MemArray.read on the host": Trial(after_kernel, lambda w: open_and_close(w.a.read("cpu"))),
    "MemArray.read under a writable view": Trial(viewed_for_writing, lambda w: open_and_close(w.a.read())),
    "MemArray.read on the host, under a writable view": Trial(
        viewed_for_writing, lambda w: open_and_close(w.a.read("cpu"))
    ),
    "MemArray.write where it is": Trial(after_kernel, lambda w: open_and_close(w.a.write(stream=w.second))),
    "MemArray.write on a device": Trial(on_host, lambda w: open_and_close(w.a.write("cuda:0"))),
    "MemArray.write on a device again": Trial(
        stale_on_device, lambda w: open_and_close(w.a.write("cuda:0", stream=w.first.handle))
    ),
    "MemArray.write on another device": Trial(
        after_kernel, lambda w: open_and_close(w.a.write("cuda:1", stream=w.elsewhere))
    ),
    "MemArray.write on another device, all of it": Trial(
        after_kernel, lambda w: open_and_close(w.a.write("cuda:1", discard=True))
    ),
    "MemArray.write on the host": Trial(after_kernel, lambda w: open_and_close(w.a.write("cpu"))),
    "MemArray.write under a view": Trial(viewed, lambda w: open_and_close(w.a.write(stream=w.second))),
    "MemArray.write all, under a view": Trial(
        viewed, lambda w: open_and_close(w.a.write(stream=w.second, discard=True))
    ),
    "MemArray.write after a view": Trial(view_dropped, lambda w: open_and_close(w.a.write(stream=w.second))),
    "MemArray.get_dlpack": Trial(after_kernel, lambda w: open_and_close(w.a.get_dlpack())),
    "MemArray.get_dlpack on a device": Trial(on_host, lambda w: open_and_close(w.a.get_dlpack(kDLCUDA, 1))),
    "memarray.leases": Trial(
        after_kernel,
        lambda w: close_all(memarray.leases(w.b.write(), w.a.read(stream=w.second)).__enter__()),
    ),
    "memarray.leases elsewhere": Trial(
        after_kernel,
        lambda w: close_all(memarray.leases(w.b.write("cuda:1"), w.a.read("cpu")).__enter__()),
        may_change="place",
    ),
    "Lease.__dlpack__": Trial(leased, lambda w: w.lend(w.lease)),
    "Lease.__dlpack__ for another stream": Trial(lent_twice, lambda w: w.lend(w.lease, stream=2)),
    "Lease.__dlpack__ for a stream named by its address": Trial(
        leased_for_writing, lambda w: w.lend(w.lease, stream=w.first.handle)
    ),
    "Lease.__dlpack__ copied": Trial(leased, lambda w: w.lend(w.lease, copy=True)),
    "Lease.__dlpack__ copied to the host": Trial(leased, lambda w: w.lend(w.lease, copy=True, dl_device=(kDLCPU, 0))),
    "Lease.__dlpack_c_exchange_api__": Trial(leased, lambda w: w.lend_over_table(w.lease)),
    "Lease.__cuda_array_interface__": Trial(
        leased, lambda w: w.keep(w.lease.__cuda_array_interface__), {"lend_as_cuda": True}
    ),
    "Lease.__contains__": Trial(leased, lambda w: 7.0 in w.lease),
    "Lease.close unused": Trial(leased, lambda w: w.lease.close()),
    "Lease.close": Trial(lent_twice, lambda w: w.lease.close()),
    "Lease.__exit__": Trial(lent_twice, lambda w: w.lease.__exit__(None, None, None)),
    "Lease.__enter__": Trial(after_kernel, lambda w: w.a.read().__enter__().close()),
    "Stream": Trial(on_host, lambda w: w.keep(memarray.Stream(1, nonblocking=False))),
    "Stream.synchronize": Trial(after_kernel, lambda w: w.first.synchronize()),
    "Stream.wait": Trial(recorded, lambda w: w.second.wait(w.event)),
    "Stream.record": Trial(after_kernel, lambda w: w.keep(w.first.record())),
    "Event": Trial(on_host, lambda w: w.keep(memarray.Event(1, timing=True))),
    "Event.record": Trial(after_kernel, lambda w: w.event.record(w.first)),
    "Event.record in a stream named by its address": Trial(after_kernel, lambda w: w.event.record(w.first.handle)),
    "Event.synchronize": Trial(recorded, lambda w: w.event.synchronize()),
    "Event.wait": Trial(recorded, lambda w: w.event.wait(w.second)),
    "Event.query": Trial(recorded, lambda w: w.event.query()),
    "Event.elapsed": Trial(
        lambda w: [w.keep(memarray.Event(timing=True)), w.kept[-1].record(w.first), w.first.synchronize()],
        lambda w: w.kept[-1].elapsed(w.kept[-1]),
    ),
    "MemoryPool": Trial(on_host, lambda w: w.keep(memarray.MemoryPool(1, release_threshold=0))),
    "MemoryPool.stats": Trial(lambda w: w.keep(memarray.MemoryPool()), lambda w: w.kept[-1].stats()),
    "MemoryPool.trim": Trial(lambda w: w.keep(memarray.MemoryPool()), lambda w: w.kept[-1].trim()),
    "memarray.synchronize": Trial(after_kernel, lambda w: memarray.synchronize()),
    "memarray.cuda.device_count": Trial(on_host, lambda w: memarray.cuda.device_count()),
    "memarray.cuda.is_available": Trial(on_host, lambda w: memarray.cuda.is_available()),
    "memarray.cuda.device_name": Trial(on_host, lambda w: memarray.cuda.device_name(1)),
    "memarray.cuda.memory_info": Trial(after_kernel, lambda w: memarray.cuda.memory_info(0)),
    "memarray.cuda.pool_stats": Trial(after_kernel, lambda w: memarray.cuda.pool_stats(0)),
    "memarray.cuda.pool_stats of a device that nothing used": Trial(on_host, lambda w: memarray.cuda.pool_stats(1)),
    "memarray.cuda.pool_stats without pools": Trial(after_kernel, lambda w: memarray.cuda.pool_stats(0), POOLLESS),
    "memarray.cuda.trim": Trial(lambda w: [after_kernel(w), w.a.copy()], lambda w: memarray.cuda.trim(0)),
    "memarray.cuda.trim without pools": Trial(after_kernel, lambda w: memarray.cuda.trim(0), POOLLESS),
    "memarray.cuda.synchronize": Trial(after_kernel, lambda w: memarray.cuda.synchronize(0)),
    "memarray.cuda.synchronize of a device that nothing used": Trial(on_host, lambda w: memarray.cuda.synchronize(1)),
    "memarray.trim": Trial(moving_back, lambda w: memarray.trim()),
    # Destructors, which cannot raise.
    "dropping an array": Trial(lambda w: [after_kernel(w), w.keep(w.a.copy())], drop),
    "dropping an array that moves": Trial(
        lambda w: [after_kernel(w), w.keep(w.a.copy()), w.kept[0].move_memory(kDLCPU, async_copy=True)], drop
    ),
    "dropping an array without pools": Trial(lambda w: [after_kernel(w), w.keep(w.a.copy())], drop, POOLLESS),
    "dropping a view": Trial(lambda w: [viewed(w), w.a.fill(3)], drop),
    "dropping a writable view": Trial(lambda w: [viewed_for_writing(w), w.a.fill(3)], drop),
    "dropping a view of anybody's": Trial(lambda w: [viewed_anywhere(w), w.a.fill(3)], drop),
    "dropping a lent lease": Trial(lent_twice, lambda w: [w.lease.close(), drop(w)]),
    "dropping a stream": Trial(lambda w: w.keep(memarray.Stream()), drop),
    "dropping an event": Trial(lambda w: w.keep(memarray.Event()), drop),
    "dropping a pool": Trial(lambda w: w.keep(memarray.MemoryPool()), drop),
    **VIEW_TRIALS,
}
#: Trials that make no driver call.
WITHOUT_CALLS = {
    *VIEWS_WITHOUT_CALLS,
    *("MemArray.exchange", "MemArray.read_numpy_array", "MemArray.__dlpack_device__", "memarray.trim"),
    *("Lease.__cuda_array_interface__", "Lease.close unused"),
    *("memarray.cuda.pool_stats without pools", "memarray.cuda.trim without pools"),
}
