"""The C API through cffi, which reads the headers themselves."""

import ctypes
import re

import memarray
import numpy as np
import pytest
from c_api_headers import header

cffi = pytest.importorskip("cffi", reason="cffi is not installed")


def declared(name):
    """Returns a header for cffi: without directives, C++ and declarations that need Python.h."""
    text = header(name).split("#if defined(Py_PYTHON_H)")[0]
    text = re.sub(r"#if defined\(__cplusplus\).*?#endif", "", text, flags=re.DOTALL)
    text = re.sub(r"#if defined\(__GNUC__\).*?#endif", "", text, flags=re.DOTALL)
    text = re.sub(r"^#.*$|//[^\n]*|\b__memarray_(?:give|take|keep)\b", "", text, flags=re.MULTILINE)
    return re.sub(r"MemArrayAPI const\* memarray_c_api\(void\);", "", text)


@pytest.fixture(scope="module")
def ffi():
    ffi = cffi.FFI()
    for name in ("c_api.h", "c_arrays.h", "c_views.h"):
        ffi.cdef(declared(name))
    return ffi


@pytest.fixture(scope="module")
def api(ffi):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ffi.cast("MemArrayAPI*", get(memarray._core._C_API, b"memarray._core._C_API"))


def test_c_table_sizes_match_cffi_declarations(ffi, api):
    assert api.size == ffi.sizeof("MemArrayAPI")
    assert api.arrays.size == ffi.sizeof("struct MemArrayArrayAPI")
    assert api.views.size == ffi.sizeof("struct MemArrayViewAPI")
    assert ffi.string(api.version()).decode() == memarray.__version__


def test_cffi_writes_array_under_lease_and_reads_view(ffi, api):
    array = api.arrays.create_array(b"float64", 2, [2, 3], 0, 0)
    lease = api.arrays.write_array(array, 0, ffi.NULL, ffi.NULL, 0)
    numbers = ffi.cast("double*", api.arrays.lease_data(lease, 1))
    for i in range(6):
        numbers[i] = i
    assert api.arrays.fill_array(array, numbers, -1) == -1
    assert api.get_last_error() == ffi.typeof("enum MemArrayErrorCode").relements["MEMARRAY_LOCK_ERROR"]
    api.arrays.release_lease(lease)
    view = api.arrays.array_view(array)
    column = api.views.select_view(view, 1, 2)
    total = api.views.sum_view(column, 0, ffi.NULL)
    result = ffi.new("double*")
    assert api.views.read_element(total, result) == 0 and result[0] == 7
    for one in (view, column, total):
        api.views.release_view(one)
    api.arrays.release_array(array)


def test_numpy_shares_memory_of_cffi_view(ffi, api):
    view = api.views.create_view(b"int32", 1, [4])
    numbers = np.frombuffer(ffi.buffer(api.views.view_data(view, 1), 16), np.int32)
    assert api.views.fill_view(view, ffi.new("int32_t*", 7)) == 0
    assert numbers.tolist() == [7] * 4
    api.views.release_view(view)


def test_failed_cffi_call_raises_python_exception(ffi, api):
    # A cffi function releases the GIL, which this entry needs: only its address is used.
    raise_last_error = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(int(ffi.cast("intptr_t", api.raise_last_error)))
    assert api.arrays.create_array(b"wrong", 1, [1], 0, 0) == ffi.NULL
    with pytest.raises(memarray.UnsupportedTypeError, match="making it failed: memarray has no dtype 'wrong'"):
        raise_last_error(b"making it")
