"""An extension in C that knows memarray by its header and its table alone shares the core with Python's own objects."""

import ctypes
import gc
import subprocess
import sys
import threading
import weakref

import c_handles
import memarray
import pytest
from memarray.testing import simulated_devices

CAPSULE = b"memarray._core._C_API"
MAJOR, MINOR = 1, 1


class Head(ctypes.Structure):
    """The first members of every version of the table."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("size", ctypes.c_size_t)]


def python_api(name, result, *arguments):
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, list(arguments)
    return function


pointer_of = python_api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
capsule_of = python_api("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def table():
    return Head.from_address(pointer_of(memarray._core._C_API, CAPSULE))


def nothing_lives(sim):
    gc.collect()
    assert set(sim.live().values()) == {0}, sim.live_resources()
    assert sim.violations() == []


def test_extension_does_not_link_memarray():
    needed = subprocess.run(["readelf", "-d", c_handles.__file__], capture_output=True, text=True, check=True).stdout
    assert "NEEDED" in needed and "memarray" not in needed


def test_handles_are_made_and_dropped():
    with simulated_devices() as sim:
        stream = c_handles.make_stream(1)
        assert sim.live()["streams"] == 1 and sim.calls("cuStreamCreateWithPriority") == 1
        event = c_handles.record(stream)
        c_handles.synchronize(event)
        assert sim.calls("cuEventSynchronize") == 1
        del stream
        assert sim.live()["streams"] == 0 and sim.live()["events"] == 1
        del event
        nothing_lives(sim)


def test_streams_of_c_and_python_are_interchangeable():
    with simulated_devices() as sim:
        mine = c_handles.make_stream(0)
        event = memarray.Event()
        event.record(c_handles.address(mine))
        event.synchronize()
        theirs = memarray.Stream(1)
        adopted = c_handles.adopt_stream(theirs)
        assert c_handles.address(adopted) == theirs.handle
        del theirs
        gc.collect()
        assert sim.live()["streams"] == 2, "the adopted one keeps the object"
        c_handles.synchronize(c_handles.record(adopted))
        del mine, adopted, event
        nothing_lives(sim)


def test_owner_is_dropped_when_adopting_fails():
    class Broken:
        handle = 1 << 20

    with simulated_devices() as sim:
        owner = Broken()
        gone = weakref.ref(owner)
        sim.fail("cuStreamGetCtx", code=400)
        with pytest.raises(memarray.CudaError, match="adopting a stream in C failed") as caught:
            c_handles.adopt_stream(owner)
        assert caught.value.code == 400
        del owner, caught
        assert gone() is None
        sim.clear()
        nothing_lives(sim)


def test_owner_may_be_dropped_while_exception_is_pending(monkeypatch):
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: unraisable.append(args.exc_type))

    class Loud:
        def __init__(self, stream):
            self.handle = stream.handle

        def __del__(self):
            raise KeyError("at my end")

    with simulated_devices() as sim:
        stream = memarray.Stream()
        with pytest.raises(ValueError, match="while a stream was dropped"):
            c_handles.drop_while_failing(Loud(stream))
        assert unraisable == [KeyError]
        del stream
        nothing_lives(sim)


def test_errors_are_raised_as_python_exceptions():
    with simulated_devices(count=1) as sim:
        with pytest.raises(
            memarray.CudaError, match=r"making a stream in C failed: .*\(CUDA_ERROR_INVALID_DEVICE\)"
        ) as e:
            c_handles.make_stream(1)
        assert (e.value.code, e.value.name) == (101, "CUDA_ERROR_INVALID_DEVICE")
        sim.fail("cuStreamCreateWithPriority", code=2)
        with pytest.raises(memarray.OutOfMemoryError) as e:
            c_handles.make_stream(0)
        assert isinstance(e.value, MemoryError) and e.value.code == 2
        with pytest.raises(memarray.Error, match="this call failed, but no error is set"):
            c_handles.raise_last_error("this call")
        nothing_lives(sim)


def test_creating_stream_without_device_raises_cuda_error():
    if memarray.cuda.is_available():
        pytest.skip("this machine has a device")
    with pytest.raises(memarray.CudaError, match="driver"):
        c_handles.make_stream(0)


def test_last_error_is_shared_by_c_and_python():
    with simulated_devices() as sim:
        c_handles.fail()
        assert c_handles.peek_last_error() == 101
        # Python's objects raise and forget theirs, which is the same.
        sim.fail("cuStreamCreateWithPriority", code=719)
        with pytest.raises(memarray.CudaError):
            memarray.Stream()
        assert c_handles.peek_last_error() == 0
        c_handles.fail()
        seen = []
        thread = threading.Thread(target=lambda: seen.append(c_handles.peek_last_error()))
        thread.start()
        thread.join()
        assert seen == [0], "each thread has its own"
        with pytest.raises(memarray.CudaError, match="left behind"):
            c_handles.raise_last_error("what was left behind")


def test_threads_create_and_drop_handles_concurrently():
    failed = []

    def work(device):
        try:
            c_handles.churn(device, 40)
        except memarray.CudaError as error:
            failed.append(error)

    with simulated_devices() as sim:
        threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert sim.calls("cuStreamCreateWithPriority") == 8 * 40
        with pytest.raises(memarray.CudaError, match="churning in C"):
            c_handles.churn(9, 1)
        nothing_lives(sim)


def test_table_reports_its_version():
    assert (table().major, table().minor) == (MAJOR, MINOR)
    c_handles.import_again()


def fake(major=0, minor=0, size=0):
    """A table that differs from the true one by so much."""
    true = table()
    head = Head(true.major + major, true.minor + minor, true.size + size)
    return head, capsule_of(ctypes.addressof(head), CAPSULE, None)


UPDATE = r"built for version 1\.1 of memarray's C API.*installed here has {}.*: update memarray"


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        ({"major": 1}, r"built for version 1 of memarray's C API.*has version 2: rebuild this extension"),
        ({"major": 1, "size": -8}, "rebuild this extension"),
        ({"major": -1, "minor": 7}, UPDATE.format(r"0\.8")),
        ({"major": -1, "size": 800}, UPDATE.format(r"0\.1")),
        ({"minor": -1}, UPDATE.format(r"1\.0")),
        ({"size": -8}, UPDATE.format(r"1\.1")),
    ],
)
def test_incompatible_table_is_refused(monkeypatch, difference, words):
    kept, capsule = fake(**difference)
    monkeypatch.setattr(memarray._core, "_C_API", capsule)
    with pytest.raises(ImportError, match=words):
        c_handles.import_again()
    monkeypatch.undo()
    c_handles.import_again()
    assert kept.size, "the table was there all the time"


@pytest.mark.parametrize("there", [None, capsule_of(8, b"another.name", None), 5])
def test_a_memarray_without_a_table_is_refused(monkeypatch, there):
    if there is None:
        monkeypatch.delattr(memarray._core, "_C_API")
    else:
        monkeypatch.setattr(memarray._core, "_C_API", there)
    with pytest.raises(ImportError, match="the memarray installed here has no C API: update memarray"):
        c_handles.import_again()


IMPORT_REFUSED = """
import ctypes, memarray
head = (ctypes.c_uint32 * 4)(2, 0, 4096, 0)
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
memarray._core._C_API = new(ctypes.addressof(head), b"memarray._core._C_API", None)
try:
    import c_handles
except ImportError as error:
    print("refused:", error)
"""
OWNED_UNTIL_EXIT = """
import c_handles, memarray
from memarray.testing import simulated_devices
class Theirs:
    def __init__(self): self.stream = memarray.Stream()
    handle = property(lambda self: self.stream.handle)
    def __del__(self): print("dropped")
with simulated_devices():
    c_handles.{use}(c_handles.adopt_stream(Theirs()))
print("ends")
"""


WITHOUT_MEMARRAY = """
import sys
sys.modules["memarray"] = None
try:
    import c_handles
except ModuleNotFoundError as error:
    print("refused:", error)
"""


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)


def test_import_of_incompatible_extension_is_refused():
    done = run(IMPORT_REFUSED)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused: this extension was built for version 1")


def test_import_without_memarray_names_memarray():
    assert "memarray" in run(WITHOUT_MEMARRAY).stdout


@pytest.mark.parametrize(("use", "printed"), [("address", "dropped\nends\n"), ("keep_until_exit", "ends\n")])
def test_owner_alive_at_interpreter_exit_is_not_dropped(use, printed):
    done = run(OWNED_UNTIL_EXIT.format(use=use))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == printed
