"""New versions of arrays larger than the caches are written past the caches, and must be complete."""

import memarray
import numpy as np
import pytest


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((9, 1031, 1031), "float32"), ((33, 1 << 20), "int8"), ((5_000_001,), "float64"), ((3, 700_001), "complex128")],
)
def test_large_new_version_is_complete_and_escaped_view_unchanged(shape, dtype, threads, monkeypatch):
    monkeypatch.setattr(memarray.options, "threads", threads)
    indices = np.ogrid[tuple(slice(extent) for extent in shape)]
    ramp = sum(indices).astype(dtype)
    array = memarray.MemArray(list(shape), dtype)
    assert array.nbytes >= 32 << 20
    array.fill(3)
    with array.read() as lease:
        kept = np.from_dlpack(lease)
    copies = memarray.stats()["copies"]
    array.add_index_tuple()
    with array.read() as lease:
        now = np.from_dlpack(lease)
        assert now.ctypes.data != kept.ctypes.data
        np.testing.assert_array_equal(now, (ramp + np.asarray(3, dtype)).astype(dtype))
    assert (kept == 3).all()
    assert memarray.stats()["copies"] == copies
