"""Importing memarray imports no other package, and every public object has a docstring."""

import importlib.util
import inspect
import pkgutil
import subprocess
import sys

import memarray
import pytest
from support import run_python


@pytest.mark.parametrize("name", ["numpy", "torch", "jax", "logging", "ml_dtypes", "ctypes", "asyncio"])
def test_importing_memarray_imports_no_other_package(name):
    run_python(
        f"""
        import sys
        import memarray
        assert {name!r} not in sys.modules
        array = memarray.MemArray([2, 3], float)
        with array.write() as lease:
            memoryview(lease).cast("B").cast("d", (2, 3))[0, 0] = 1.0
        array.fill(2.5)
        array.resize([3, 3])
        array.copy()
        repr(array), array.shape, array.device
        assert {name!r} not in sys.modules
        """
    )


def test_module_can_be_imported_by_many_threads_at_once():
    run_python(
        """
        import threading
        errors = []
        def load():
            try:
                import memarray
                memarray.MemArray([1]).fill(1)
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=load) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not errors, errors
        """
    )


SUB_INTERPRETER = """
    import sys
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    if {before}:
        import memarray
    lines = [
        "import sys",
        f"sys.path[:] = {{sys.path!r}}",
        "words = ''",
        "try:",
        "    import memarray",
        "except ImportError as error:",
        "    words = str(error)",
        "assert 'interpreter' in words, words",
    ]
    other = interpreters.create()
    failure = interpreters.run_string(other, "\\n".join(lines))
    assert failure is None, failure
    interpreters.destroy(other)
    import memarray.testing
    array = memarray.MemArray([3])
    array.fill(1)
    assert memoryview(array.view()).tolist() == [1, 1, 1]
    # Moves release the interpreter lock within calls that have released it.
    with memarray.testing.simulated_devices():
        array.move_memory(memarray.dlpack.kDLCUDA)
        array.move_memory(memarray.dlpack.kDLCPU)
    assert memoryview(array.view()).tolist() == [1, 1, 1]
"""


@pytest.mark.parametrize("before", [True, False])
def test_import_in_subinterpreter_is_refused(before):
    run_python(SUB_INTERPRETER.format(before=before))


def public_objects():
    yield "memarray", memarray
    for module in (memarray, memarray.cuda, memarray.dlpack):
        for name, value in vars(module).items():
            if name.startswith("_") or not (inspect.isclass(value) or callable(value) or inspect.ismodule(value)):
                continue
            if inspect.ismodule(value) and not value.__name__.startswith("memarray"):
                continue
            yield f"{module.__name__}.{name}", value
            if inspect.isclass(value):
                for attribute, member in inspect.getmembers(value):
                    defined_here = any(
                        attribute in vars(base) for base in value.__mro__ if base.__module__ != "builtins"
                    )
                    if not attribute.startswith("_") and defined_here:
                        yield f"{module.__name__}.{name}.{attribute}", member
    for name in ("threads", "pool_limit", "escaped_views", "trace_leases", "trace_resources"):
        yield f"memarray.options.{name}", getattr(type(memarray.options), name)
    yield "memarray.options", type(memarray.options)


OBJECTS = {name: value for name, value in public_objects() if not isinstance(value, int)}


@pytest.mark.parametrize("name", OBJECTS)
def test_public_object_has_docstring(name):
    text = inspect.getdoc(OBJECTS[name])
    assert text and len(text) > 10, f"{name} has no docstring"
    assert text.rstrip()[-1] in ".:)…", f"the docstring of {name} is no sentence: {text!r}"


def test_every_module_has_docstring():
    for found in pkgutil.iter_modules(memarray.__path__):
        if found.name in ("_core", "__main__", "lennard_jones"):
            continue
        if found.name in ("dask", "_dask_frames") and not importlib.util.find_spec("dask"):
            continue
        module = __import__(f"memarray.{found.name}", fromlist=["x"])
        assert module.__doc__, found.name


def test_help_exits_with_0_and_bad_usage_with_2():
    for words, status in ((["--help"], 0), (["-h"], 0), ([], 2), (["nonsense"], 2)):
        command = [sys.executable, "-m", "memarray", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == status
        assert "usage: python -m memarray" in (done.stdout if status == 0 else done.stderr)


def test_methods_written_in_c_show_their_signatures():
    signatures = {
        memarray.MemArray.read: "(self, /, device=None, stream=None, timeout=0)",
        memarray.MemArray.write: "(self, /, device=None, stream=None, timeout=0, *, discard=False)",
        memarray.MemArray.get_dlpack: "(self, /, device_type=None, device_id=None, stream=0)",
        memarray.MemArray.move_memory: "(self, /, device_type, device_id=None, stream=0, async_copy=False)",
        memarray.MemArray.__dlpack__: "(self, /, *, stream=None, max_version=None, dl_device=None, copy=None)",
        memarray.Lease.__dlpack__: "(self, /, *, stream=None, max_version=None, dl_device=None, copy=None)",
        memarray.BufferView.__dlpack__: "(self, /, *, stream=None, max_version=None, dl_device=None, copy=None)",
        memarray.leases: "(*leases, timeout=0)",
    }
    for function, expected in signatures.items():
        assert str(inspect.signature(function)) == expected
