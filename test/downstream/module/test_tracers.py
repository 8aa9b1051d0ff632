"""The module as its users see it."""

import gc

import memarray
import numpy as np
import pytest
import tracers


def contents(array):
    with array.read() as lease:
        return np.from_dlpack(lease).copy()


def test_member_is_exposed_without_a_copy():
    cloud = tracers.Cloud(4)
    copies = memarray.stats()["copies"]
    with cloud.field.write() as lease:
        np.from_dlpack(lease)[:] = 1.5
    cloud.drift(0.5)
    assert memarray.stats()["copies"] == copies
    np.testing.assert_array_equal(contents(cloud.field), [[2.0, 1.5]] * 4)
    assert tracers.total(cloud.field) == 14.0


def test_a_member_outlives_its_object():
    cloud = tracers.Cloud(4)
    cloud.drift(3)
    field = cloud.field
    del cloud
    gc.collect()
    np.testing.assert_array_equal(contents(field), [[3.0, 0.0]] * 4)


def test_python_keeps_old_contents_when_member_is_assigned():
    cloud = tracers.Cloud(2)
    old = cloud.field
    cloud.drift(1)
    cloud.renew()
    assert contents(old)[0, 0] == 1
    assert contents(cloud.field)[0, 0] == 0


SHAPES = ["reference", "constant", "pointer", "constant_pointer"]
POLICIES = ["automatic", "automatic_reference", "copy", "move", "reference", "reference_internal"]


def address(array):
    with array.read() as lease:
        return np.from_dlpack(lease).ctypes.data


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("shape", SHAPES)
def test_member_is_shared_under_every_return_value_policy(shape, policy):
    cloud = tracers.Cloud(4)
    before = memarray.stats()["copies"]
    shown = getattr(cloud, f"{shape}_{policy}")()
    assert address(shown) == cloud.address()
    with shown.write() as lease:
        np.from_dlpack(lease)[:] = 2.5
    cloud.drift(1)
    np.testing.assert_array_equal(contents(shown), [[3.5, 2.5]] * 4)
    with shown.read(), pytest.raises(memarray.LockError):
        cloud.drift(1)
    assert memarray.stats()["copies"] == before
    # The member goes on without it, then without its object.
    cloud.renew()
    assert address(shown) != cloud.address()
    cloud.drift(1)
    del cloud
    gc.collect()
    np.testing.assert_array_equal(contents(shown), [[3.5, 2.5]] * 4)
    shown.fill(1)
    assert contents(shown).sum() == 8


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("shape", SHAPES)
def test_member_outlives_its_object_under_every_return_value_policy(shape, policy):
    cloud = tracers.Cloud(4)
    cloud.drift(3)
    shown = getattr(cloud, f"{shape}_{policy}")()
    with shown.read() as lease:
        view = np.from_dlpack(lease)
        del cloud
        gc.collect()
    np.testing.assert_array_equal(view, [[3.0, 0.0]] * 4)
    np.testing.assert_array_equal(contents(shown), [[3.0, 0.0]] * 4)


def test_pointer_returned_with_ownership_keeps_its_memory():
    cloud = tracers.Cloud(2)
    cloud.drift(2)
    where = cloud.address()
    arrays = memarray.stats()["live_blocks"]
    taken = cloud.hand_over()
    del cloud
    gc.collect()
    assert address(taken) == where
    np.testing.assert_array_equal(contents(taken), [[2.0, 0.0]] * 2)
    del taken
    assert memarray.stats()["live_blocks"] == arrays - 2, "the cloud's tracers and its field"


def test_null_pointer_is_returned_as_none():
    assert tracers.Cloud(1).nothing() is None


LAYOUT = np.dtype([("x", "<f4"), ("y", "<f4"), ("id", "<i4")])


def test_array_of_structs_is_exported():
    cloud = tracers.Cloud(3)
    with cloud.tracers.read() as lease:
        values = np.asarray(lease).view(LAYOUT)
        assert values.tolist() == [(0, 0, 10), (1, -1, 11), (2, -2, 12)]
        assert not values.flags.writeable
        with pytest.raises(memarray.LockError):
            cloud.number()
    with cloud.tracers.write() as lease:
        np.asarray(lease).view(LAYOUT)["id"] += 100
    assert cloud.sum_of_ids() == 110 + 111 + 112
    assert values["id"].tolist() == [10, 11, 12], "an escaped view is a snapshot"


def test_an_array_of_structs_outlives_its_object():
    array = tracers.Cloud(2).tracers
    gc.collect()
    assert array.shape == (2,) and array.itemsize == 12
    assert np.asarray(array).view(LAYOUT)["id"].tolist() == [10, 11]
    with array.read() as lease, pytest.raises(BufferError, match="DLPack"):
        lease.__dlpack__()


def test_array_returned_by_value_outlives_its_object():
    cloud = tracers.Cloud(2)
    cloud.drift(1)
    taken = cloud.take()
    del cloud
    assert contents(taken)[1, 0] == 1


def test_kernel_is_refused_under_read_lease():
    cloud = tracers.Cloud(2)
    with cloud.field.read(), pytest.raises(memarray.LockError):
        cloud.drift(1)
    assert contents(cloud.field).sum() == 0


def test_rank_added_by_the_module_works():
    with pytest.raises(TypeError, match=r"float64"):
        memarray.MemArray([1, 2, 1, 2, 1, 2, 1], float)
    array = memarray.MemArray([1, 2, 1, 2, 1, 2, 1], "int16")
    array.fill(2)
    assert contents(array).sum() == 16
    assert array.view().sum(3).shape == (1, 2, 1, 1, 2, 1)


def test_wrong_array_is_refused_with_expected_type():
    with pytest.raises(TypeError, match=r"float64, 2.*int32"):
        tracers.total(memarray.MemArray([2, 2], "int32"))
    with pytest.raises(TypeError):
        tracers.total(np.zeros((2, 2)))


def test_handles_are_returned_as_python_types():
    with memarray.testing.simulated_devices() as sim:
        stream, event, pool = tracers.stream_of(1), tracers.event_of(1, True), tracers.pool_of(1)
        assert (type(stream), type(event), type(pool)) == (memarray.Stream, memarray.Event, memarray.MemoryPool)
        assert str(stream.device) == str(event.device) == str(pool.device) == "cuda:1"
        assert event.timing and not tracers.event_of(0, False).timing
        stream.record(event)
        event.synchronize()
        assert sim.live()["streams"] == 1
        with pytest.raises(ValueError, match="handle is null"):
            tracers.stream_of(7)
        del stream, event, pool
        assert not any(sim.live().values())


def test_functions_accept_host_and_device_memory():
    x = np.arange(6.0).reshape(2, 3)
    assert tracers.corner(x[:, :2]) == 4
    tracers.set_all(x[0], 7, None)
    assert x.tolist() == [[7, 7, 7], [3, 4, 5]]
    with memarray.testing.simulated_devices():
        a = memarray.MemArray([2, 3])
        a.move_memory(memarray.dlpack.kDLCUDA)
        tracers.set_all(a, 9, memarray.Stream())
        a.move_memory(memarray.dlpack.kDLCPU)
        assert contents(a).sum() == 54
        del a
