"""NumPy's array interface and `__array__`."""

import gc

import memarray
import numpy as np
import pytest
from support import NUMPY_DTYPES, RANKS, filled, look, pattern, shape_of


@pytest.mark.sanitize
@pytest.mark.parametrize("ndim", RANKS)
@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_the_interface_describes_the_memory(name, ndim):
    array, values = filled(shape_of(ndim), name)
    for lease, read_only in ((array.read(), True), (array.write(), False)):
        with lease:
            interface = lease.__array_interface__
            assert interface["version"] == 3
            assert interface["shape"] == values.shape
            assert interface["strides"] is None
            assert np.dtype(interface["typestr"]) == values.dtype
            assert interface["data"] == (np.asarray(lease).ctypes.data, read_only)


def test_array_interface_is_an_export_until_lease_is_collected():
    array, _ = filled((4,))
    array.escaped_views = "error"
    with array.read() as lease:
        lease.__array_interface__  # noqa: B018
        lease.__array_interface__  # noqa: B018
    with pytest.raises(memarray.LockError, match=r"1 exported view\(s\)"):
        array.fill(1)
    del lease
    gc.collect()
    array.fill(1)


def test_array_interface_is_absent_outside_open_lease():
    array, _ = filled((4,))
    lease = array.read()
    assert not hasattr(lease, "__array_interface__")
    with lease:
        assert hasattr(lease, "__array_interface__")
    assert not hasattr(lease, "__array_interface__")
    assert not hasattr(array, "__array_interface__")


def test_asarray_of_bfloat16_uses_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")
    array, values = filled((3, 4), "bfloat16")
    with array.write() as lease:
        assert not hasattr(lease, "__array_interface__")
        view = np.asarray(lease)
        assert view.dtype == ml_dtypes.bfloat16
        view[0, 0] = 9
        del view
    values[0, 0] = 9
    np.testing.assert_array_equal(look(array), values)
    with array.read() as lease:
        view = np.asarray(lease)
    array.fill(0)
    np.testing.assert_array_equal(view, values)
    assert np.asarray(array).dtype == ml_dtypes.bfloat16


def test_asarray_of_the_array_is_a_snapshot(copies):
    array, values = filled((3, 4))
    view = np.asarray(array)
    assert not view.flags.writeable
    array.fill(0)
    np.testing.assert_array_equal(view, values)
    assert copies() == 0


@pytest.mark.parametrize("source", ["array", "lease"])
def test_dtype_and_copy_are_honoured(source):
    array, values = filled((3, 4), "float32")
    with array.read() as lease:
        given = array if source == "array" else lease
        address = np.asarray(lease).ctypes.data
        assert np.asarray(given).ctypes.data == address
        assert np.array(given, copy=None).ctypes.data == address
        copied = np.array(given)
        assert copied.ctypes.data != address and copied.flags.writeable
        wider = np.asarray(given, dtype="float64")
        assert wider.dtype == np.float64
        np.testing.assert_array_equal(wider, values)
        with pytest.raises(ValueError):
            np.array(given, dtype="float64", copy=False)
        assert given.__array__().dtype == np.float32
        assert given.__array__("float64").dtype == np.float64
        assert given.__array__(dtype=np.float32, copy=True).ctypes.data != address
        with pytest.raises(ValueError, match="needs a copy, and copy=False was requested"):
            given.__array__("float64", copy=False)


def test_numpy_functions_take_leases_and_arrays():
    array, values = filled((3, 4))
    assert np.sum(array) == values.sum()
    with array.read() as lease:
        assert np.sum(lease) == values.sum()
        np.testing.assert_array_equal(np.add(lease, 1), values + 1)
        np.testing.assert_array_equal(np.concatenate([lease, lease]), np.concatenate([values, values]))
    with array.write() as lease:
        np.add(lease, 1, out=np.asarray(lease))
    np.testing.assert_array_equal(look(array), values + 1)


@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_in_place_computation_under_write_lease_changes_array(name):
    array, values = filled((6, 5), name)
    with array.write() as lease:
        view = np.from_dlpack(lease)
        view[1:-1, ::2] = pattern((4, 3), name, start=2)
        values[1:-1, ::2] = pattern((4, 3), name, start=2)
        del view
    np.testing.assert_array_equal(look(array), values)
