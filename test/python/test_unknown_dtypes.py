"""Refusals of dtypes that memarray lacks: each is named as in its library."""

import memarray
import numpy as np
import pytest
from memarray import BufferView

pytestmark = pytest.mark.sanitize


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "int4", "float4_e2m1fn"])
def test_error_names_unsupported_ml_dtypes_dtype(name):
    dtype = getattr(pytest.importorskip("ml_dtypes"), name, None)
    if dtype is None:
        pytest.skip("this ml_dtypes lacks it")
    for take in (BufferView, BufferView.from_numpy, memarray.from_dlpack):
        with pytest.raises(BufferError, match=f"no dtype for elements of {name}:"):
            take(np.zeros(2, dtype))
    check_name_in_refusals(np.dtype(dtype), name)


def check_name_in_refusals(dtype, name):
    view = BufferView(np.zeros(2))
    takes = (view.cast, view.astype, lambda d: BufferView.from_buffer(bytes(8), d), lambda d: memarray.MemArray(2, d))
    for take in takes:
        with pytest.raises(memarray.UnsupportedTypeError, match=rf"no (dtype (for elements of )?|MemArray<){name}"):
            take(dtype)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("M8[s]", "datetime64.s."),
        ("m8", "timedelta64"),
        ("U3", "(<U3|str96)"),
        ("S2", "(.S2|bytes16)"),
        ("O", "object"),
        ("V5", "(.V5|void40)"),
    ],
)
def test_error_names_numpy_dtypes(code, name):
    check_name_in_refusals(np.dtype(code), name)


def test_error_names_foreign_byte_order():
    view = BufferView(np.zeros(2))
    for take in (view.cast, lambda d: BufferView.from_buffer(bytes(8), d), lambda d: memarray.MemArray(2, d)):
        with pytest.raises(TypeError, match=r"native byte order, not >f4; convert with .astype\('float32'\)"):
            take(np.dtype(">f4"))
