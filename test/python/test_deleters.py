"""Deleters run anywhere: on threads that Python does not know, without the GIL, and after the interpreter."""

import ctypes
import gc
import threading
import time

import memarray
import numpy as np
import pytest
from dlpack_producer import Producer
from dlpack_structs import Taken
from dtype_values import assert_same_values
from support import filled, look, run_python
from test_capsules import VERSIONS, live


class Pthread:
    """Calls a deleter as a thread's start routine, on a thread that Python does not know."""

    # PyDLL holds the GIL during the call: a deleter that waited for the GIL would never return.
    library = ctypes.PyDLL(None)

    @classmethod
    def drop(cls, taken, library=library):
        taken.dropped = True
        thread = ctypes.c_ulong()
        created = library.pthread_create(
            ctypes.byref(thread), None, ctypes.c_void_p(taken.deleter), ctypes.c_void_p(taken.address)
        )
        assert created == 0
        assert library.pthread_join(thread, None) == 0


@pytest.mark.trap("P04")
@pytest.mark.threads
@pytest.mark.sanitize
@VERSIONS
def test_deleters_run_on_foreign_threads_without_the_gil(version):
    array, values = filled((1000,))
    start = live()
    with array.write() as lease:
        tensors = [Taken(lease.__dlpack__(max_version=version)) for _ in range(50)]
    del lease
    for taken in tensors[:-1]:
        Pthread.drop(taken)
    assert_same_values(look(array), values)
    # The last tensor owns the block and frees it on its thread.
    assert live() == start + 1
    Pthread.drop(tensors[-1])
    assert live() == start


@pytest.mark.trap("P04")
@pytest.mark.threads
@pytest.mark.sanitize
@pytest.mark.parametrize("owner", ["capsule", "numpy", "adopted"])
def test_reexports_dropped_on_foreign_threads_release_the_owner(owner):
    """The foreign deleter may need the GIL, which the thread does not have."""
    ends = []
    if owner == "capsule":
        producer = Producer(on_delete=lambda: ends.append(threading.get_ident()))
        view = memarray.from_dlpack(producer.capsule())
    else:
        x = Ending(np.arange(6, dtype="int32").reshape(2, 3), ends)
        view = memarray.BufferView(x) if owner == "numpy" else memarray.MemArray.from_dlpack(x).view()
        del x
    tensors = [Taken(part.__dlpack__(max_version=(1, 0))) for part in (view, view[:, 1:], view.T)]
    del view
    gc.collect()
    for taken in tensors:
        assert not ends
        # CDLL releases the GIL while it waits.
        Pthread.drop(taken, ctypes.CDLL(None))
    for _ in range(1000):  # work that the thread could not do is done by a later call that can
        if ends:
            break
        memarray.stats()
        time.sleep(0.01)
    assert len(ends) == 1
    del tensors, taken


class Ending(np.ndarray):
    """An array that records its destruction."""

    def __new__(cls, values, ends):
        made = values.view(cls)
        made.ends = ends
        return made

    def __array_finalize__(self, _):
        self.ends = None

    def __del__(self):
        if self.ends is not None:
            self.ends.append(1)


@pytest.mark.trap("P04")
@pytest.mark.sanitize
@VERSIONS
def test_deleters_run_after_interpreter_finalization(version):
    """Calls deleters through __cxa_atexit, after Python's finalization: exit() prints the memory, then frees it."""
    finished = run_python(
        """
        import ctypes, os, sys
        sys.path.insert(0, sys.argv[1])
        import memarray
        from dlpack_structs import Taken
        array = memarray.MemArray([16], "uint8")
        with array.write() as lease:
            memoryview(lease).cast("B")[:] = b"still here" + bytes(6)
            taken = Taken(lease.__dlpack__(max_version=eval(sys.argv[2])))
        libc = ctypes.CDLL(None)
        register = lambda f, x: libc.__cxa_atexit(ctypes.c_void_p(f), ctypes.c_void_p(x), None)
        # Python registered nothing later, so these run last-in, first-out after Py_Finalize.
        assert register(taken.deleter, taken.address) == 0
        assert register(ctypes.cast(libc.puts, ctypes.c_void_p).value, taken.managed.tensor.data) == 0
        """,
        __file__.rsplit("/", 1)[0],
        version,
    )
    assert finished.stdout == "still here\n"
    assert finished.stderr == ""


@pytest.mark.trap("P04")
@pytest.mark.parametrize("make", ["BufferView(x)", "BufferView(memoryview(x))", "MemArray.from_dlpack(x).view()"])
def test_foreign_memory_stays_valid_after_interpreter_finalization(make):
    """The owner cannot be released after finalization and leaks: the exported memory stays unchanged."""
    finished = run_python(
        """
        import ctypes, sys
        sys.path.insert(0, sys.argv[1])
        import memarray
        import numpy as np
        from dlpack_structs import Taken
        from memarray import BufferView, MemArray
        x = np.frombuffer(bytearray(b"still here" + bytes(6)), "uint8")
        view = eval(sys.argv[2])
        taken, again = (Taken(view.__dlpack__(max_version=(1, 0))) for _ in range(2))
        address = taken.managed.tensor.data
        del view, x
        libc = ctypes.CDLL(None)
        register = lambda f, x: libc.__cxa_atexit(ctypes.c_void_p(f), ctypes.c_void_p(x), None)
        # The last is called first: one is dropped, the memory printed, the other dropped.
        assert register(again.deleter, again.address) == 0
        assert register(ctypes.cast(libc.puts, ctypes.c_void_p).value, address) == 0
        assert register(taken.deleter, taken.address) == 0
        """,
        __file__.rsplit("/", 1)[0],
        make,
    )
    assert finished.stdout == "still here\n"
    assert finished.stderr == ""
