"""Pointers of C++ code into Python's objects, by ``<memarray/interop/py_resource.h>``."""

import ctypes
import gc
import importlib.util
import os
import subprocess
import sys
import threading
import weakref

import memarray
import numpy as np
import pytest

if importlib.util.find_spec("py_resources") is None and "site-packages" in memarray.__file__:
    pytest.skip("built with the C++ tests alone", allow_module_level=True)
from py_resources import Held

pytestmark = pytest.mark.sanitize


def capsule(name):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(1, name, None)


class Text(str):
    __slots__ = ("__weakref__",)


class Bytes(bytes):
    pass


class ByteArray(bytearray):
    pass


def fresh_function():
    return eval("lambda: 0")


@pytest.fixture
def array():
    a = memarray.MemArray([4], float)
    a.read_numpy_array(np.arange(4.0))
    return a


@pytest.fixture
def traced():
    memarray.options.trace_resources = True
    yield memarray._core.open_resources
    memarray.options.trace_resources = False
    assert memarray._core.open_resources() == []


KINDS = {
    "bytes": (lambda: Bytes(b"some bytes"), b"some bytes"),
    "bytearray": (lambda: ByteArray(b"some bytes"), b"some bytes"),
    "utf8": (lambda: Text("Größe 1"), "Größe 1".encode()),
    "utf8_and_size": (lambda: Text("Größe 2"), "Größe 2".encode()),
}


@pytest.mark.parametrize("close", ["close", "close_elsewhere", "close_struct", "collected"])
@pytest.mark.parametrize("kind", KINDS)
def test_object_stays_alive_until_resource_is_closed(kind, close):
    make, expected = KINDS[kind]
    thing = make()
    gone = weakref.ref(thing) if kind != "bytes" else None
    references = sys.getrefcount(thing)
    held = Held(kind, thing)
    if kind == "bytes":  # bytes have no weak references
        assert sys.getrefcount(thing) == references + 1
    else:
        del thing
        gc.collect()
        assert gone() is not None
    held.move()
    assert held.is_open and held.text() == expected
    if close == "collected":
        del held
    else:
        getattr(held, close)()
        assert not held.is_open
        held.close()
    if kind == "bytes":
        assert sys.getrefcount(thing) == references
    else:
        assert gone() is None


def test_capsule_is_kept_alive_and_its_name_may_be_null():
    name = ctypes.create_string_buffer(b"its name")
    thing = capsule(name)
    references = sys.getrefcount(thing)
    held = Held("capsule", thing)
    assert sys.getrefcount(thing) == references + 1
    assert held.text() == b"its name"
    held.close()
    assert sys.getrefcount(thing) == references
    with pytest.raises(StopIteration):
        Held("capsule", capsule(None))


def test_held_bytearray_cannot_be_resized():
    thing = bytearray(b"x" * 100)
    held = Held("bytearray", thing)
    with pytest.raises(BufferError):
        thing.extend(b"y" * 100000)
    thing[:1] = b"z"
    assert held.text() == b"z" + b"x" * 99
    held.close()
    thing.extend(b"y" * 100000)
    assert Held("bytearray", bytearray()).text() == b""


@pytest.mark.parametrize("of", ["function", "method", "builtin", "object"])
def test_held_function_name_survives_renaming(of):
    class Owner:
        def method(self):
            pass

    function = fresh_function()
    function.__name__ = "".join(["first", "name"])
    thing = {"function": function, "method": Owner().method, "builtin": len, "object": Owner()}[of]
    expected = {"function": b"firstname", "method": b"method", "builtin": b"len", "object": b"Owner"}[of]
    held = Held("function", thing)
    function.__name__ = Owner.method.__name__ = Owner.__name__ = "".join(["an", "other"])
    del function, thing, Owner
    gc.collect()
    assert held.text() == expected


@pytest.mark.parametrize(
    ("kind", "wrong", "error"),
    [
        ("bytes", "text", TypeError),
        ("bytearray", b"bytes", TypeError),
        ("capsule", 5, ValueError),
        ("utf8", b"bytes", TypeError),
        ("utf8", "\ud800", UnicodeEncodeError),
        ("utf8_and_size", 5, TypeError),
        ("array", np.zeros(3), TypeError),
        ("array", None, TypeError),
        ("view", np.zeros(3), TypeError),
    ],
)
def test_failed_open_leaks_no_reference(kind, wrong, error):
    references = sys.getrefcount(wrong)
    with pytest.raises(error):
        Held(kind, wrong)
    gc.collect()
    assert sys.getrefcount(wrong) == references


def test_function_name_that_cannot_be_encoded_is_refused():
    function = fresh_function()
    function.__name__ = "\ud800"
    with pytest.raises(UnicodeEncodeError):
        Held("function", function)


def test_close_keeps_pending_exception():
    seen = []
    text = Text("kept")
    weakref.finalize(text, seen.append, "collected")
    held = Held("utf8", text)
    del text
    with pytest.raises(KeyError, match="while it was closed"):
        held.close_while_failing()
    assert seen == ["collected"]


def test_threads_may_close_resources_of_other_threads():
    things = [Text(f"text {i}") for i in range(64)]
    gone = [weakref.ref(thing) for thing in things]
    held = [Held("utf8", thing) for thing in things]
    del things
    threads = [threading.Thread(target=held[i].close_elsewhere if i % 2 else held[i].close) for i in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert [one() for one in gone] == [None] * 64


@pytest.mark.parametrize("close", ["close", "close_elsewhere", "close_struct"])
def test_writable_array_pointer_holds_write_lease(array, close):
    held = Held("array", array, writable=True)
    held.set_number(2, 20.0)
    for refused in (array.read, array.write):
        with pytest.raises(memarray.LockError), refused():
            pass
    with pytest.raises(memarray.LockError):
        array.fill(0)
    with pytest.raises(memarray.LockError):
        Held("array", array)
    assert array.lock_id >= 0
    getattr(held, close)()
    assert array.lock_id == -1
    assert np.asarray(array).tolist() == [0, 1, 20, 3]


def test_read_only_array_pointer_holds_read_lease(array):
    held = Held("array", array)
    with array.read() as lease:
        assert np.asarray(lease)[1] == held.number(1) == 1
    with pytest.raises(memarray.LockError):
        Held("array", array, writable=True)
    with pytest.raises(memarray.LockError), array.write():
        pass
    held.close()
    with array.write(), pytest.raises(memarray.LockError):
        Held("array", array)


def test_pointer_keeps_memory_of_deleted_array(array):
    held = Held("array", array)
    del array
    gc.collect()
    assert held.number(3) == 3
    empty = memarray.MemArray([0, 3], float)
    assert Held("array", empty).is_open


def test_a_pointer_to_a_view_is_an_export(array):
    with array.write() as lease:
        held = Held("view", lease.view(), writable=True)
        held.set_number(0, 5.0)
    array.fill(1)
    assert held.number(0) == 5 and np.asarray(array).tolist() == [1] * 4
    numbers = np.arange(6.0)
    references = sys.getrefcount(numbers)
    held = Held("view", memarray.BufferView(numbers), writable=True)
    assert sys.getrefcount(numbers) > references
    held.set_number(5, -1)
    held.close_elsewhere()
    assert numbers[5] == -1 and sys.getrefcount(numbers) == references


def test_pointer_to_unsuitable_view_is_refused(array):
    view = memarray.BufferView(np.arange(12.0).reshape(3, 4))
    with pytest.raises(BufferError, match=r"not dense in C order.*ensure_contiguous"):
        Held("view", view.transpose())
    assert Held("view", view[1]).number(0) == 4
    with pytest.raises(BufferError, match="read-only"):
        Held("view", array.view(), writable=True)
    view.close()
    with pytest.raises(ValueError, match="closed"):
        Held("view", view)


def test_memory_on_a_device_is_refused(simulated_devices):
    array = memarray.MemArray([4], float)
    array.move_memory(memarray.dlpack.kDLCUDA, device_id=0)
    copies = memarray.stats()["to_host_bytes"]
    with pytest.raises(BufferError, match="on cuda:0, where the host does not reach: move it with move_memory"):
        Held("array", array, writable=True)
    with pytest.raises(BufferError, match="on cuda:0, where the host does not reach"):
        Held("view", array.view())
    array.move_memory(memarray.dlpack.kDLCPU, async_copy=False)
    assert memarray.stats()["to_host_bytes"] == copies, "the host's side was not made stale"


def test_open_resources_are_traced(traced, array):
    first, second = Held("utf8", "text"), Held("array", array)
    words = traced()
    assert [word.split(",")[0] for word in words] == ["PyUnicode_AsUTF8Res", "MemArray_AsPointerRes"]
    assert all("test_py_resource.py:" in word and "(test_open_resources_are_traced)" in word for word in words)
    first.close_elsewhere()
    assert traced() == words[1:]
    memarray.options.trace_resources = False
    assert Held("utf8", "more").is_open
    second.close_struct()
    assert traced() == []


PROGRAM = """
import memarray, numpy as np
from py_resources import Held
memarray.options.trace_resources = {trace}
class Text(str):
    def __del__(self): print("dropped")
a = memarray.MemArray([3], float)
closed = Held("utf8", "closed")
held = Held("utf8", Text("text")), Held("array", a, writable=True)
for one in held:
    one.{use}()
closed.close()
print("ends")
"""


def run(trace, use):
    # The program leaks on purpose.
    env = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    program = PROGRAM.format(trace=trace, use=use)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=env)


def test_unclosed_resources_are_reported_at_exit():
    done = run(True, "lose")
    assert (done.returncode, done.stdout) == (0, "ends\n")
    lines = done.stderr.splitlines()
    assert lines[0] == "memarray: 2 resources were never closed:"
    assert lines[1] == "  PyUnicode_AsUTF8Res, opened at <string>:9 (<module>)"
    assert lines[2] == "  MemArray_AsPointerRes, opened at <string>:9 (<module>)"
    assert len(lines) == 3


@pytest.mark.parametrize(("trace", "use"), [(False, "lose"), (True, "close"), (True, "close_elsewhere")])
def test_exit_is_silent_without_trace_or_unclosed_resources(trace, use):
    done = run(trace, use)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("ends\n" if use == "lose" else "dropped\nends\n")


def test_resource_may_be_closed_after_interpreter_exit():
    done = run(True, "close_at_exit")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")
