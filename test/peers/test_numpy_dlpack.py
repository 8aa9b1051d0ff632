"""NumPy's own DLPack tests, with memarray's views and leases as producers, and with memarray as the consumer."""

from pathlib import Path

import memarray
import numpy as np
from suites import Shim, load

SUITE = Path(np.__file__).parent / "_core" / "tests" / "test_dlpack.py"


class ByView(np.ndarray):
    """An array whose DLPack methods are those of a view of it."""

    def _exported(self):
        return memarray.BufferView(self.view(np.ndarray))

    def __dlpack__(self, **keywords):
        return self._exported().__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self._exported().__dlpack_device__()


class ByLease(ByView):
    """An array whose DLPack methods are those of a lease of a MemArray with its contents."""

    def _exported(self):
        array = memarray.MemArray.from_numpy(self.view(np.ndarray))
        lease = array.write() if self.flags.writeable else array.read()
        self.lease = lease.__enter__()
        return lease

    def __del__(self):
        if hasattr(self, "lease"):
            self.lease.__exit__(None, None, None)


def exported_by(kind):
    """Returns NumPy with functions whose arrays are exported by memarray."""

    def making(function):
        # A copy owns its memory, so that exports of it keep the array itself.
        return lambda *args, **keywords: function(*args, **keywords).view(kind).copy("K")

    names = {name: making(getattr(np, name)) for name in ("arange", "zeros", "ones", "array", "asarray", "diagonal")}
    return Shim(np, ndarray=kind, **names)


def import_by_memarray(x, /, *, device=None, copy=None):
    view = memarray.from_dlpack(x, copy=copy)
    return np.asarray(view if device is None else view.to_device(device))


def suite(name, numpy):
    module = load(SUITE, name, {"import numpy as np\n": "", "from numpy.testing": "from numpy.testing"}, np=numpy)
    return module.TestDLPack


class TestViews(suite("numpy_dlpack_views", exported_by(ByView))):
    pass


class TestLeases(suite("numpy_dlpack_leases", exported_by(ByLease))):
    pass


class TestImports(suite("numpy_dlpack_imports", Shim(np, from_dlpack=import_by_memarray))):
    pass


DIFFERENCES = {
    "a stream for memory of the host is a ValueError, as the array API says": ["Test[VL]*.test_dunder_dlpack_stream"],
    "copy= takes None, True or False; anything else is a TypeError": ["Test[VL]*.test_dunder_dlpack_copy"],
    "the lease is of a copy of the array, which is therefore not kept or shared": [
        "TestLeases.test_dunder_dlpack_refcount*",
        "TestLeases.test_from_dlpack_refcount*",
        "TestLeases.test_copy",
        "TestLeases.test_strides_not_multiple_of_itemsize",
        "TestLeases.test_invalid_byte_swapping",
    ],
    "no array of such elements can be made": ["TestLeases.test_invalid_dtype"],
    "arrays of 1 to 6 dimensions are registered": [
        "TestLeases.test_ndim0",
        *(f"TestLeases.test_higher_dims[[]{ndim}]" for ndim in (0, *range(7, 33))),
    ],
    "a view has at most 16 dimensions": [f"Test[VI]*.test_higher_dims[[]{ndim}]" for ndim in range(17, 33)],
    "a view keeps its owner beside the tensor that it took": ["TestImports.test_from_dlpack_refcount*"],
    "a producer of the old struct is asked by the buffer protocol whether it is writable": [
        "TestImports.test_writeable"
    ],
}
