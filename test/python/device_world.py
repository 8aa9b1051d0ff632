"""Arrays and streams on simulated devices, and the states in which operations are tried on them."""

import memarray
import numpy as np
from dlpack_structs import ExportedTensor
from memarray.dlpack import kDLCPU, kDLCUDA
from support import filled, look, small_numbers

SHAPE = (6, 5)
#: More elements than one copy of a fill's pattern covers.
LARGE = (3, 1 << 13)
#: The number of kernels that keep a stream busy.
LATE = 8
WHOLE = np.arange(30.0).reshape(6, 5)


class World:
    """Arrays `a` and `b` with known contents, two streams of cuda:0, one of cuda:1, and objects that stay alive."""

    def __init__(self, shape=SHAPE, start=0):
        self.start = start
        self.a, self.values = filled(shape, start=start, values_of=small_numbers)
        self.b, _ = filled(shape, start=start + 3, values_of=small_numbers)
        self.first, self.second = memarray.Stream(), memarray.Stream()
        self.elsewhere = memarray.Stream(1)
        self.event = memarray.Event()
        self.view = None
        self.kept = []

    def keep(self, thing):
        self.kept.append(thing)

    def export(self, source, **request):
        self.keep(source.__dlpack__(max_version=(1, 0), **request))

    def export_over_table(self, source):
        self.keep(ExportedTensor(source))

    def capsule(self, stream):
        return self.view.__dlpack__(max_version=(1, 0), stream=stream)

    def start_move(self, device_type, stream, device_id=0):
        self.a.move_memory(device_type, device_id=device_id, stream=stream, async_copy=True)

    def open(self, lease):
        self.lease = lease.__enter__()
        self.keep(self.lease)

    def prepare_delays(self):
        """Moves `a` to cuda:0, and makes the arrays of the kernels that delay streams. All work has completed."""
        self.busy, self.busy_elsewhere = memarray.MemArray([3]), memarray.MemArray([3])
        self.a.move_memory(kDLCUDA)
        self.busy.move_memory(kDLCUDA)
        self.busy_elsewhere.move_memory(kDLCUDA, device_id=1)
        memarray.synchronize()

    def delay(self, stream, array=None):
        """Keeps a stream busy for longer than any other work takes."""
        for _ in range(LATE):
            (self.busy if array is None else array).add_index_tuple(stream=stream)

    def contents(self):
        self.a.move_memory(kDLCPU)
        return look(self.a)

    def look(self):
        """Returns everything visible of the arrays. The copies that its moves make show which sides were valid."""
        for thing in self.kept:
            if isinstance(thing, memarray.Lease):
                thing.close()
        return [self._look_at(array) for array in (self.a, self.b)]

    def _look_at(self, array):
        seen = {"shape": array.shape, "lock": array.lock_id, "place": [array.device]}
        copies = memarray.stats()["copies"]
        array.move_memory(kDLCPU)
        seen["place"].append(memarray.stats()["copies"] > copies)
        seen["contents"] = look(array).tolist()
        for device_id in (0, 1):
            copies = memarray.stats()["copies"]
            with array.read(f"cuda:{device_id}"):
                pass
            seen["place"].append(memarray.stats()["copies"] > copies)
        return seen

    # States in which operations are tried.

    def on_host(self):
        """Leaves the arrays on the host."""

    def on_device(self):
        self.a.move_memory(kDLCUDA)

    def after_kernel(self):
        self.on_device()
        self.a.add_index_tuple(stream=self.first)

    def on_second_device(self):
        self.a.move_memory(kDLCUDA, device_id=1)
        self.a.add_index_tuple(stream=self.elsewhere)

    def stale_on_device(self):
        self.on_device()
        self.a.fill(4)
        self.a.move_memory(kDLCPU)
        self.a.fill(5)

    def moving_to_host(self):
        self.after_kernel()
        self.start_move(kDLCPU, self.second)

    def escaped(self):
        self.after_kernel()
        with self.a.read(stream=self.second) as lease:
            self.export(lease, stream=self.first.handle)

    def escaped_writable(self):
        self.after_kernel()
        with self.a.write(stream=self.second) as lease:
            self.export(lease, stream=self.first.handle)

    def escaped_for_no_stream(self):
        self.after_kernel()
        with self.a.write(stream=self.second) as lease:
            self.export(lease, stream=-1)

    def escaped_then_dropped(self):
        self.escaped()
        self.kept.clear()

    def dropped_for_no_stream(self):
        self.escaped_for_no_stream()
        self.kept.clear()

    def leased(self):
        self.after_kernel()
        self.open(self.a.read(stream=self.second))

    def leased_for_writing(self):
        self.after_kernel()
        self.open(self.a.write(stream=self.second))

    def exported_twice(self):
        self.leased_for_writing()
        self.export(self.lease, stream=self.first.handle)
        self.export(self.lease, stream=1)

    def recorded(self):
        self.after_kernel()
        self.event.record(self.first)

    def exhausted(self):
        """Fills the device's memory with blocks that its pool keeps."""
        self.on_device()
        filler = memarray.MemArray([3 << 16])
        filler.move_memory(kDLCUDA)

    def moved_and_back(self):
        self.start_move(kDLCUDA, self.first)
        self.a.move_memory(kDLCPU)

    def timing(self):
        self.keep(memarray.Event(timing=True))
        self.kept[-1].record(self.first)
        self.first.synchronize()

    def with_pool(self):
        self.keep(memarray.MemoryPool())

    def copied(self):
        self.after_kernel()
        self.keep(self.a.copy())

    def copied_and_dropped(self):
        self.copied()
        self.kept.clear()

    def leased_view(self):
        """Makes a writable view under an open lease, in a stream."""
        self.leased_for_writing()
        self.view = self.lease.view()

    def escaped_view(self):
        """Makes a writable view whose lease has closed."""
        self.leased_view()
        self.lease.close()

    def exported_view(self):
        self.escaped_view()
        self.export(self.view, stream=self.first.handle)
        self.export(self.view, stream=-1)

    def view_on_host(self):
        self.view = memarray.BufferView.from_numpy(WHOLE)

    def own_view(self):
        """Makes a view that owns its memory."""
        self.view = memarray.BufferView.from_numpy(WHOLE).to_device("cuda:0", stream=self.first)

    def imported_view(self):
        self.own_view()
        self.view = memarray.from_dlpack(self.capsule(1))

    def adopted_array(self):
        self.own_view()
        self.view = memarray.MemArray.from_dlpack(self.view)
        self.view.add_index_tuple(stream=self.second)

    def unified(self):
        self.view = memarray.MemArray([6, 5], memory_type="unified").view()

    def unified_on_device(self):
        self.unified()
        self.view = self.view.to_device("cuda:0", stream=self.first)

    def with_cuda_interface(self):
        self.own_view()
        self.producer = CudaInterface(self.view)

    def drop(self):
        """Releases all objects that a state made, and makes an ordinary call that does the work of destructors."""
        self.view = None
        self.kept.clear()
        memarray.MemArray([1])


class CudaInterface:
    def __init__(self, view):
        self.__cuda_array_interface__ = view.__cuda_array_interface__
        self.view = view


PEERLESS = {"peer_access": False}
POOLLESS = {"pools": False}
AS_CUDA = {"lend_as_cuda": True}
