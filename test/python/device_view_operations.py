"""Trials of every view operation where it calls the driver: the part of `device_operations` for views."""

import pickle

import memarray
import numpy as np
from device_trials import POOLLESS, Trial, after_kernel, drop, on_host

WHOLE = np.arange(30.0).reshape(6, 5)


def viewed_here(w):
    """Makes a writable view under an open lease, in a stream."""
    after_kernel(w)
    w.open(w.a.write(stream=w.second))
    w.view = w.lease.view()


def kept_view(w):
    """Makes an escaped view: a writable view whose lease has closed."""
    viewed_here(w)
    w.lease.close()


def of_its_own(w):
    w.view = memarray.BufferView.from_numpy(WHOLE).to_device("cuda:0", stream=w.first)


def unified_here(w):
    w.view = memarray.MemArray([6, 5], memory_type="unified").view()


def unified_there(w):
    unified_here(w)
    w.view = w.view.to_device("cuda:0", stream=w.first)


def lent_on(w):
    kept_view(w)
    w.lend(w.view, stream=w.first.handle)
    w.lend(w.view, stream=-1)


def of_another(w):
    of_its_own(w)
    w.view = memarray.from_dlpack(w.view.__dlpack__(max_version=(1, 0), stream=1))


def adopted(w):
    of_its_own(w)
    w.view = memarray.MemArray.from_dlpack(w.view)
    w.view.add_index_tuple(stream=w.second)


class Shown:
    def __init__(self, view):
        self.__cuda_array_interface__ = view.__cuda_array_interface__
        self.view = view


def shown(w):
    of_its_own(w)
    w.shown = Shown(w.view)


def drop_view(w):
    del w.view
    drop(w)


AS_CUDA = {"lend_as_cuda": True}

#: The first word is the operation.
VIEW_TRIALS = {
    "MemArray.view": Trial(after_kernel, lambda w: w.a.view().close()),
    "Lease.view": Trial(viewed_here, lambda w: w.lease.view().close()),
    "BufferView.sum": Trial(kept_view, lambda w: w.view.sum()),
    "BufferView.sum of a part": Trial(viewed_here, lambda w: w.view[::2, ::-2].sum()),
    "BufferView.mean": Trial(kept_view, lambda w: w.view.mean(axis=0).close()),
    "BufferView.min": Trial(of_its_own, lambda w: w.view.min(axis=1).close()),
    "BufferView.max": Trial(of_another, lambda w: w.view.max()),
    "BufferView.copy": Trial(kept_view, lambda w: w.view.copy().close()),
    "BufferView.copy without pools": Trial(kept_view, lambda w: w.view.T.copy().close(), POOLLESS),
    "BufferView.cast": Trial(kept_view, lambda w: w.view.cast("float32").close()),
    "BufferView.ensure_contiguous": Trial(kept_view, lambda w: w.view.T.ensure_contiguous().close()),
    "BufferView.item": Trial(kept_view, lambda w: w.view[1:2, 2:3].item()),
    "BufferView.__getitem__": Trial(kept_view, lambda w: w.view[1, 2]),
    "BufferView.fill": Trial(viewed_here, lambda w: w.view.fill(7), may_change="contents"),
    "BufferView.fill of a part": Trial(viewed_here, lambda w: w.view[:, ::2].fill(7)),
    "BufferView.add_index": Trial(viewed_here, lambda w: w.view.add_index()),
    "BufferView.to_device": Trial(kept_view, lambda w: w.view.to_device("cuda:1").close()),
    "BufferView.to_device the host": Trial(viewed_here, lambda w: w.view.T.to_device("cpu").close()),
    "BufferView.to_device from the host": Trial(
        on_host, lambda w: memarray.BufferView.from_numpy(WHOLE).to_device("cuda:1", stream=w.elsewhere).close()
    ),
    "BufferView.to_device of unified memory": Trial(unified_here, lambda w: w.view.to_device("cuda:0").close()),
    "BufferView.to_device of unified memory, back": Trial(unified_there, lambda w: w.view.to_device("cpu").close()),
    "BufferView.from_numpy on a device": Trial(
        on_host, lambda w: memarray.BufferView.from_numpy(WHOLE, device="cuda:0").close()
    ),
    "BufferView.from_buffer on a device": Trial(
        on_host, lambda w: memarray.BufferView.from_buffer(WHOLE, device="cuda:0").close()
    ),
    "BufferView.to_device in another stream": Trial(
        lent_on, lambda w: w.view.to_device("cuda:0", stream=w.first).close()
    ),
    "BufferView.to_device through the host": Trial(
        kept_view, lambda w: w.view.to_device("cuda:1", stream=w.elsewhere).close(), {"peer_access": False}
    ),
    "BufferView.__dlpack__": Trial(viewed_here, lambda w: w.lend(w.view, stream=w.first.handle)),
    "BufferView.__dlpack__ of a kept view": Trial(lent_on, lambda w: w.lend(w.view, stream=2)),
    "BufferView.__dlpack__ copied": Trial(kept_view, lambda w: w.lend(w.view, copy=True, stream=w.first.handle)),
    "BufferView.__dlpack__ copied, for no stream": Trial(kept_view, lambda w: w.lend(w.view, copy=True, stream=-1)),
    "BufferView.__dlpack_c_exchange_api__": Trial(kept_view, lambda w: w.lend_over_table(w.view)),
    "BufferView.__cuda_array_interface__": Trial(kept_view, lambda w: w.keep(w.view.__cuda_array_interface__), AS_CUDA),
    "BufferView.__new__": Trial(shown, lambda w: memarray.BufferView(w.shown).close(), AS_CUDA),
    "BufferView.from_dlpack": Trial(
        of_its_own,
        lambda w: memarray.from_dlpack(w.view.__dlpack__(max_version=(1, 0), stream=w.second.handle)).close(),
    ),
    "BufferView.__reduce_ex__": Trial(kept_view, lambda w: pickle.dumps(w.view, protocol=5)),
    "BufferView.tolist": Trial(kept_view, lambda w: w.view.T.tolist()),
    "BufferView.tobytes": Trial(kept_view, lambda w: w.view[:, ::2].tobytes()),
    "BufferView.__copy__": Trial(kept_view, lambda w: w.view.__copy__().close()),
    "BufferView.__deepcopy__": Trial(kept_view, lambda w: w.view.__deepcopy__({}).close()),
    "BufferView.__int__": Trial(kept_view, lambda w: int(w.view[1:2, 2:3])),
    "BufferView.__float__": Trial(kept_view, lambda w: float(w.view[1:2, 2:3])),
    "BufferView.__complex__": Trial(kept_view, lambda w: complex(w.view[1:2, 2:3])),
    "BufferView.__contains__": Trial(kept_view, lambda w: 7.0 in w.view),
    "BufferView.__iter__": Trial(kept_view, lambda w: list(w.view[1])),
    "memarray.from_dlpack": Trial(of_its_own, lambda w: memarray.from_dlpack(w.view, copy=True).close()),
    "MemArray.from_dlpack of device memory": Trial(
        of_its_own,
        lambda w: memarray.MemArray.from_dlpack(w.view.__dlpack__(max_version=(1, 0), stream=w.second.handle)),
    ),
    "MemArray.from_dlpack of what must be copied": Trial(
        of_its_own, lambda w: memarray.MemArray.from_dlpack(w.view[::2])
    ),
    "BufferView.close": Trial(lent_on, lambda w: w.view.close()),
    "BufferView.__exit__": Trial(kept_view, lambda w: w.view.__exit__(None, None, None)),
    "dropping a view that works": Trial(lambda w: [of_its_own(w), w.view.add_index()], drop_view),
    "dropping a view that its array left behind": Trial(lambda w: [kept_view(w), w.a.fill(3)], drop_view),
    "dropping a view that was lent on": Trial(lambda w: [lent_on(w), w.a.fill(3)], drop_view),
    "dropping an array over another's memory": Trial(adopted, drop_view),
    "dropping a view of another's memory": Trial(lambda w: [of_another(w), w.view.add_index()], drop_view),
}
#: Trials that make no driver call.
VIEWS_WITHOUT_CALLS = {
    *("BufferView.close", "BufferView.__exit__", "Lease.view", "BufferView.to_device in another stream"),
    "BufferView.to_device of unified memory, back",
}
#: Names that call no driver function, wherever the view's memory is.
VIEWS_WITHOUT_DRIVER = [
    *("data_ptr", "shape", "strides", "ndim", "size", "itemsize", "nbytes", "dtype", "device", "memory_type", "owner"),
    *("writable", "closed", "T", "transpose", "reshape", "broadcast_to", "is_contiguous", "plan"),
    *("from_numpy", "from_buffer", "__enter__", "__len__", "__bool__", "__repr__", "__setitem__", "__delitem__"),
    *("__array__", "__array_interface__", "__buffer__", "__release_buffer__", "__dlpack_device__"),
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__index__"),
]
