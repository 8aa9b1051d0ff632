"""The table in `memarray._core._C_API`, read by ctypes from the header alone, and its binary compatibility."""

import ctypes
import hashlib
import re
from pathlib import Path

import memarray
import numpy as np
import pytest
from c_api_headers import PARTS, body_of, declarations, header

pytestmark = pytest.mark.sanitize

CAPSULE = b"memarray._core._C_API"
#: Version -> (number of entries, digest of their declarations). A released version never changes: new functions are
#: appended, under the next minor number.
VERSIONS = {(1, 0): (65, "cd2ef6a0174ba7bb"), (1, 1): (70, "52634d9b12cc74a3")}
#: Version -> (number of entries, digest), for each struct that an entry points at.
VERSIONS_OF_PARTS = {
    "arrays": {(1, 1): (27, "9198034076e7546a")},
    "views": {(1, 1): (30, "d5fb316bcbf1d54c")},
}

TYPES = {
    "void": None,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "size_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64,
    "intptr_t": ctypes.c_ssize_t,
    "char const*": ctypes.c_char_p,
    "char*": ctypes.c_char_p,
    "int64_t": ctypes.c_int64,
    "double": ctypes.c_double,
    "MemArrayDevice": type(
        "Device", (ctypes.Structure,), {"_fields_": [("type", ctypes.c_int32), ("id", ctypes.c_int32)]}
    ),
    "MemArrayDrop": ctypes.CFUNCTYPE(None, ctypes.c_void_p),
}


def ctype(word):
    return TYPES.get(word, ctypes.c_void_p)


def structure(entries, head):
    fields = [*head, ("size", ctypes.c_size_t)]
    for result, name, parameters in entries:
        if result == "part":
            file, struct = PARTS[name]
            fields.append((name, ctypes.POINTER(structure(declarations(header(file), struct), []))))
        else:
            fields.append((name, ctypes.CFUNCTYPE(ctype(result), *map(ctype, parameters))))
    return type("API", (ctypes.Structure,), {"_fields_": fields})


def with_the_gil(function):
    """Returns an entry that takes or returns Python objects, as a function that keeps the GIL."""
    kept = ctypes.PYFUNCTYPE(function.restype, *function.argtypes)
    return kept(ctypes.cast(function, ctypes.c_void_p).value)


def pointer():
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(memarray._core._C_API, CAPSULE)


@pytest.fixture(scope="module")
def entries():
    return declarations(header())


@pytest.fixture(scope="module")
def api(entries):
    return structure(entries, [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]).from_address(pointer())


def digest(entries):
    return hashlib.sha256(repr(entries).encode()).hexdigest()[:16]


def changed(entries, version, versions=VERSIONS):
    """Returns the errors in the entries of this version, as messages."""
    problems = []
    for (major, minor), (count, known) in versions.items():
        if major == version[0] and digest(entries[:count]) != known:
            problems.append(f"the {count} entries of {major}.{minor} are not what they were: {digest(entries[:count])}")
    if version not in versions:
        problems.append(f"{version} is not among the known versions")
    elif versions[version][0] != len(entries):
        problems.append(f"{len(entries)} entries, but {version} has {versions[version][0]}: raise the minor number")
    return problems


def version_in(text):
    return tuple(int(re.search(rf"define MEMARRAY_C_API_{part} (\d+)", text)[1]) for part in ("MAJOR", "MINOR"))


def test_c_table_entries_are_only_appended(entries):
    assert changed(entries, version_in(header())) == []
    parts = {name for result, name, _ in entries if result == "part"}
    assert parts == set(PARTS)
    for name, (file, struct) in PARTS.items():
        assert changed(declarations(header(file), struct), version_in(header()), VERSIONS_OF_PARTS[name]) == []


def test_changed_c_table_entries_are_detected(entries):
    result, name, parameters = entries[3]
    for other in (
        entries[1:],
        [*entries[:3], ("void", name, parameters), *entries[4:]],
        [*entries[:3], (result, name, (*parameters, "int")), *entries[4:]],
        [entries[1], entries[0], *entries[2:]],
        [*entries, ("int", "one_more", ())],
    ):
        assert len(changed(other, (1, 1))) >= 1
    assert len(changed(entries, (1, 2))) == 1


def test_c_table_matches_its_header(api, entries):
    assert (api.major, api.minor) == version_in(header())
    assert api.size == ctypes.sizeof(api)
    assert api.version().decode() == memarray.__version__
    assert len({name for _, name, _ in entries}) == len(entries)
    for part in (api.arrays.contents, api.views.contents):
        assert part.size == ctypes.sizeof(part)


def test_library_and_module_export_the_same_c_table():
    library = ctypes.CDLL(str(Path(memarray._core.__file__).parent / "lib" / "libmemarray.so"))
    library.memarray_c_api.restype = ctypes.c_void_p
    assert library.memarray_c_api() == pointer()


def undocumented(text, struct):
    """Returns the entries without a comment of their own, which the reference needs."""
    lines = [line.strip() for line in body_of(text, struct).split("\n")]
    names = [name for _, name, _ in declarations(text, struct)]
    starts = {name: i for name in names for i, line in enumerate(lines) if re.search(rf"\(\*{name}\)|\* {name};", line)}
    return [name for name in names if not lines[starts[name] - 1].startswith("///")]


TABLES = [("c_api.h", "MemArrayAPI"), *PARTS.values()]


@pytest.mark.parametrize(("file", "struct"), TABLES)
def test_every_entry_is_documented(file, struct):
    assert undocumented(header(file), struct) == []


@pytest.mark.parametrize(("file", "struct"), TABLES)
def test_undocumented_entry_is_detected(file, struct):
    text = header(file)
    for _, name, _ in declarations(text, struct):
        bare = re.sub(rf"(  ///[^\n]*\n)+(?=[^\n]*(\(\*{name}\)|\* {name};))", "\n", text)
        assert undocumented(bare, struct) == [name]


@pytest.mark.parametrize("file", ["c_api.h", "py_resource.h"])
def test_every_public_inline_function_is_documented(file):
    lines = header(file).split("\n")
    starts = [i for i, line in enumerate(lines) if re.match(r"static inline [\w *]+\(", line)]
    public = [i for i in starts if not re.search(r"\w_\(", lines[i])]
    assert len(public) >= (1 if file == "c_api.h" else 9)
    assert [lines[i] for i in public if not lines[i - 1].startswith("///")] == []


def test_ctypes_creates_and_releases_stream_handles(api, simulated_devices):
    assert (api.device_count(), api.is_simulated()) == (2, 1)
    context = api.get_primary_context(1)
    stream = api.create_stream(context, 1, 0)
    api.release_context(context)
    event = memarray.Event(1)
    event.record(api.stream_as_intptr(stream))
    assert simulated_devices.live()["streams"] == 1
    api.release_stream(stream)
    assert simulated_devices.live()["streams"] == 0


def test_ctypes_reads_last_error_and_its_description(api, simulated_devices):
    api.clear_last_error()
    assert api.get_primary_context(2) is None
    assert (api.peek_last_error(), api.get_last_error(), api.get_last_error()) == (101, 101, 0)
    words = ctypes.create_string_buffer(100)
    assert api.describe_error(101, b"looking", words, 100) == len(words.value)
    assert words.value.startswith(b"looking failed: ") and b"INVALID_DEVICE" in words.value


def test_handle_owner_callback_runs_after_last_release(api, simulated_devices):
    dropped = []
    drop = TYPES["MemArrayDrop"](dropped.append)
    pointer = api.create_device_ptr_with_owner(64, 7, drop)
    assert api.device_ptr_as_intptr(api.retain_device_ptr(pointer)) == 64
    api.release_device_ptr(pointer)
    assert dropped == []
    api.release_device_ptr(pointer)
    assert dropped == [7]


def test_ctypes_write_lease_changes_python_array(api):
    arrays = api.arrays.contents
    a = memarray.MemArray([2, 3], float)
    array = with_the_gil(arrays.array_from_object)(id(a))
    lease = arrays.write_array(array, 0.0, None, None, 0)
    numbers = (ctypes.c_double * 6).from_address(arrays.lease_data(lease, 1))
    numbers[4] = 5.0
    with pytest.raises(memarray.LockError):
        a.fill(0)
    assert arrays.read_array(array, 0.0, None, None) is None
    assert api.get_last_error() == -2
    arrays.release_lease(lease)
    shown = with_the_gil(arrays.array_to_object)(array)
    other = ctypes.cast(shown, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(other))
    arrays.release_array(array)
    assert other.shape == (2, 3) and other.view()[1, 1] == 5
    with pytest.raises(TypeError, match=r"a memarray\.MemArray is needed, not 'text'"):
        with_the_gil(arrays.array_from_object)(id("text"))


def test_ctypes_computes_on_numpy_memory(api):
    views = api.views.contents
    numbers = np.arange(12, dtype=np.int32).reshape(3, 4)
    view = with_the_gil(views.view_from_object)(id(numbers))
    part = views.slice_view(view, 1, 3, -(2**63), -2)
    result = views.sum_view(part, 1, ctypes.byref(ctypes.c_int(0)))
    shown = ctypes.cast(with_the_gil(views.view_to_object)(result), ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(shown))
    assert np.asarray(shown).tolist() == numbers[:, 3::-2].sum(axis=0).tolist()
    views.fill_view(part, ctypes.byref(ctypes.c_int(-1)))
    assert numbers[:, [1, 3]].tolist() == [[-1, -1]] * 3
    for one in (view, part, result):
        views.release_view(one)
    with pytest.raises(TypeError, match="got 5"):
        with_the_gil(views.view_from_object)(id(5))


CODES = {
    -1: memarray.Error,
    -2: memarray.LockError,
    -3: memarray.UnsupportedTypeError,
    -4: ValueError,
    -5: TypeError,
    -6: BufferError,
    -7: IndexError,
    -8: OverflowError,
}


def test_every_error_code_raises_its_exception(api):
    raise_last_error = with_the_gil(api.raise_last_error)
    seen = set()

    def fails(part, name, *arguments):
        assert getattr(part, name)(*arguments) in (None, -1)
        code = api.peek_last_error()
        seen.add(code)
        with pytest.raises(CODES[code], match=r"trying failed: \w.*"):
            raise_last_error(b"trying")
        assert api.peek_last_error() == 0

    arrays, views = api.arrays.contents, api.views.contents
    shape = (ctypes.c_int64 * 2)(2, 3)
    array = arrays.create_array(b"float32", 2, shape, 0, 0)
    lease = arrays.read_array(array, 0.0, None, None)
    view = arrays.lease_view(lease)
    fails(arrays, "fill_array", array, ctypes.byref(ctypes.c_float(1)), -1)
    fails(arrays, "create_array", b"float", 2, shape, 0, 0)
    fails(arrays, "create_array", b"int8", 0, shape, 0, 0)
    fails(arrays, "create_array", b"int8", 2, (ctypes.c_int64 * 2)(2**62, 2**62), 0, 0)
    fails(arrays, "lease_data", lease, 1)
    fails(views, "cast_view", view, b"int8")
    fails(views, "select_view", view, 0, 2)
    arrays.release_lease(lease)
    arrays.release_array(array)
    views.release_view(view)
    assert seen == {-2, -3, -4, -5, -6, -7, -8}


def test_raise_last_error_raises_cuda_error(api, simulated_devices):
    raise_last_error = with_the_gil(api.raise_last_error)
    api.get_primary_context(2)
    with pytest.raises(memarray.CudaError, match="looking failed") as caught:
        raise_last_error(b"looking")
    assert (caught.value.code, caught.value.name) == (101, "CUDA_ERROR_INVALID_DEVICE")
    with pytest.raises(memarray.Error, match="no error is set"):
        raise_last_error(None)
