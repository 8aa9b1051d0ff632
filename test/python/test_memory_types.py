"""Devices and memory types by name, and arrays and views made in each: on the host, pinned, unified and on a device."""

import copy
import pickle

import memarray
import numpy as np
import pytest
from memarray import BufferView, Device, DeviceType, MemArray, MemoryType, dlpack
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer
from support import look

ON_HOST = ("normal", "pinned", "unified")
VALUES = np.arange(12.0).reshape(3, 4)


def pinned(sim):
    return sim.live()["pinned_memory"]


def managed(sim):
    return sim.live()["managed_memory"]


@pytest.fixture
def unified(simulated_devices):
    """Yields a writable view of an array's unified memory, under an open lease."""
    array = MemArray([3, 4], memory_type="unified")
    array.read_numpy_array(VALUES)
    with array.write() as lease:
        yield lease.view()


def test_device_types_equal_dlpack_codes():
    for name, member in [("CPU", DeviceType.CPU), ("CUDA", DeviceType.CUDA), ("CUDAHost", DeviceType.CUDA_HOST)]:
        assert getattr(dlpack, f"kDL{name}") == member
    assert (dlpack.kDLExtDev, dlpack.kDLCUDAManaged) == (DeviceType.EXT_DEV, DeviceType.CUDA_MANAGED)
    assert DeviceType(MemArray([1]).__dlpack_device__()[0]) is DeviceType.CPU


def test_memory_types_equal_their_strings():
    assert [str(member) for member in MemoryType] == ["normal", "pinned", "unified", "device"]
    assert all(member == member.value and f"{member}" == member.value for member in MemoryType)
    assert {MemoryType.PINNED: 1}["pinned"] == 1
    assert pickle.loads(pickle.dumps(MemoryType.PINNED)) is MemoryType.PINNED
    view = MemArray([1]).view()
    assert view.memory_type is MemoryType.NORMAL
    assert view.memory_type == "normal"


def test_device_takes_a_kind_and_an_index():
    assert Device("cuda", 1) == Device("cuda:1") == Device(DeviceType.CUDA, 1) == Device(index=1, name=kDLCUDA)
    assert Device(DeviceType.CPU) == Device("cpu", 0) == Device(Device("cpu"))
    assert Device("cuda", 1).is_cuda() and not Device("cuda", 1).is_cpu()
    assert Device("cpu").is_cpu() and not Device("cpu").is_cuda()
    assert (Device("cuda", 1).device_type, Device("cpu").device_type) == (DeviceType.CUDA, DeviceType.CPU)
    assert copy.deepcopy(Device("cuda", 1)) == pickle.loads(pickle.dumps(Device("cuda", 1))) == Device("cuda", 1)


@pytest.mark.parametrize(
    "arguments", [("cuda:0", 1), ("cuda", -1), ("cpu", 1), ("metal", 0), (DeviceType.METAL,), (7,)]
)
def test_device_refuses_invalid_names_and_indices(arguments):
    with pytest.raises(ValueError, match=r"device|twice"):
        Device(*arguments)


@pytest.mark.parametrize("index", [True, 1.0, "1"])
def test_device_refuses_non_integer_index(index):
    with pytest.raises(TypeError, match="index must be an integer"):
        Device("cuda", index)


@pytest.mark.parametrize("kind", ["pinned", "unified", "device"])
def test_array_works_in_each_memory_type(device, kind):
    array = MemArray([3, 4], memory_type=kind)
    assert (array.memory_type, array.is_foreign) == (kind, False)
    assert array.device == Device("cuda" if kind == "device" else "cpu")
    with array.read() as lease:
        assert lease.view().memory_type == kind
    array.add_index_tuple()
    array.move_memory(kDLCPU)
    np.testing.assert_array_equal(look(array), np.add.outer(np.arange(3), np.arange(4)))
    array.read_numpy_array(VALUES)
    array.move_memory(kDLCUDA)
    assert array.memory_type == "device"
    array.move_memory(kDLCPU)
    np.testing.assert_array_equal(look(array), VALUES)
    assert array.memory_type == ("normal" if kind == "device" else kind)


@pytest.mark.parametrize("kind", MemoryType)
@pytest.mark.parametrize("shape", [(0,), (3, 0, 2), (1,)])
def test_small_and_empty_arrays_work_in_each_memory_type(simulated_devices, kind, shape):
    array = MemArray(shape, "int16", memory_type=kind)
    assert array.memory_type == kind
    assert np.array(array.view().to_device("cpu")).tolist() == np.zeros(shape).tolist()


@pytest.mark.parametrize("kind", ["pinned", "unified"])
def test_resize_and_copies_keep_the_memory_type(simulated_devices, kind):
    array = MemArray([2, 2], memory_type=kind)
    array.resize([3, 4])
    assert array.memory_type == kind
    kept = array.view()
    array.fill(3)
    assert (array.memory_type, kept.memory_type, kept.sum()) == (kind, kind, 0)
    assert array.copy().memory_type == kind


def test_memory_of_each_type_is_freed(simulated_devices):
    arrays = [MemArray([1000], memory_type=kind) for kind in MemoryType]
    assert (pinned(simulated_devices) >= 1, managed(simulated_devices)) == (True, 1)
    del arrays
    memarray.cuda.trim()
    assert (pinned(simulated_devices), managed(simulated_devices)) == (0, 0)


@pytest.mark.parametrize("kind", ["pinned", "unified", "device"])
def test_each_memory_type_works_on_second_device(kind):
    with memarray.testing.simulated_devices(2):
        array = MemArray([5], "int32", 1, memory_type=kind)
        array.fill(7)
        assert array.view().to_device("cuda:1").sum() == 35
        del array


@pytest.mark.parametrize("kind", ["pinned", "unified", "device"])
def test_memory_types_of_missing_device_are_refused(simulated_devices, kind):
    with pytest.raises(memarray.CudaError, match="cuda:5"):
        MemArray([3], device_id=5, memory_type=kind)


def test_unknown_memory_types_are_refused():
    with pytest.raises(ValueError, match="one of 'normal', 'pinned', 'unified', 'device', not 'pined'"):
        MemArray([3], memory_type="pined")
    for wrong in (1, None, b"pinned"):
        with pytest.raises(TypeError, match="memory_type must be a string"):
            MemArray([3], memory_type=wrong)


def test_numbers_are_no_devices():
    for take in (MemArray.from_numpy, BufferView.from_numpy, BufferView.from_buffer, MemArray([2]).read):
        for number in (1, 2, True):
            with pytest.raises(ValueError, match=f"a device is written 'cpu', .*{number}"):
                take(*([] if take.__name__ == "read" else [VALUES]), device=number)


@pytest.mark.parametrize("dtype", ["float64", "bool", "int8", "complex64", ">i4"])
def test_array_from_numpy_is_created_on_device(device, copies, dtype):
    values = VALUES.astype(dtype)
    array = MemArray.from_numpy(values[::-1, ::2], device="cuda:0")
    assert (str(array.device), array.is_foreign, copies()) == ("cuda:0", False, 1)
    array.move_memory(kDLCPU)
    np.testing.assert_array_equal(look(array), values[::-1, ::2])
    assert MemArray.from_numpy(values, device="cpu").device == Device("cpu")
    assert MemArray.from_numpy(values, device=DeviceType.CUDA).device == Device("cuda:0")


def test_array_from_numpy_refuses_two_devices(simulated_devices):
    with pytest.raises(ValueError, match="the device is given twice: device='cuda:0' and device_id=1"):
        MemArray.from_numpy(VALUES, 1, device="cuda:0")
    with pytest.raises(TypeError, match="integer"):
        MemArray.from_numpy(VALUES, 1.5, device="cuda:0")


def test_view_made_on_device_is_a_counted_copy(device, copies):
    for make in (
        lambda: BufferView.from_numpy(VALUES, device="cuda:0"),
        lambda: BufferView.from_numpy(VALUES, Device("cuda", 0)),
        lambda: BufferView.from_buffer(VALUES.tobytes(), "float64", device="cuda:0").reshape(3, 4),
        lambda: BufferView.from_buffer(VALUES, None, "cuda:0"),
    ):
        view = make()
        assert (str(view.device), view.memory_type, view.owner, copies()) == ("cuda:0", "device", None, 1)
        np.testing.assert_array_equal(view.to_device("cpu"), VALUES)
        copies()


def test_view_made_on_host_is_not_a_copy(copies):
    for view in (BufferView.from_numpy(VALUES, device="cpu"), BufferView.from_buffer(VALUES, device="cpu")):
        assert view.data_ptr == VALUES.ctypes.data
    assert copies() == 0
    with pytest.raises(ValueError, match="a device is written"):
        BufferView.from_numpy(VALUES, device="metal")


def test_unified_memory_is_used_on_the_device_without_a_copy(unified, copies):
    there = unified.to_device("cuda:0")
    assert (there.data_ptr, str(there.device), there.memory_type) == (unified.data_ptr, "cuda:0", "unified")
    there[1:].fill(7)
    back = there.to_device("cpu")
    assert (back.data_ptr, str(back.device), back.memory_type) == (unified.data_ptr, "cpu", "unified")
    assert np.asarray(back).tolist() == [[0, 1, 2, 3], [7] * 4, [7] * 4]
    assert (there.sum(), copies()) == (6 + 56, 0)
    with pytest.raises(BufferError, match="is on cuda:0"):
        np.asarray(there)


def test_unified_memory_on_the_host_waits_for_the_device(unified, simulated_devices, waits):
    simulated_devices.delay(0.05)
    there = unified.to_device("cuda:0", stream=memarray.Stream())
    there.fill(7)
    assert np.asarray(there.to_device("cpu")).tolist() == [[7] * 4] * 3
    assert waits() == ["waited: unified memory on the host, after work on streams"]


def test_array_waits_for_work_on_its_unified_memory(simulated_devices):
    simulated_devices.delay(0.05)
    array = MemArray([1000], memory_type="unified")
    with array.write() as lease:
        lease.view().to_device("cuda:0").fill(7)
    assert np.asarray(array).sum() == 7000


@pytest.mark.parametrize("kind", ["lease", "reader", "dropped late"])
def test_array_waits_for_consumers_of_its_unified_memory(as_cuda, kind):
    array = MemArray([1000], memory_type="unified")
    consumer = Consumer(stream=memarray.Stream())
    array.fill(3)
    with array.read() if kind == "reader" else array.write() as lease:
        assert lease.__dlpack_device__() == (dlpack.kDLCUDAManaged, 0)
        view = consumer.take(lease)
        as_cuda.delay(0.2)
        if kind == "reader":
            reading = view.read()
        else:
            view.write(5)
        if kind != "dropped late":
            view.drop()
    if kind == "reader":
        array.fill(1)
        assert np.frombuffer(reading.result()).tolist() == [3] * 1000
    elif kind == "lease":
        assert look(array).tolist() == [5] * 1000
        array.fill(1)
    else:
        array.fill(1)
        view.drop()
    as_cuda.delay(0)
    memarray.synchronize()
    assert look(array).tolist() == [1] * 1000
    del array, lease, view


def test_host_lease_of_unified_memory_does_not_wait_for_other_work(unified, simulated_devices, waits):
    busy = MemArray([1000], memory_type="device")
    memarray.synchronize()
    array = MemArray([3], memory_type="unified")
    simulated_devices.delay(0.05)
    busy.add_index_tuple()
    waits()
    for _ in range(3):
        with array.write() as lease:
            lease.view().fill(2)
            np.asarray(lease)[0] = 1
    assert look(array).tolist() == [1, 2, 2]
    assert not waits()


def test_uninitialized_device_memory_is_used_after_its_allocation(simulated_devices):
    busy = MemArray([1000], memory_type="device")
    memarray.synchronize()
    simulated_devices.delay(0.03)
    for _ in range(10):
        busy.add_index_tuple()
    place = busy.view().data_ptr
    del busy
    array = MemArray([1000], memory_type="device", uninitialized=True)
    with array.write(stream=memarray.Stream()) as lease:
        assert lease.view().data_ptr == place, "the pool gave the memory whose last use is pending"
        lease.view().fill(3)
    memarray.synchronize()
    assert not simulated_devices.violations()
    simulated_devices.delay(0)
    assert array.view().sum() == 3000


def test_view_of_unified_memory_outlives_its_lease(simulated_devices):
    array = MemArray([4], memory_type="unified")
    there = array.view().to_device("cuda:0")
    assert not there.writable
    array.fill(3)
    assert there.sum() == 0
    with pytest.raises(BufferError, match="read-only"):
        there.fill(2)
    del array
    assert there.to_device("cpu").tolist() == [0, 0, 0, 0]


def test_slice_of_unified_memory_keeps_strides_on_device_without_copy(unified, copies):
    there = unified[::-1, 1::2].to_device("cuda:0")
    assert (there.strides, there.data_ptr) == ((-32, 16), unified.data_ptr + 72)
    np.testing.assert_array_equal(there.to_device("cpu"), VALUES[::-1, 1::2])
    assert copies() == 0


def test_unified_memory_is_copied_to_another_device(copies):
    with memarray.testing.simulated_devices(2):
        array = MemArray([3, 4], memory_type="unified")
        array.read_numpy_array(VALUES)
        view = array.view()
        first = view.to_device("cuda:0")
        for source in (view, first):
            other = source.to_device("cuda:1")
            assert (other.memory_type, copies()) == ("device", 1)
            np.testing.assert_array_equal(other.to_device("cpu"), VALUES)
            copies()
        del array, view, first, source, other


def test_device_view_of_unified_memory_is_exported_as_device_memory(as_cuda):
    array = MemArray([4], memory_type="unified")
    there = array.view().to_device("cuda:0")
    assert there.__dlpack_device__() == (kDLCUDA, 0)
    assert there.__cuda_array_interface__["data"][0] == there.data_ptr
    with pytest.raises(BufferError, match="copy=True"):
        there.__dlpack__(dl_device=(1, 0))
    del array


def test_host_view_of_unified_memory_is_exported_as_host_memory_only(as_cuda):
    array = MemArray([4], memory_type="unified")
    view = array.view()
    assert view.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match=r"dl_device=\(13, 0\) was requested"):
        view.__dlpack__(max_version=(1, 0), dl_device=(13, 0))
    view.__dlpack__(max_version=(1, 0), dl_device=(1, 0))
    del array, view


def test_copies_of_unified_memory_for_the_host_do_not_share_it(unified):
    array = MemArray.from_dlpack(unified.to_device("cuda:0"))
    with array.write() as lease:
        for source in (unified.to_device("cuda:0"), lease.view(), lease):
            copy = np.from_dlpack(source, device="cpu", copy=True)
            np.testing.assert_array_equal(copy, VALUES)
            copy[...] = -1
            np.testing.assert_array_equal(np.from_dlpack(source, device="cpu", copy=True), VALUES)


def test_adopted_unified_memory_is_on_the_device(unified):
    array = MemArray.from_dlpack(unified.to_device("cuda:0"))
    assert (str(array.device), array.memory_type) == ("cuda:0", "unified")
    array.add_index_tuple()
    array.move_memory(kDLCPU)
    np.testing.assert_array_equal(look(array), VALUES + np.add.outer(np.arange(3), np.arange(4)))


def test_device_types_name_devices_wherever_a_device_is_given(simulated_devices):
    values = np.arange(4.0)
    array, view = MemArray.from_numpy(values), BufferView(values)
    with array.read(device=DeviceType.CPU) as lease:
        assert lease.view().device == Device("cpu")
    for there in (DeviceType.CUDA, Device(DeviceType.CUDA), "cuda"):
        assert view.to_device(there).device == Device("cuda:0")
        assert BufferView.from_numpy(values, device=there).device == Device("cuda:0")
        assert BufferView.from_buffer(values, device=there).device == Device("cuda:0")
    assert view.to_device(DeviceType.CPU) is view
    for wrong in (DeviceType.ROCM, 7, ("cuda", 0), True):
        for call in (view.to_device, lambda device: BufferView.from_numpy(values, device=device)):
            with pytest.raises(ValueError, match="a device is written"):
                call(wrong)
