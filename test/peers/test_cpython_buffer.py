"""CPython's own tests of the buffer protocol, with a BufferView between each exporter and its consumer.

Buffers that no view can show go to the consumer directly, as in CPython's own run. Their formats are no dtype or
another spelling of one, or they have suboffsets, or strides of a single element.
"""

import _testbuffer
import builtins
from pathlib import Path

import memarray

from test import test_buffer as suite

#: Number of consumers that got a view.
through_views = 0


def same_strides(shown, own):
    """True if all strides are equal. They may differ only in dimensions of at most one element: a view has NumPy's."""
    if own.nbytes:
        pairs = zip(shown.strides, own.strides, own.shape, strict=True)
        assert all(given == expected for given, expected, extent in pairs if extent > 1), (shown.strides, own.strides)
    return shown.strides == own.strides


def view_of(obj):
    """Returns a view of an exporter of buffers, or the object itself where no view can show it."""
    global through_views
    try:
        view = memarray.BufferView(obj)
        with builtins.memoryview(view) as shown, builtins.memoryview(obj) as own:
            if shown.format != own.format or not same_strides(shown, own):
                return obj
    except (TypeError, BufferError, ValueError):
        return obj
    through_views += 1
    return view


def origin(obj):
    """Returns the exporter behind views and memoryviews; the suite expects its consumers to name it."""
    while True:
        behind = getattr(obj, "owner" if isinstance(obj, memarray.BufferView) else "obj", None)
        if behind is None:
            return obj
        obj = behind


class Instances(type):
    """The metaclass of consumers, whose instances and other attributes are those of the types that they wrap."""

    def __instancecheck__(cls, obj):
        return isinstance(obj, cls.wrapped)

    def __getattr__(cls, name):
        return getattr(cls.wrapped, name)


class MemoryView(metaclass=Instances):
    wrapped = builtins.memoryview

    def __new__(cls, obj):
        return cls.wrapped(view_of(obj))


class NDArray(metaclass=Instances):
    wrapped = _testbuffer.ndarray

    def __new__(cls, obj, *args, **keywords):
        return cls.wrapped(view_of(obj) if "getbuf" in keywords else obj, *args, **keywords)


class TestBufferProtocol(suite.TestBufferProtocol):
    def run(self, result=None):
        suite.memoryview, suite.ndarray = MemoryView, NDArray
        try:
            return super().run(result)
        finally:
            del suite.memoryview
            suite.ndarray = NDArray.wrapped

    def assertIs(self, first, second, msg=None):
        super().assertIs(origin(first), origin(second), msg)

    def test_zz_views_were_used(self):
        self.assertGreater(through_views, 1000)


DIFFERENCES = {
    "sometimes makes a memoryview by a function that refuses other exporters": [
        "TestBufferProtocol.test_memoryview_construction",
        "TestBufferProtocol.test_ndarray_index_getitem_single",
        "TestBufferProtocol.test_ndarray_multidim",
    ],
    "a view always has an exporter: itself": ["TestBufferProtocol.test_memoryview_from_static_exporter"],
    "in Fortran order one row has NumPy's strides, not the exporter's": ["TestBufferProtocol.test_ndarray_getbuf"],
    "a view keeps the buffer that it was made of from being released": ["TestBufferProtocol.test_memoryview_release"],
}
if "na.tostring(" in Path(suite.__file__).read_text():
    DIFFERENCES["calls a method that NumPy no longer has"] = ["TestBufferProtocol.test_py_buffer_to_contiguous"]
