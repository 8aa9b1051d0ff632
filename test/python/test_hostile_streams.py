"""Streams, devices and interrupts of hostile programs."""

import gc
import signal
import subprocess
import sys
import threading
import time

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from memarray.dlpack import kDLCPU, kDLCUDA
from support import filled, look


def on_device(device_id=0):
    array, values = filled((4, 2))
    array.move_memory(kDLCUDA, device_id)
    return array, values


class Raises:
    """A stream object whose protocol raises."""

    def __init__(self, error):
        self.error = error

    def __cuda_stream__(self):
        raise self.error


class RaisesOnLook(Raises):
    @property
    def __cuda_stream__(self):
        raise self.error


USES = {
    "add_index_tuple": lambda a, stream: a.add_index_tuple(stream=stream),
    "move_memory": lambda a, stream: a.move_memory(kDLCPU, stream=stream),
    "read": lambda a, stream: a.read(stream=stream).__enter__(),
    "write": lambda a, stream: a.write(stream=stream).__enter__(),
    "get_dlpack": lambda a, stream: a.get_dlpack(stream=stream).__enter__(),
    "Event.record": lambda a, stream: memarray.Event().record(stream),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("stream", [Raises, RaisesOnLook])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), KeyError("mine"), memarray.LockError("mine")])
def test_exception_from_stream_protocol_propagates(simulated_devices, use, stream, error):
    array, values = on_device()
    with pytest.raises(type(error)) as raised:
        USES[use](array, stream(error))
    assert raised.value is error
    raised = None
    error.__traceback__ = None  # the traceback keeps the array alive
    array.move_memory(kDLCPU)
    assert_same_values(array, values)


def test_stream_protocol_takes_any_integers(simulated_devices):
    own = memarray.Stream()

    class Numbers:
        def __cuda_stream__(self):
            return np.int64(0), np.uint64(own.handle)

    array, values = on_device()
    memarray.Event().record(Numbers())
    with array.read(stream=Numbers()):
        pass
    array.move_memory(kDLCPU, stream=Numbers())
    assert_same_values(array, values)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("version", [1, -1, 2**70, True, "0", None])
def test_unknown_stream_protocol_version_is_refused(simulated_devices, use, version):
    class Newer:
        def __cuda_stream__(self):
            return version, memarray.Stream().handle

    array, values = on_device()
    with pytest.raises((ValueError, TypeError), match="version"):
        USES[use](array, Newer())
    array.move_memory(kDLCPU)
    assert_same_values(array, values)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("answer", [(1, 0), (-1, 0), (2**70, 0), (True, 0), ("0", 0), (0, "0"), (0,), None])
def test_stream_protocol_is_checked_without_a_driver(use, answer):
    class Wrong:
        def __cuda_stream__(self):
            return answer

    array, values = filled((4, 2))
    with pytest.raises((ValueError, TypeError, memarray.CudaError)):
        USES[use](array, Wrong())
    assert_same_values(array, values)


def test_stream_address_too_large_is_refused(simulated_devices):
    class Far:
        def __cuda_stream__(self):
            return 0, 2**70

    array, _ = on_device()
    with pytest.raises(OverflowError):
        array.add_index_tuple(stream=Far())
    array.add_index_tuple()


@pytest.mark.parametrize("kind", ["Stream", "Event", "MemoryPool"])
def test_uninitialized_objects_raise_type_error(simulated_devices, kind):
    base = getattr(memarray, kind)

    class Mine(base):
        def __init__(self, device_id):
            try:
                super().__init__(device_id)
            finally:
                if device_id != 0:
                    with pytest.raises(TypeError, match="__init__"):
                        repr(self)

    for _ in range(50):
        with pytest.raises(memarray.CudaError):
            Mine(7)
        bare = base.__new__(base)
        for name in [name for name in dir(base) if not name.startswith("__")] + ["__repr__"]:
            with pytest.raises(TypeError):
                attribute = getattr(bare, name)
                if callable(attribute):
                    attribute(*([] if name not in ("wait", "record", "elapsed") or kind == "MemoryPool" else [None]))
    assert repr(Mine(0))


def test_objects_of_every_type_are_initialized_or_refuse_every_use(simulated_devices):
    """pybind11 exposes objects whose `__init__` has not run."""
    metaclass = type(memarray.Stream)
    kinds = [kind for kind in vars(memarray._core).values() if type(kind) is metaclass]
    assert {kind.__name__ for kind in kinds} > {"Stream", "SimulatedDevices", "ConsumerView", "ConsumerBacklog"}
    for kind in kinds:
        for cls in (kind, type("Mine", (kind,), {"__init__": lambda self: None})):
            try:
                bare = cls.__new__(cls)
            except TypeError:
                continue
            for name in set(dir(kind)) - set(dir(object)):
                if name in ("__dict__", "__module__", "_pybind11_conduit_v1_"):
                    continue
                with pytest.raises(TypeError):
                    attribute = getattr(bare, name)
                    if callable(attribute):
                        attribute(*([None] * 3 if name == "__exit__" else []))


def test_device_ids_are_validated_the_same_everywhere(simulated_devices):
    makers = [
        memarray.Stream,
        memarray.Event,
        memarray.MemoryPool,
        memarray.cuda.synchronize,
        memarray.cuda.memory_info,
        memarray.cuda.trim,
        lambda device_id: memarray.MemArray([1]).move_memory(kDLCUDA, device_id),
    ]
    for make in makers:
        make(np.int64(1))
        for wrong in (2**31, -1, 2**80):
            with pytest.raises(ValueError, match="device ids start at 0"):
                make(wrong)
        for wrong in (True, 1.0, "0"):
            with pytest.raises(TypeError, match="device_id must be an integer"):
                make(wrong)
    array, _ = on_device()
    array.add_index_tuple(stream=np.int64(1))
    with pytest.raises(TypeError, match="device_type"):
        array.get_dlpack(device_id=1)


def test_names_with_embedded_nul_are_refused(simulated_devices):
    array, _ = on_device()
    with pytest.raises(ValueError):
        array.read(device="cuda:1\0junk")
    with pytest.raises(ValueError):
        array.escaped_views = "error\0zz"
    assert array.escaped_views == "snapshot"


def test_device_attributes_are_read_only():
    device = memarray.MemArray([1]).device
    for name in ("type", "index"):
        with pytest.raises(AttributeError):
            setattr(device, name, 7)
    assert str(memarray.MemArray([1]).device) == "cpu"


def test_cuda_export_of_simulated_memory_is_refused_with_guidance(simulated_devices):
    array, _ = on_device()
    with array.read() as lease, pytest.raises(BufferError, match="lend_as_cuda=True"):
        lease.__dlpack__(dl_device=(2, 0), max_version=(1, 0))


def interrupt_a_move(sim, error):
    """Moves an array, which is reported, and interrupts it by a signal whose handler raises ``error``; returns the
    array."""
    array, _ = filled((4, 2))
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    sim.delay(0.6)
    with pytest.raises(error):
        timer.start()
        array.move_memory(kDLCUDA)
        for _ in range(100):
            time.sleep(0.01)
    timer.join()
    sim.delay(0)
    return array


def test_keyboard_interrupt_during_reported_move_is_raised(simulated_devices, waits):
    array = interrupt_a_move(simulated_devices, KeyboardInterrupt)
    assert str(array.device) == "cuda:0", "the move itself was over"


def test_stream_of_another_simulation_is_refused():
    with memarray.testing.simulated_devices() as first:
        theirs = memarray.Stream()
        for _ in range(2):
            with (
                pytest.raises(memarray.testing.Violation, match=r"cuStreamGetCtx: stream .* not known"),
                memarray.testing.simulated_devices(),
            ):
                array, values = on_device()
                with pytest.raises(memarray.CudaError):
                    array.add_index_tuple(stream=theirs.handle)
                with pytest.raises(ValueError, match="another driver"):
                    array.add_index_tuple(stream=theirs)
                array.move_memory(kDLCPU)
                assert_same_values(array, values)
                del array
        assert not first.violations()


class Alarm(Exception):
    pass


def test_signal_handler_exception_during_reported_move_is_raised(simulated_devices, waits):
    def ring(signum, frame):
        raise Alarm

    before = signal.signal(signal.SIGINT, ring)
    try:
        array = interrupt_a_move(simulated_devices, Alarm)
    finally:
        signal.signal(signal.SIGINT, before)
    assert str(array.device) == "cuda:0", "the move itself was over"


@pytest.mark.threads
@pytest.mark.parametrize("reads", [True, False])
def test_destructors_of_streams_may_use_the_array(simulated_devices, reads):
    class LooksAtTheArray:
        def __init__(self, array):
            self.array, self.own = array, memarray.Stream()

        def __cuda_stream__(self):
            return self.own.__cuda_stream__()

        def __del__(self):
            try:
                seen.append(int(self.array.view()[0]))
            except memarray.LockError:  # an operation of the array drops the stream
                seen.append(None)

    seen = []
    array = memarray.MemArray([64], "int64", memory_type="device")
    steps = 40  # more than the reads that an array keeps
    for step in range(steps):
        with (array.read if reads else array.write)(stream=LooksAtTheArray(array)) as lease:
            lease.view().sum() if reads else lease.view().fill(step)
    del lease
    array.fill(7)
    array.move_memory(kDLCPU)
    assert look(array)[0] == 7
    del array
    assert len(seen) > steps // 2


def test_context_left_current_does_not_affect_later_simulations(tmp_path):
    program = """
import memarray
from memarray.testing import simulated_devices

with simulated_devices() as first:
    first.fail("cuCtxPopCurrent", times=1)
    a = memarray.MemArray([100])
    a.move_memory(2)
    del a
for _ in range(5):
    with simulated_devices() as second:
        b = memarray.MemArray([100])
        b.move_memory(2)
        b.fill(7)
        b.move_memory(1)
        with b.read() as lease:
            assert memoryview(lease)[99] == 7
        del lease, b
print("whole")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "whole\n"), done.stderr
    gc.collect()
