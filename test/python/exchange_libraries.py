"""The ways in which each library imports our memory and exports its own."""

import array
import functools
import importlib
import importlib.metadata
import importlib.util
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

EXTENSIONS = Path(__file__).with_name("extensions")


@functools.cache
def is_there(module):
    """True if a library is installed. Does not import it."""
    return importlib.util.find_spec(module) is not None


def load(name):
    """Returns a module, or an attribute of one, such as jax.dlpack.from_dlpack."""
    module, _, attribute = name.rpartition(".")
    if name == "mpi4py.MPI":
        # Buffers need no initialized MPI.
        importlib.import_module("mpi4py").rc.initialize = False
    return importlib.import_module(name) if not module or name == "mpi4py.MPI" else getattr(load(module), attribute)


@functools.cache
def _folder():
    return tempfile.TemporaryDirectory(prefix="memarray-extensions-")


@functools.cache
def extension(name):
    """Compiles and returns a module of test/python/extensions."""
    folder = Path(_folder().name)
    python = f"-I{sysconfig.get_path('include')}"
    options = ["-O0", "-w", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-strict-aliasing", python]
    target = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if name == "taken_by_nanobind":
        include = Path(load("nanobind").include_dir())
        robin_map = include.parent / "ext" / "robin_map" / "include"
        sources = [EXTENSIONS / f"{name}.cpp", include.parent / "src" / "nb_combined.cpp"]
        command = ["g++", "-std=c++17", *options, f"-I{include}", f"-I{robin_map}", *sources, "-o", target]
    else:
        source = folder / f"{name}.c"
        subprocess.run([sys.executable, "-m", "cython", EXTENSIONS / f"{name}.pyx", "-o", source], check=True)
        command = ["gcc", *options, source, "-o", target]
    subprocess.run(command, check=True)
    spec = importlib.util.spec_from_file_location(name, target)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def address(view):
    """Returns the address of the elements of any library's array, from the library itself or else from NumPy."""
    if isinstance(view, np.ndarray):
        return view.ctypes.data
    for ask in ("data_ptr", "unsafe_buffer_pointer", "address"):
        if hasattr(view, ask):
            value = getattr(view, ask)
            return value() if callable(value) else value
    if hasattr(view, "buffers"):  # pyarrow
        return view.buffers()[1].address
    return (np.from_dlpack(view) if hasattr(view, "__dlpack__") else np.asarray(view)).ctypes.data


# Their imports of our memory. Each function gets the exporter and its number of dimensions.


def _by(name):
    return lambda producer, ndim: load(name)(producer)


def _by_nanobind(function):
    return lambda producer, ndim: getattr(extension("taken_by_nanobind"), function)(producer)


def _by_cython(function):
    return lambda producer, ndim: getattr(extension("taken_by_cython"), f"{function}_{ndim}d")(producer)


def _read_1d(x, out):
    for i in range(out.shape[0]):
        out[i] = x[i]


def _read_2d(x, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[i, j]


@functools.cache
def _compiled():
    """Returns functions that Numba compiles for their argument: one returns the address of the elements, the others
    copy them."""
    numba, arrays = load("numba"), importlib.import_module("numba.np.arrayobj")

    @load("numba.extending.intrinsic")
    def address_of(context, x):
        def build(context, builder, signature, values):
            seen = arrays.make_array(signature.args[0])(context, builder, values[0])
            return builder.ptrtoint(seen.data, context.get_value_type(numba.types.intp))

        return numba.types.intp(x), build

    return numba.njit(lambda x: address_of(x)), {1: numba.njit(_read_1d), 2: numba.njit(_read_2d)}


class Jitted:
    """An argument as functions compiled by Numba see it."""

    def __init__(self, argument, ndim):
        address_of, read = _compiled()
        self.kind = load("numba").typeof(argument)
        # Numba refuses here the arguments that it cannot compile for.
        self.data_ptr = address_of(argument)
        self.elements = np.empty(np.shape(argument), np.asarray(argument).dtype)
        read[ndim](argument, self.elements)

    def __setitem__(self, index, value):
        if not self.kind.mutable:
            raise TypeError("Numba compiles no assignment to it")


#: The name on the page -> the library's module, and the function.
CONSUMERS = {
    "np.from_dlpack": ("numpy", _by("numpy.from_dlpack")),
    "np.asarray": ("numpy", _by("numpy.asarray")),
    "memoryview": ("builtins", lambda producer, ndim: memoryview(producer)),
    "torch.from_dlpack": ("torch", _by("torch.from_dlpack")),
    "torch.asarray": ("torch", _by("torch.asarray")),
    "jax.dlpack.from_dlpack": ("jax", _by("jax.dlpack.from_dlpack")),
    "jnp.asarray": ("jax", _by("jax.numpy.asarray")),
    "cupy.from_dlpack": ("cupy", _by("cupy.from_dlpack")),
    "array_api_strict.from_dlpack": ("array_api_strict", _by("array_api_strict.from_dlpack")),
    "array_api_strict.asarray": ("array_api_strict", _by("array_api_strict.asarray")),
    "tvm_ffi.from_dlpack": ("tvm_ffi", _by("tvm_ffi.from_dlpack")),
    "nb::ndarray<float>": ("nanobind", _by_nanobind("writable")),
    "nb::ndarray<float const>": ("nanobind", _by_nanobind("read_only")),
    "MPI.buffer.frombuffer": ("mpi4py", _by("mpi4py.MPI.buffer.frombuffer")),
    "MPI.buffer.frombuffer(…, readonly=True)": (
        "mpi4py",
        lambda producer, ndim: load("mpi4py.MPI").buffer.frombuffer(producer, readonly=True),
    ),
    "numba.njit(f)": ("numba", Jitted),
    "pyarrow.py_buffer": ("pyarrow", _by("pyarrow.py_buffer")),
    "pyarrow.array(np.asarray(…))": ("pyarrow", lambda producer, ndim: load("pyarrow").array(np.asarray(producer))),
    "Cython's float[:]": ("Cython", _by_cython("writable")),
    "Cython's const float[:]": ("Cython", _by_cython("read_only")),
}


# Our imports of their memory. Each function makes the library's array from a NumPy array of float32, dense and owned.


def _jax(values):
    return load("jax.numpy").asarray(values)


def _from_numpy(name):
    return lambda values: load(name)(np.array(values))


def _pyarrow_array(values):
    return load("pyarrow").array(values.ravel())


def _mpi(values):
    memory = load("mpi4py.MPI").buffer.allocate(values.nbytes)
    memory[:] = values.tobytes()
    return memory


def _cython(values):
    return getattr(extension("taken_by_cython"), f"writable_{values.ndim}d")(np.array(values))


#: The name on the page -> the library's module, and the function that makes an array.
PRODUCERS = {
    "np.ndarray": ("numpy", np.array),
    "memoryview": ("builtins", lambda values: memoryview(np.array(values))),
    "array.array": ("builtins", lambda values: array.array("f", values.ravel())),
    "torch.Tensor": ("torch", _from_numpy("torch.from_numpy")),
    "jax.Array": ("jax", _jax),
    "cupy.ndarray": ("cupy", lambda values: load("cupy").asarray(values)),
    "array_api_strict's": ("array_api_strict", _from_numpy("array_api_strict.asarray")),
    "tvm_ffi.Tensor": ("tvm_ffi", _from_numpy("tvm_ffi.from_dlpack")),
    "MPI.buffer": ("mpi4py", _mpi),
    "numba.njit's result": ("numba", lambda values: _copied(load("numba"))(values)),
    "pyarrow.Array": ("pyarrow", _pyarrow_array),
    "pyarrow.Tensor": ("pyarrow", lambda values: load("pyarrow").Tensor.from_numpy(np.array(values))),
    "pyarrow.Buffer": ("pyarrow", lambda values: load("pyarrow").py_buffer(bytearray(values.tobytes()))),
    "nb::ndarray<float>": ("nanobind", lambda values: _by_nanobind("writable")(np.array(values), values.ndim)),
    "Cython's float[:]": ("Cython", _cython),
}


@functools.cache
def _copied(numba):
    return numba.njit(lambda x: x.copy())


def _read_only(values):
    frozen = values.copy()
    frozen.flags.writeable = False
    return frozen


#: Functions that make a read-only array, for the libraries that have them, always or on request.
READ_ONLY_PRODUCERS = {
    "np.ndarray": _read_only,
    "memoryview": lambda values: memoryview(_read_only(values)),
    "jax.Array": _jax,
    "array_api_strict's": lambda values: load("array_api_strict").asarray(_read_only(values), copy=False),
    "MPI.buffer": lambda values: load("mpi4py.MPI").buffer.frombuffer(values.tobytes(), readonly=True),
    "pyarrow.Array": _pyarrow_array,
    "pyarrow.Tensor": lambda values: load("pyarrow").Tensor.from_numpy(_read_only(values)),
    "pyarrow.Buffer": lambda values: load("pyarrow").py_buffer(values.tobytes()),
    "Cython's float[:]": lambda values: extension("taken_by_cython").read_only_2d(_read_only(values)),
}


def is_available(module):
    return module == "builtins" or is_there(module)


def version_of(module):
    """Returns the installed version, as the page names it."""
    if module == "builtins":
        return f"Python {sys.version_info.major}.{sys.version_info.minor}"
    if module == "memarray":
        return load("memarray.__version__")
    name = {"tvm_ffi": "apache-tvm-ffi", "array_api_strict": "array-api-strict"}.get(module, module)
    return importlib.metadata.version(name).split("+")[0]
