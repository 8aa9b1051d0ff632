"""NumPy's array interface and `__array__`."""

import gc
import weakref

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from support import NUMPY_DTYPES, RANKS, filled, look, pattern, shape_of, small_numbers


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
    assert_same_values(look(array), values)
    with array.read() as lease:
        view = np.asarray(lease)
    array.fill(0)
    assert_same_values(view, values)
    assert np.asarray(array).dtype == ml_dtypes.bfloat16


def test_asarray_of_the_array_is_a_snapshot(copies):
    array, values = filled((3, 4))
    view = np.asarray(array)
    assert not view.flags.writeable
    array.fill(0)
    assert_same_values(view, values)
    assert copies() == 0


@pytest.mark.parametrize("source", ["array", "lease"])
def test_dtype_and_copy_are_honoured(source):
    array, values = filled((3, 4), "float32", values_of=small_numbers)
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
    array, values = filled((3, 4), values_of=small_numbers)
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
    assert_same_values(look(array), values)


class BufferInterface:
    """An object whose array interface has the memory of `data` from `offset`."""

    def __init__(self, data, offset, shape=(4,)):
        self.__array_interface__ = {"shape": shape, "typestr": "<f8", "data": data, "offset": offset, "version": 3}


def test_offset_of_an_interface_is_the_first_elements():
    x = np.arange(6.0)
    for data in (x, memoryview(x), bytearray(x.tobytes())):
        for offset in (0, 8, 16):
            view = memarray.BufferView(BufferInterface(data, offset))
            assert view.data_ptr == np.frombuffer(data).ctypes.data + offset
            assert view.tolist() == list(x[offset // 8 :][:4])
    assert memarray.BufferView(BufferInterface(x, 48, shape=(0,))).shape == (0,)


@pytest.mark.parametrize("offset", [-1, -8, 17, 24, 48, 56, 2**62, 2**63 - 1, 2**70, -(2**70), 8.0, "8"])
def test_offset_outside_the_buffer_is_refused(offset):
    with pytest.raises((BufferError, OverflowError, TypeError)):
        memarray.BufferView(BufferInterface(np.arange(6.0), offset))


def test_strides_that_do_not_fit_are_named():
    class Strided:
        def __init__(self):
            self.__array_interface__ = {"shape": (4,), "typestr": "<f8", "data": (8, False), "strides": (2**70,)}
            self.__array_interface__["version"] = 3

    with pytest.raises(OverflowError, match=f"stride 0 of the strides, {2**70}, does not fit into 64 bits"):
        memarray.BufferView(Strided())


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "F", "I", "1"])
def test_images_are_viewed_with_the_pixels_that_numpy_reads(mode):
    image_module = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pixels = np.random.default_rng(5).integers(0, 256, (5, 7, 3), np.uint8)
    image = image_module.fromarray(pixels).convert(mode)
    view = memarray.BufferView(image)
    expected = np.asarray(image)
    assert view.dtype == expected.dtype
    assert not view.writable
    np.testing.assert_array_equal(np.asarray(view), expected)
    assert expected.any()


class Owner(np.ndarray):
    """An array that can be referred to weakly."""


class FreshInterface:
    """An object whose array interface is a new dict each time, and the only owner of its memory."""

    def __init__(self):
        self.owners = []

    @property
    def __array_interface__(self):
        owner = np.arange(1000.0).view(Owner)
        self.owners.append(weakref.ref(owner))
        return {"shape": (1000,), "typestr": "<f8", "data": (owner.ctypes.data, False), "version": 3, "owner": owner}


def test_memory_that_the_interface_alone_owns_lives_as_long_as_its_view():
    source = FreshInterface()
    view = memarray.BufferView(source)
    (used,) = [owner for owner in source.owners if owner() is not None]
    part = view[::2]
    del view
    gc.collect()
    assert used() is not None
    assert part.data_ptr == used().ctypes.data
    assert part.sum() == np.arange(0.0, 1000, 2).sum()
    part.close()
    gc.collect()
    assert used() is None
