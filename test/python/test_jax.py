"""JAX on leased memory."""

import gc

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from support import DTYPES, filled, look, small_numbers

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")

#: The dtypes that JAX takes unchanged: by default it halves 64-bit numbers.
PLAIN = tuple(name for name in DTYPES if name == "complex64" or not name.endswith(("64", "128")))


def export(array):
    """Returns a view by JAX, which requests only the unversioned struct and so needs a write lease."""
    with array.get_dlpack() as lease:
        return jax.dlpack.from_dlpack(lease)


@pytest.mark.parametrize("name", PLAIN)
def test_jax_sees_dtype_shape_and_values(name):
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")
    array, values = filled((4, 3), name)
    exported = export(array)
    assert exported.shape == (4, 3) and str(exported.dtype) == name
    assert_same_values(np.asarray(exported), values)


@pytest.mark.trap("P07")
def test_read_only_export_to_jax_is_refused_with_advice():
    array, _ = filled((4,), "float32")
    with array.read() as lease:
        with pytest.raises(BufferError, match=r"read-only.*get_dlpack"):
            jax.dlpack.from_dlpack(lease)
    with pytest.raises(BufferError, match=r"read-only.*get_dlpack"):
        jax.dlpack.from_dlpack(array)


@pytest.mark.trap("P11")
def test_jax_shares_memory_of_write_lease():
    array, _ = filled((64,), "float32")
    with array.get_dlpack() as lease:
        exported = jax.dlpack.from_dlpack(lease)
        assert exported.unsafe_buffer_pointer() == np.asarray(lease).ctypes.data


def test_jax_computes_with_values_of_escaped_view():
    array, values = filled((64,), "float32", values_of=small_numbers)
    kept = export(array)
    array.fill(9)
    doubled = jax.jit(lambda x: 2 * x)(kept)
    array.fill(8)
    np.testing.assert_array_equal(np.asarray(doubled), 2 * values)


def test_asarray_takes_a_snapshot():
    array, values = filled((64,), "float32")
    taken = jnp.asarray(array)
    with array.read() as lease:
        leased = jnp.asarray(lease)
    array.fill(0)
    assert_same_values(np.asarray(taken), values)
    assert_same_values(np.asarray(leased), values)


def test_jax_releases_the_memory():
    start = memarray.stats()["live_blocks"]
    array, values = filled((64,), "float32")
    kept = export(array)
    kept.block_until_ready()
    del array
    assert_same_values(np.asarray(kept), values)
    del kept
    gc.collect()
    assert memarray.stats()["live_blocks"] == start


def test_array_reads_result_computed_by_jax():
    array, values = filled((64,), "float32")
    result = jnp.cumsum(export(array))
    array.read_numpy_array(result)
    np.testing.assert_allclose(look(array), np.cumsum(values))


@pytest.mark.parametrize("dtype", PLAIN)
def test_imported_jax_arrays_are_never_written(dtype):
    """JAX's arrays are immutable, but their capsules have no read-only flag."""
    theirs = jnp.ones((3, 4), dtype)
    zero = False if dtype == "bool" else 0
    for view in (memarray.BufferView(theirs), memarray.from_dlpack(theirs)):
        assert view.data_ptr == theirs.unsafe_buffer_pointer()
        with pytest.raises(BufferError, match="read-only"):
            view.fill(zero)
    array = memarray.MemArray.from_dlpack(theirs)
    array.fill(zero)
    assert np.all(np.asarray(theirs) == np.ones((3, 4), theirs.dtype))
