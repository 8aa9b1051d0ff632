"""The module as its users see it."""

import gc

import memarray
import numpy as np
import pytest
import tracers


def contents(array):
    with array.read() as lease:
        return np.from_dlpack(lease).copy()


def test_a_member_is_shown_without_a_copy():
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


def test_python_goes_on_with_the_old_state_when_the_member_is_assigned():
    cloud = tracers.Cloud(2)
    old = cloud.field
    cloud.drift(1)
    cloud.renew()
    assert contents(old)[0, 0] == 1
    assert contents(cloud.field)[0, 0] == 0


def test_returning_by_value_hands_over():
    cloud = tracers.Cloud(2)
    cloud.drift(1)
    taken = cloud.take()
    del cloud
    assert contents(taken)[1, 0] == 1


def test_a_lease_keeps_the_kernel_out():
    cloud = tracers.Cloud(2)
    with cloud.field.read(), pytest.raises(memarray.LockError):
        cloud.drift(1)
    assert contents(cloud.field).sum() == 0


def test_a_rank_that_the_module_added():
    array = memarray.MemArray([1, 2, 1, 2, 1, 2, 1], float)
    array.fill(2)
    assert contents(array).sum() == 16


def test_the_wrong_array_is_refused_in_words():
    with pytest.raises(TypeError, match=r"float64, 2.*int32"):
        tracers.total(memarray.MemArray([2, 2], "int32"))
    with pytest.raises(TypeError):
        tracers.total(np.zeros((2, 2)))
