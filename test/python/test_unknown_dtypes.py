"""Refusals of dtypes that memarray lacks: each is named as in its library."""

import re

import memarray
import numpy as np
import pytest
from memarray import BufferView, _core

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


RECORD = np.dtype([("a", "M8[s]")])


@pytest.mark.parametrize("dtype", [RECORD, "float8_e4m3fn", "bfloat16"])
def test_numpy_memory_without_a_buffer_is_refused_by_its_dtype(dtype):
    if isinstance(dtype, str):
        dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), dtype))
    x = np.zeros(2, dtype)
    words = re.escape(f"NumPy exports no buffer of {_core.shown(dtype)}:")
    for take in (BufferView, BufferView.from_buffer, lambda y: BufferView.from_buffer(y, "uint8")):
        with pytest.raises(BufferError, match=words):
            take(x[0])
    with pytest.raises(BufferError, match=words):
        BufferView.from_buffer(x, "uint8")
    assert BufferView.from_buffer(np.atleast_1d(x[0]).view("uint8")).nbytes == dtype.itemsize


def test_scalar_of_an_unknown_dtype_is_refused_by_its_name():
    with pytest.raises(BufferError, match=re.escape(f"({_core.shown(np.dtype(np.longdouble))})")):
        BufferView(np.longdouble(1))


def test_struct_dtype_with_dates_is_unknown():
    view = BufferView(np.zeros(2))
    for take in (view.cast, view.astype, lambda d: BufferView.from_buffer(bytes(8), d), lambda d: view.sum(dtype=d)):
        with pytest.raises(memarray.UnsupportedTypeError, match=r"no dtype .*'M8.*There are: bool, int8"):
            take([("a", "M8[s]")])


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
