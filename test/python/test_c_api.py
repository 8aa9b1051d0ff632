"""The table in `memarray._core._C_API`, read by ctypes with nothing but the header, and what must not change in it."""

import ctypes
import hashlib
import re
import subprocess
import sys
from pathlib import Path

import memarray
import pytest

pytestmark = pytest.mark.sanitize

CAPSULE = b"memarray._core._C_API"
#: For each version, how many entries it ended with, and the digest of their declarations. A version that was released
#: stays as it is here: functions are added at the end, with the next minor number.
VERSIONS = {(1, 0): (65, "cd2ef6a0174ba7bb"), (1, 1): (68, "a23233019e188e27")}

TYPES = {
    "void": None,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "size_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64,
    "intptr_t": ctypes.c_ssize_t,
    "char const*": ctypes.c_char_p,
    "char*": ctypes.c_char_p,
    "MemArrayDrop": ctypes.CFUNCTYPE(None, ctypes.c_void_p),
}
ENTRY = re.compile(r"(?P<result>[\w ]+?\**)\s*\(\*(?P<name>\w+)\)\((?P<parameters>[^)]*)\);")


def header():
    command = [sys.executable, "-m", "memarray", "--includedir"]
    folder = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return (Path(folder) / "memarray" / "interop" / "c_api.h").read_text()


def declarations(text):
    """Each entry of the table, as (result, name, types of the parameters)."""
    body = re.search(r"typedef struct MemArrayAPI \{(.*?)\n\} MemArrayAPI;", text, re.DOTALL)[1]
    body = re.sub(r"//[^\n]*|\b__memarray_(?:give|take|keep)\b", "", body)
    found = []
    for entry in ENTRY.finditer(body.split("size_t size;")[1]):
        parameters = [] if entry["parameters"] == "void" else entry["parameters"].split(",")
        types = [re.sub(r"\s*\b\w+$", "", " ".join(parameter.split())) for parameter in parameters]
        found.append((entry["result"].strip(), entry["name"], tuple(types)))
    return found


def ctype(word):
    return TYPES.get(word, ctypes.c_void_p)


def structure(entries):
    fields = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("size", ctypes.c_size_t)]
    for result, name, parameters in entries:
        fields.append((name, ctypes.CFUNCTYPE(ctype(result), *map(ctype, parameters))))
    return type("API", (ctypes.Structure,), {"_fields_": fields})


def pointer():
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(memarray._core._C_API, CAPSULE)


@pytest.fixture(scope="module")
def entries():
    return declarations(header())


@pytest.fixture(scope="module")
def api(entries):
    return structure(entries).from_address(pointer())


def digest(entries):
    return hashlib.sha256(repr(entries).encode()).hexdigest()[:16]


def changed(entries, version):
    """What is wrong with the entries of this version, in words; empty if nothing is."""
    problems = []
    for (major, minor), (count, known) in VERSIONS.items():
        if major == version[0] and digest(entries[:count]) != known:
            problems.append(f"the {count} entries of {major}.{minor} are not what they were: {digest(entries[:count])}")
    if version not in VERSIONS:
        problems.append(f"{version} is not in VERSIONS")
    elif VERSIONS[version][0] != len(entries):
        problems.append(f"{len(entries)} entries, but {version} has {VERSIONS[version][0]}: raise the minor number")
    return problems


def version_in(text):
    return tuple(int(re.search(rf"define MEMARRAY_C_API_{part} (\d+)", text)[1]) for part in ("MAJOR", "MINOR"))


def test_entries_are_added_at_the_end_and_never_changed(entries):
    assert changed(entries, version_in(header())) == []


def test_a_change_would_be_noticed(entries):
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


def test_the_table_is_what_the_header_says(api, entries):
    assert (api.major, api.minor) == version_in(header())
    assert api.size == ctypes.sizeof(api)
    assert api.version().decode() == memarray.__version__
    assert len({name for _, name, _ in entries}) == len(entries)


def test_the_table_of_the_library_is_the_same():
    library = ctypes.CDLL(str(Path(memarray._core.__file__).parent / "lib" / "libmemarray.so"))
    library.memarray_c_api.restype = ctypes.c_void_p
    assert library.memarray_c_api() == pointer()


def test_every_function_is_documented():
    lines = [line.strip() for line in header().split("typedef struct MemArrayAPI {")[1].split("\n")]
    starts = [i for i, line in enumerate(lines) if "(*" in line]
    bare = [
        lines[i]
        for i in starts
        if not lines[i - 1].startswith("///") and not re.search(r"\(\*(retain_|release_|\w+_as_intptr)", lines[i])
    ]
    assert len(starts) >= 60
    assert bare == []


def test_ctypes_makes_and_drops_handles(api, simulated_devices):
    assert (api.device_count(), api.is_simulated()) == (2, 1)
    context = api.get_primary_context(1)
    stream = api.create_stream(context, 1, 0)
    api.release_context(context)
    event = memarray.Event(1)
    event.record(api.stream_as_intptr(stream))
    assert simulated_devices.live()["streams"] == 1
    api.release_stream(stream)
    assert simulated_devices.live()["streams"] == 0


def test_ctypes_sees_the_last_error_that_all_share(api, simulated_devices):
    api.clear_last_error()
    assert api.get_primary_context(2) is None
    assert (api.peek_last_error(), api.get_last_error(), api.get_last_error()) == (101, 101, 0)
    words = ctypes.create_string_buffer(100)
    assert api.describe_error(101, b"looking", words, 100) == len(words.value)
    assert words.value.startswith(b"looking failed: ") and b"INVALID_DEVICE" in words.value


def test_ctypes_may_own_what_a_handle_needs(api, simulated_devices):
    dropped = []
    drop = TYPES["MemArrayDrop"](dropped.append)
    pointer = api.create_device_ptr_with_owner(64, 7, drop)
    assert api.device_ptr_as_intptr(api.retain_device_ptr(pointer)) == 64
    api.release_device_ptr(pointer)
    assert dropped == []
    api.release_device_ptr(pointer)
    assert dropped == [7]


def test_the_exception_is_pythons(api, simulated_devices):
    # With the GIL, which ctypes.PyDLL's functions keep.
    raise_last_error = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(
        ctypes.cast(api.raise_last_error, ctypes.c_void_p).value
    )
    api.get_primary_context(2)
    with pytest.raises(memarray.CudaError, match="looking failed") as caught:
        raise_last_error(b"looking")
    assert (caught.value.code, caught.value.name) == (101, "CUDA_ERROR_INVALID_DEVICE")
    with pytest.raises(memarray.Error, match="no error is left"):
        raise_last_error(None)
