"""The end of a process with open leases, views and other objects."""

import pytest
from support import run_python

ENDINGS = {
    "an open read lease": "lease = a.read(); lease.__enter__()",
    "an open write lease": "lease = a.write(); lease.__enter__()",
    "an open lease in a cycle": "x = {'lease': a.write()}; x['x'] = x; x['lease'].__enter__()",
    "open leases of several": "all = memarray.leases(a.read(), b.write()); all.__enter__()",
    "an escaped view": "view = np.from_dlpack(a)",
    "a kept writable view": "l = a.write(); l.__enter__(); view = np.from_dlpack(l); l.close()",
    "a kept memoryview": "l = a.read(); l.__enter__(); view = memoryview(l); l.close()",
    "an unused capsule": "l = a.write(); l.__enter__(); capsule = l.__dlpack__(); l.close()",
    "an interface": "l = a.read(); l.__enter__(); i = l.__array_interface__; l.close()",
    "a subclass in a cycle": "S = type('S', (memarray.MemArray,), {}); s = S([3]); s.s = s",
    "an array in a module": "np.kept = a; threading.kept = b",
    "an array in builtins": "import builtins; builtins.kept = a",
    "host threads": "memarray.options.threads = 4; c = memarray.MemArray([2**22]); c.add_index_tuple()",
    "a thread that ends later": (
        "work = lambda: [time.sleep(0.2), a.fill(1), a.copy().add_index_tuple()];"
        "t = threading.Thread(target=work); t.start()"
    ),
    "a daemon thread that waits for ever": (
        "l = a.write(); l.__enter__();"
        "t = threading.Thread(target=lambda: a.read(timeout=None).__enter__(), daemon=True); t.start(); time.sleep(0.1)"
    ),
    "a daemon thread in a long operation": (
        "c = memarray.MemArray([2**24]);"
        "work = lambda: [c.fill(i) for i in range(10**6)];"
        "t = threading.Thread(target=work, daemon=True); t.start(); time.sleep(0.1)"
    ),
    "a daemon thread in what the end of an open lease calls": (
        "warnings.simplefilter('always'); called = threading.Event();"
        "warnings.showwarning = lambda *_, sleep=time.sleep: [called.set(), sleep(0.5)];"
        "t = threading.Thread(target=lambda: a.read().__enter__() and None, daemon=True); t.start(); called.wait();"
        "L = type('L', (), {'__del__': lambda self, sleep=time.sleep: sleep(1)}); sys.late = L()"
    ),
    "something to do at exit": "atexit.register(lambda: (a.fill(1), a.copy(), np.asarray(b).sum()))",
    "a weak reference with a callback": "r = weakref.ref(a, lambda _: b.fill(1))",
    "a finalizer": "weakref.finalize(a, b.fill, 2)",
    "an object that works in __del__": (
        "use = lambda self: (self.a.fill(1), self.a.read().__enter__().close());"
        "D = type('D', (), {'__del__': use});"
        "d = D(); d.a = a; d.d = d"
    ),
    "views of others' memory": "v = memarray.BufferView(np.ones(9)); m = memoryview(v); c = v.__dlpack__()",
    "an adopted array": "c = memarray.MemArray.from_dlpack(np.ones(9)); k = np.from_dlpack(c)",
    "a view in a cycle": "x = {'v': memarray.BufferView(np.arange(9.0))}; x['x'] = x; x['m'] = memoryview(x['v'])",
    "a view in a module": "np.kept = memarray.from_dlpack(np.ones(9)); threading.kept = memarray.BufferView(b'abc')",
    "a view that owns a cycle": "o = np.ndarray.__new__(type('O', (np.ndarray,), {}), 9); o.v = memarray.BufferView(o)",
    "traced leases": "memarray.options.trace_leases = True; l = a.read(); l.__enter__()",
    "pending reports": "import logging; v = np.from_dlpack(a); l = a.write(); l.__enter__()",
}
PROGRAM = """
import atexit, sys, threading, time, warnings, weakref
import numpy as np
import memarray
warnings.simplefilter("ignore", ResourceWarning)
a = memarray.MemArray([1000])
b = memarray.MemArray([2, 3], "int32")
exec(sys.argv[1])
{end}
"""


# A daemon thread that is stopped for ever leaks the objects that it holds, in any program.
SANITIZED = [what if "daemon" in what else pytest.param(what, marks=pytest.mark.sanitize) for what in ENDINGS]


@pytest.mark.parametrize("what", SANITIZED)
def test_interpreter_exits_cleanly_with_live_objects(what):
    finished = run_python(PROGRAM.format(end=""), ENDINGS[what], limit=60)
    assert finished.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("what", ENDINGS)
def test_sys_exit_under_lease_keeps_its_exit_status(what):
    finished = run_python(
        PROGRAM.format(end="with memarray.leases(memarray.MemArray([1]).write()): sys.exit(3)"),
        ENDINGS[what],
        limit=60,
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (3, "")


def test_uncaught_exception_under_lease_exits_with_traceback():
    finished = run_python(
        """
        import memarray
        a = memarray.MemArray([4])
        with a.write() as lease:
            kept = memoryview(lease)
            raise KeyError("mine")
        """,
        check=False,
    )
    assert finished.returncode == 1
    assert finished.stderr.rstrip().endswith("KeyError: 'mine'")


def test_open_lease_at_exit_is_reported_when_warnings_are_on():
    finished = run_python(
        """
        import warnings, memarray
        warnings.simplefilter("always")
        def leak():
            memarray.MemArray([1]).read().__enter__()
        leak()
        """
    )
    assert "ResourceWarning: a read lease was collected while it was open" in finished.stderr
