"""The table of public operations, with calls that try each of them. Tests derive their lists from it."""

import pickle
from importlib.util import find_spec

import memarray
import numpy as np
from consumers import Interface, by_jax, by_torch
from device_world import AS_CUDA, LARGE, PEERLESS, POOLLESS, SHAPE, WHOLE
from dlpack_structs import view_through_table
from memarray import BufferView, MemArray, cuda
from memarray.dlpack import kDLCPU, kDLCUDA
from trials import (
    HOST_ONLY,
    Export,
    Read,
    Trial,
    Write,
    acquire,
    calls_of,
    change_all,
    change_one,
    exchange,
    exchange_as_other,
)


def neutral(owner, names):
    """Returns entries of operations that neither access contents nor call the driver."""
    return {f"{owner}.{name}": [] for name in names.split()}


COMPARISONS = "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__"

#: The public names, each with the calls that try it. The first argument of a call says how it differs from the others.
OPERATIONS = {
    **neutral("MemArray", "shape ndim size itemsize nbytes dtype device lock_id is_foreign memory_type shared_memory"),
    **neutral("MemArray", "recover escaped_views _TYPE_INSTANCE_MAP __getitem__ __setitem__ __iter__ __len__"),
    **neutral("MemArray", "__bool__ __repr__"),
    **neutral("MemArray", COMPARISONS),
    "MemArray.__new__": [
        Trial("in pinned memory", "on_host", lambda w: MemArray(SHAPE, memory_type="pinned")),
        Trial("in unified memory", "on_host", lambda w: MemArray(SHAPE, memory_type="unified")),
        Trial("on a device", "on_host", lambda w: MemArray(SHAPE, memory_type="device")),
    ],
    "MemArray.from_numpy": [
        Trial("on a device", "on_host", lambda w: MemArray.from_numpy(np.ones(SHAPE), device="cuda:1"))
    ],
    "MemArray.from_dlpack": [
        Trial("of device memory", "own_view", lambda w: MemArray.from_dlpack(w.capsule(w.second.handle))),
        Trial("of a strided view, copied", "own_view", lambda w: MemArray.from_dlpack(w.view[::2])),
    ],
    "MemArray.move_memory": [
        Write("to where it is", lambda a: (a.move_memory(kDLCPU), a.fill(9)), (0, 1)),
        Trial("to a device", "on_host", lambda w: w.a.move_memory(kDLCUDA)),
        Trial("to a device, asynchronously", "on_host", lambda w: w.start_move(kDLCUDA, w.first)),
        Trial("to a device without pools", "on_host", lambda w: w.a.move_memory(kDLCUDA, stream=w.first), POOLLESS),
        Trial("to a stale device", "stale_on_device", lambda w: w.start_move(kDLCUDA, w.first)),
        Trial("to the device of the default stream", "on_host", lambda w: w.start_move(kDLCUDA, 2)),
        Trial("in a stream by address", "on_host", lambda w: w.start_move(kDLCUDA, w.first.handle)),
        Trial("to a full device", "exhausted", lambda w: w.b.move_memory(kDLCUDA), {"memory": 2 << 20}, (1 << 16,)),
        Trial("to cuda:1", "after_kernel", lambda w: w.a.move_memory(kDLCUDA, device_id=1)),
        Trial("to cuda:1 in its stream", "after_kernel", lambda w: w.start_move(kDLCUDA, w.elsewhere, 1)),
        Trial("to cuda:1 in a stream of cuda:0", "after_kernel", lambda w: w.start_move(kDLCUDA, w.second, 1)),
        Trial("to cuda:1 through the host", "after_kernel", lambda w: w.start_move(kDLCUDA, w.second, 1), PEERLESS),
        Trial("to cuda:1 without pools", "after_kernel", lambda w: w.a.move_memory(kDLCUDA, device_id=1), POOLLESS),
        Trial("to the host", "after_kernel", lambda w: w.a.move_memory(kDLCPU)),
        Trial("to the host, asynchronously", "after_kernel", lambda w: w.start_move(kDLCPU, w.second)),
        Trial("to the host beside a writable view", "escaped_writable", lambda w: w.start_move(kDLCPU, w.second)),
    ],
    "MemArray.fill": [
        Write("", lambda a: a.fill(9)),
        Trial("with one byte", "after_kernel", lambda w: w.a.fill(0)),
        Trial("with a pattern", "after_kernel", lambda w: w.a.fill(7)),
        Trial("with a long pattern", "after_kernel", lambda w: w.a.fill(7), shape=LARGE, may_change="contents"),
        Trial("beside an escaped view", "escaped", lambda w: w.a.fill(7)),
        Trial("after an escaped view", "escaped_then_dropped", lambda w: w.a.fill(7)),
        Trial("on the host during a copy to a device", "moved_and_back", lambda w: w.a.fill(7)),
    ],
    "MemArray.add_index_tuple": [
        Write("", lambda a: a.add_index_tuple()),
        Trial("", "after_kernel", lambda w: w.a.add_index_tuple(stream=w.second)),
        Trial("beside an escaped view", "escaped", lambda w: w.a.add_index_tuple(stream=w.second)),
        Trial("beside a writable view", "escaped_writable", lambda w: w.a.add_index_tuple(stream=w.second)),
        Trial("beside a view for no stream", "escaped_for_no_stream", lambda w: w.a.add_index_tuple(stream=w.second)),
        Trial("after a view for no stream", "dropped_for_no_stream", lambda w: w.a.add_index_tuple(stream=w.second)),
        Trial("in a stream by address", "after_kernel", lambda w: w.a.add_index_tuple(stream=w.second.handle)),
        Trial("on the host after a move", "moving_to_host", lambda w: w.a.add_index_tuple()),
    ],
    "MemArray.resize": [
        Write("", lambda a: a.resize([2] * a.ndim)),
        Write("to the same shape", lambda a: (a.resize(list(a.shape)), a.fill(9))),
        Trial("", "after_kernel", lambda w: w.a.resize([9, 7])),
        Trial("to fewer elements", "after_kernel", lambda w: w.a.resize([2, 2])),
        Trial("beside a writable view", "escaped_writable", lambda w: w.a.resize([9, 7])),
        Trial("on the host after a move", "moving_to_host", lambda w: w.a.resize([9, 7])),
    ],
    "MemArray.exchange": [
        Write("", exchange, (0, 1)),
        Write("as the other array", exchange_as_other, (0, 1)),
        Trial("", "after_kernel", lambda w: w.a.exchange(w.b), calls_driver=False),
        Trial("beside a writable view", "escaped_writable", lambda w: w.b.exchange(w.a)),
    ],
    "MemArray.read_numpy_array": [
        Write("", lambda a: a.read_numpy_array(np.full(a.shape, 9, a.dtype))),
        Trial("", "after_kernel", lambda w: w.a.read_numpy_array(np.full(SHAPE, 2.5)), calls_driver=False),
        Trial("after a move", "moving_to_host", lambda w: w.a.read_numpy_array(np.full(SHAPE, 2.5))),
    ],
    "MemArray.copy": [
        Read("", lambda a: a.copy()),
        Trial("", "after_kernel", lambda w: w.keep(w.a.copy())),
        Trial("beside a writable view", "escaped_writable", lambda w: w.keep(w.a.copy())),
        Trial("on cuda:1", "on_second_device", lambda w: w.keep(w.a.copy())),
        Trial("on the host after a move", "moving_to_host", lambda w: w.keep(w.a.copy())),
    ],
    "MemArray.__copy__": [Read("", lambda a: a.__copy__()), Trial("", "on_device", lambda w: w.keep(w.a.__copy__()))],
    "MemArray.__deepcopy__": [
        Read("", lambda a: a.__deepcopy__({})),
        Trial("", "on_device", lambda w: w.keep(w.a.__deepcopy__({}))),
    ],
    "MemArray.__reduce_ex__": [Read("", lambda a: a.__reduce_ex__(5)), HOST_ONLY],
    "MemArray.view": [Read("", lambda a: a.view()), Trial("", "after_kernel", lambda w: w.a.view().close())],
    "MemArray.__array__": [
        Read("by np.asarray", np.asarray),
        Read("by np.array", np.array),
        Trial("after a move", "moving_to_host", lambda w: w.keep(np.asarray(w.a))),
    ],
    "MemArray.__dlpack__": [
        Read("by np.from_dlpack", np.from_dlpack),
        Read("copied", lambda a: a.__dlpack__(copy=True)),
        Trial("", "after_kernel", lambda w: w.export(w.a)),
        Trial("for a stream", "after_kernel", lambda w: w.export(w.a, stream=w.second.handle)),
        Trial("for no stream", "after_kernel", lambda w: w.export(w.a, stream=-1)),
        Trial("copied", "after_kernel", lambda w: w.export(w.a, copy=True, stream=w.second.handle)),
        Trial("copied for no stream", "after_kernel", lambda w: w.export(w.a, copy=True, stream=-1)),
        Trial("copied to the host", "after_kernel", lambda w: w.export(w.a, copy=True, dl_device=(kDLCPU, 0))),
    ],
    "MemArray.__dlpack_c_exchange_api__": [
        Read("", lambda a: view_through_table(a, BufferView)),
        Trial("", "after_kernel", lambda w: w.export_over_table(w.a)),
    ],
    "MemArray.__dlpack_device__": [
        Trial("", "escaped_writable", lambda w: w.a.__dlpack_device__(), calls_driver=False)
    ],
    "MemArray.read": [
        Read("", lambda a: a.read().__enter__().close()),
        Trial("where it is", "after_kernel", lambda w: acquire(w.a.read(stream=w.second))),
        Trial("on a device", "on_host", lambda w: acquire(w.a.read("cuda:0", stream=w.first))),
        Trial("on cuda:1", "after_kernel", lambda w: acquire(w.a.read("cuda:1"))),
        Trial("on cuda:1 by address", "after_kernel", lambda w: acquire(w.a.read("cuda:1", stream=w.elsewhere.handle))),
        Trial("on the host", "after_kernel", lambda w: acquire(w.a.read("cpu"))),
        Trial("beside a writable view", "escaped_writable", lambda w: acquire(w.a.read())),
        Trial("on the host beside a writable view", "escaped_writable", lambda w: acquire(w.a.read("cpu"))),
    ],
    "MemArray.write": [
        Write("", lambda a: a.write(), (1, 1), change_one),
        Write("with a time-out", lambda a: a.write(timeout=0.001), (1, 1), change_one),
        Write("without a time-out", lambda a: a.write(timeout=None), (1, 1), change_one, waits=True),
        Write("discarding", lambda a: a.write(discard=True), (0, 0), change_all),
        Trial("where it is", "after_kernel", lambda w: acquire(w.a.write(stream=w.second))),
        Trial("on a device", "on_host", lambda w: acquire(w.a.write("cuda:0"))),
        Trial("on a stale device", "stale_on_device", lambda w: acquire(w.a.write("cuda:0", stream=w.first.handle))),
        Trial("on cuda:1", "after_kernel", lambda w: acquire(w.a.write("cuda:1", stream=w.elsewhere))),
        Trial("on cuda:1, discarding", "after_kernel", lambda w: acquire(w.a.write("cuda:1", discard=True))),
        Trial("on the host", "after_kernel", lambda w: acquire(w.a.write("cpu"))),
        Trial("beside an escaped view", "escaped", lambda w: acquire(w.a.write(stream=w.second))),
        Trial("discarding, beside a view", "escaped", lambda w: acquire(w.a.write(stream=w.second, discard=True))),
        Trial("after an escaped view", "escaped_then_dropped", lambda w: acquire(w.a.write(stream=w.second))),
    ],
    "MemArray.get_dlpack": [
        Write("", lambda a: a.get_dlpack(), (1, 1), change_one),
        Write("on the cpu", lambda a: a.get_dlpack(kDLCPU), (1, 1), change_one),
        Trial("", "after_kernel", lambda w: acquire(w.a.get_dlpack())),
        Trial("on a device", "on_host", lambda w: acquire(w.a.get_dlpack(kDLCUDA, 1))),
    ],
    **neutral("Lease", "is_open lock_id writable array __dlpack_device__ __release_buffer__ __repr__ __del__"),
    # Numbers are copied out and keep no memory alive; rows are views, like those of `view`.
    **neutral("Lease", "__reduce_ex__ __reduce__ __bool__ __int__ __float__ __complex__ __index__ __iter__"),
    **neutral("Lease", "__setitem__ __delitem__"),
    **neutral("Lease", COMPARISONS),
    "Lease.__len__": [Trial("", "leased", lambda w: len(w.lease), calls_driver=False)],
    "Lease.__contains__": [Trial("", "leased", lambda w: 7.0 in w.lease)],
    "Lease.__getitem__": [Trial("", "leased", lambda w: w.lease[1, 2])],
    "Lease.__dlpack__": [
        Export("", lambda lease: lease.__dlpack__(max_version=(1, 0))),
        Export("copied", lambda lease: lease.__dlpack__(max_version=(1, 0), copy=True)),
        Export("by np.from_dlpack", np.from_dlpack),
        *([Export("by torch.from_dlpack", by_torch)] if find_spec("torch") else []),
        *([Export("by jax.dlpack.from_dlpack", by_jax)] if find_spec("jax") else []),
        Trial("", "leased", lambda w: w.export(w.lease)),
        Trial("for another stream", "exported_twice", lambda w: w.export(w.lease, stream=2)),
        Trial("for a stream by address", "leased_for_writing", lambda w: w.export(w.lease, stream=w.first.handle)),
        Trial("copied", "leased", lambda w: w.export(w.lease, copy=True)),
        Trial("copied to the host", "leased", lambda w: w.export(w.lease, copy=True, dl_device=(kDLCPU, 0))),
    ],
    "Lease.__array__": [
        Export("", lambda lease: lease.__array__()),
        Export("by np.asarray", np.asarray),
        Export("by np.array", np.array),
        HOST_ONLY,
    ],
    "Lease.view": [
        Export("", lambda lease: lease.view()),
        Export("sliced", lambda lease: lease.view()[:, ::-1] if lease.array.ndim > 1 else lease.view()[::-1]),
        Export("exported", lambda lease: np.from_dlpack(lease.view())),
        Trial("", "leased_view", lambda w: w.lease.view().close(), calls_driver=False),
    ],
    "Lease.__dlpack_c_exchange_api__": [
        Export("", lambda lease: view_through_table(lease, BufferView)),
        Trial("", "leased", lambda w: w.export_over_table(w.lease)),
    ],
    "Lease.__buffer__": [Export("by memoryview", memoryview), Export("by bytes", bytes), HOST_ONLY],
    "Lease.__array_interface__": [
        Export("", lambda lease: lease.__array_interface__),
        Export("by a consumer", Interface),
        HOST_ONLY,
    ],
    # Absent on the host.
    "Lease.__cuda_array_interface__": [
        Trial("", "leased", lambda w: w.keep(w.lease.__cuda_array_interface__), AS_CUDA, calls_driver=False)
    ],
    "Lease.close": [
        Trial("", "exported_twice", lambda w: w.lease.close()),
        Trial("without an export", "leased", lambda w: w.lease.close(), calls_driver=False),
    ],
    "Lease.__exit__": [Trial("", "exported_twice", lambda w: w.lease.__exit__(None, None, None))],
    "Lease.__enter__": [Trial("", "after_kernel", lambda w: w.a.read().__enter__().close())],
    **neutral("BufferView", "data_ptr shape strides ndim size itemsize nbytes dtype device memory_type owner writable"),
    **neutral("BufferView", "closed T transpose reshape broadcast_to is_contiguous plan __enter__ __len__ __bool__"),
    **neutral("BufferView", "is_fortran_contiguous"),
    **neutral("BufferView", "__repr__ __setitem__ __delitem__ __release_buffer__ __dlpack_device__ __index__"),
    **neutral("BufferView", COMPARISONS),
    "BufferView.__array__": [HOST_ONLY],
    "BufferView.__array_interface__": [HOST_ONLY],
    "BufferView.__buffer__": [HOST_ONLY],
    "BufferView.__new__": [Trial("", "with_cuda_interface", lambda w: BufferView(w.producer).close(), AS_CUDA)],
    "BufferView.from_numpy": [
        Trial("on a device", "on_host", lambda w: BufferView.from_numpy(WHOLE, device="cuda:0").close())
    ],
    "BufferView.from_buffer": [
        Trial("on a device", "on_host", lambda w: BufferView.from_buffer(WHOLE, device="cuda:0").close())
    ],
    "BufferView.from_dlpack": [
        Trial("", "own_view", lambda w: memarray.from_dlpack(w.capsule(w.second.handle)).close())
    ],
    "BufferView.fill": [
        Write("", lambda v: v.fill(7)),
        Trial("", "leased_view", lambda w: w.view.fill(7), may_change="contents"),
        Trial("with steps", "leased_view", lambda w: w.view[:, ::2].fill(7)),
    ],
    "BufferView.add_index": [
        Write("", lambda v: v.add_index()),
        Trial("", "leased_view", lambda w: w.view.add_index()),
    ],
    "BufferView.sum": [
        Trial("", "escaped_view", lambda w: w.view.sum()),
        Trial("with steps", "leased_view", lambda w: w.view[::2, ::-2].sum()),
    ],
    "BufferView.mean": [Trial("", "escaped_view", lambda w: w.view.mean(axis=0).close())],
    "BufferView.min": [Trial("", "own_view", lambda w: w.view.min(axis=1).close())],
    "BufferView.max": [Trial("", "imported_view", lambda w: w.view.max())],
    "BufferView.copy": [
        Trial("", "escaped_view", lambda w: w.view.copy().close()),
        Trial("without pools", "escaped_view", lambda w: w.view.T.copy().close(), POOLLESS),
    ],
    "BufferView.cast": [Trial("", "escaped_view", lambda w: w.view.cast("float32").close())],
    "BufferView.astype": [Trial("", "escaped_view", lambda w: w.view.astype("float32").close())],
    "BufferView.ensure_contiguous": [Trial("", "escaped_view", lambda w: w.view.T.ensure_contiguous().close())],
    "BufferView.item": [Trial("", "escaped_view", lambda w: w.view[1:2, 2:3].item())],
    "BufferView.__getitem__": [Trial("", "escaped_view", lambda w: w.view[1, 2])],
    "BufferView.to_device": [
        Trial("", "escaped_view", lambda w: w.view.to_device("cuda:1").close()),
        Trial("to the host", "leased_view", lambda w: w.view.T.to_device("cpu").close()),
        Trial("from the host", "view_on_host", lambda w: w.view.to_device("cuda:1", stream=w.elsewhere).close()),
        Trial("of unified memory", "unified", lambda w: w.view.to_device("cuda:0").close()),
        Trial(
            "of unified memory, to the host",
            "unified_on_device",
            lambda w: w.view.to_device("cpu").close(),
            calls_driver=False,
        ),
        Trial(
            "in another stream",
            "exported_view",
            lambda w: w.view.to_device("cuda:0", stream=w.first).close(),
            calls_driver=False,
        ),
        Trial(
            "through the host",
            "escaped_view",
            lambda w: w.view.to_device("cuda:1", stream=w.elsewhere).close(),
            PEERLESS,
        ),
    ],
    "BufferView.__dlpack__": [
        Trial("", "leased_view", lambda w: w.export(w.view, stream=w.first.handle)),
        Trial("of an escaped view", "exported_view", lambda w: w.export(w.view, stream=2)),
        Trial("copied", "escaped_view", lambda w: w.export(w.view, copy=True, stream=w.first.handle)),
        Trial("copied for no stream", "escaped_view", lambda w: w.export(w.view, copy=True, stream=-1)),
    ],
    "BufferView.__dlpack_c_exchange_api__": [Trial("", "escaped_view", lambda w: w.export_over_table(w.view))],
    "BufferView.__cuda_array_interface__": [
        Trial("", "escaped_view", lambda w: w.keep(w.view.__cuda_array_interface__), AS_CUDA)
    ],
    "BufferView.__reduce_ex__": [Trial("", "escaped_view", lambda w: pickle.dumps(w.view, protocol=5))],
    "BufferView.tolist": [Trial("", "escaped_view", lambda w: w.view.T.tolist())],
    "BufferView.tobytes": [Trial("", "escaped_view", lambda w: w.view[:, ::2].tobytes())],
    "BufferView.__copy__": [Trial("", "escaped_view", lambda w: w.view.__copy__().close())],
    "BufferView.__deepcopy__": [Trial("", "escaped_view", lambda w: w.view.__deepcopy__({}).close())],
    "BufferView.__int__": [Trial("", "escaped_view", lambda w: int(w.view[1:2, 2:3]))],
    "BufferView.__float__": [Trial("", "escaped_view", lambda w: float(w.view[1:2, 2:3]))],
    "BufferView.__complex__": [Trial("", "escaped_view", lambda w: complex(w.view[1:2, 2:3]))],
    "BufferView.__contains__": [Trial("", "escaped_view", lambda w: 7.0 in w.view)],
    "BufferView.__iter__": [Trial("", "escaped_view", lambda w: list(w.view[1]))],
    "BufferView.close": [Trial("", "exported_view", lambda w: w.view.close(), calls_driver=False)],
    "BufferView.__exit__": [Trial("", "escaped_view", lambda w: w.view.__exit__(None, None, None), calls_driver=False)],
    **neutral("Stream", "handle device __cuda_stream__ __eq__ __hash__ __new__ __repr__ __reduce_ex__ __reduce__"),
    "Stream.__init__": [Trial("", "on_host", lambda w: w.keep(memarray.Stream(1, nonblocking=False)))],
    "Stream.synchronize": [Trial("", "after_kernel", lambda w: w.first.synchronize())],
    "Stream.wait": [Trial("", "recorded", lambda w: w.second.wait(w.event))],
    "Stream.record": [Trial("", "after_kernel", lambda w: w.keep(w.first.record()))],
    **neutral("Event", "handle device timing __new__ __repr__ __reduce_ex__ __reduce__"),
    "Event.__init__": [Trial("", "on_host", lambda w: w.keep(memarray.Event(1, timing=True)))],
    "Event.record": [
        Trial("", "after_kernel", lambda w: w.event.record(w.first)),
        Trial("in a stream by address", "after_kernel", lambda w: w.event.record(w.first.handle)),
    ],
    "Event.synchronize": [Trial("", "recorded", lambda w: w.event.synchronize())],
    "Event.wait": [Trial("", "recorded", lambda w: w.event.wait(w.second))],
    "Event.query": [Trial("", "recorded", lambda w: w.event.query())],
    "Event.elapsed": [Trial("", "timing", lambda w: w.kept[-1].elapsed(w.kept[-1]))],
    **neutral("MemoryPool", "handle device __new__ __repr__ __reduce_ex__ __reduce__"),
    "MemoryPool.__init__": [Trial("", "on_host", lambda w: w.keep(memarray.MemoryPool(1, release_threshold=0)))],
    "MemoryPool.stats": [Trial("", "with_pool", lambda w: w.kept[-1].stats())],
    "MemoryPool.trim": [Trial("", "with_pool", lambda w: w.kept[-1].trim())],
    **neutral("memarray", "MemArray Lease BufferView Stream Event MemoryPool Device DeviceType MemoryType Error"),
    **neutral("memarray", "LockError CudaError OutOfMemoryError UnsupportedTypeError build_info stats cuda dlpack"),
    **neutral("memarray", "options shared_memory __version__"),
    "memarray.leases": [
        Read("for reading", lambda a: memarray.leases(a.read()).__enter__()[0].close()),
        Write("", lambda a: memarray.leases(a.write()), (1, 1), change_one),
        Write("of several arrays", lambda a: memarray.leases(MemArray([1]).read(), a.write()), (1, 1), change_one),
        Write("discarding", lambda a: memarray.leases(a.write(discard=True)), (0, 0), change_all),
        Trial("", "after_kernel", lambda w: acquire(memarray.leases(w.b.write(), w.a.read(stream=w.second)))),
        Trial(
            "on other devices",
            "after_kernel",
            lambda w: acquire(memarray.leases(w.b.write("cuda:1"), w.a.read("cpu"))),
            may_change="place",
        ),
    ],
    "memarray.from_dlpack": [Trial("", "own_view", lambda w: memarray.from_dlpack(w.view, copy=True).close())],
    "memarray.synchronize": [Trial("", "after_kernel", lambda w: memarray.synchronize())],
    "memarray.trim": [Trial("", "moving_to_host", lambda w: memarray.trim(), calls_driver=False)],
    "memarray.cuda.device_count": [Trial("", "on_host", lambda w: cuda.device_count())],
    "memarray.cuda.is_available": [Trial("", "on_host", lambda w: cuda.is_available())],
    "memarray.cuda.device_name": [Trial("", "on_host", lambda w: cuda.device_name(1))],
    "memarray.cuda.memory_info": [Trial("", "after_kernel", lambda w: cuda.memory_info(0))],
    "memarray.cuda.pool_stats": [
        Trial("", "after_kernel", lambda w: cuda.pool_stats(0)),
        Trial("of an unused device", "on_host", lambda w: cuda.pool_stats(1)),
        Trial("without pools", "after_kernel", lambda w: cuda.pool_stats(0), POOLLESS, calls_driver=False),
    ],
    "memarray.cuda.trim": [
        Trial("", "copied_and_dropped", lambda w: cuda.trim(0)),
        Trial("without pools", "after_kernel", lambda w: cuda.trim(0), POOLLESS, calls_driver=False),
    ],
    "memarray.cuda.synchronize": [
        Trial("", "after_kernel", lambda w: cuda.synchronize(0)),
        Trial("of an unused device", "on_host", lambda w: cuda.synchronize(1)),
    ],
}


def entries_of(owner):
    """Returns the entries of a class, of the module or of `memarray.cuda`, by the last part of their names."""
    split = ((*name.rpartition("."), calls) for name, calls in OPERATIONS.items())
    return {attribute: calls for first, _, attribute, calls in split if first == owner}


READS = calls_of(OPERATIONS, Read, ("MemArray", "memarray"))
WRITES = calls_of(OPERATIONS, Write, ("MemArray", "memarray"))
VIEW_WRITES = calls_of(OPERATIONS, Write, ("BufferView",))
EXPORTS = calls_of(OPERATIONS, Export, ("Lease",))
TRIALS = calls_of(OPERATIONS, Trial)
