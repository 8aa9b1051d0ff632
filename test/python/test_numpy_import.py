"""Plain NumPy arrays, read directly from the object, import as they would by `__dlpack__`, refusals included."""

import gc
import itertools
import sys
import threading
import weakref

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from memarray import BufferView
from support import NUMPY_DTYPES, pattern, run_python

pytestmark = pytest.mark.sanitize


class Slow:
    """Exports an array as the array itself would, but only over DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)


LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "negative strides": lambda x: x[::-1, ::-2],
    "zero strides": lambda x: np.broadcast_to(x[:1], (3, *x.shape)),
    "offset": lambda x: x[2:, 1:],
    "one row": lambda x: x[1:2, ::2],
    "one element": lambda x: x[3:, 5:],
    "no elements": lambda x: x[:0],
    "no elements between": lambda x: x.reshape(2, 2, 6)[:, 2:, ::3],
    "no dimension": lambda x: x[1, 2:3].reshape(()),
    "rank 8": lambda x: x.reshape(2, 1, 2, 1, 3, 1, 2, 1).transpose(7, 4, 0, 6, 2, 1, 3, 5),
    "rank 16": lambda x: x.reshape(4, *[1] * 14, 6),
}


def described(view):
    """Returns all but the strides of dimensions with at most one element, which NumPy 2.2 reports differently."""
    names = ("data_ptr", "shape", "dtype", "writable", "nbytes", "memory_type", "closed")
    goes = [n > 1 for n in view.shape]
    return {name: getattr(view, name) for name in names} | {
        "device": str(view.device),
        "strides": tuple(stride for stride, far in zip(view.strides, goes, strict=True) if far),
        "repr": repr(view) if all(goes) else None,
    }


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [*NUMPY_DTYPES, "longlong", "ulonglong", "intc", "byte"])
def test_view_of_numpy_array_matches_its_dlpack_import(dtype, layout):
    # The two patterns together have all edge values.
    for start, writable in itertools.product((0, 12), (True, False)):
        x = LAYOUTS[layout](pattern((4, 6), dtype, start))
        x.setflags(write=writable and x.flags.writeable)
        expected = described(memarray.from_dlpack(Slow(x)))
        for take in (memarray.from_dlpack, BufferView, BufferView.from_dlpack, BufferView.from_numpy):
            view = take(x)
            assert described(view) == expected
            assert view.owner is x
            assert_same_values(np.asarray(view), x)


def test_dtype_metadata_and_native_byte_order_mark_are_ignored():
    x = np.zeros(3, np.dtype("f4", metadata={"unit": "m"}))
    assert described(memarray.from_dlpack(x)) == described(memarray.from_dlpack(Slow(x)))
    y = np.zeros(3, np.dtype("f4").newbyteorder("<"))
    assert described(memarray.from_dlpack(y)) == described(memarray.from_dlpack(Slow(y)))


REFUSED = {
    "byte order": lambda: np.zeros(3, ">f4"),
    "long double": lambda: np.zeros(3, np.longdouble),
    "complex long double": lambda: np.zeros(3, np.clongdouble),
    "time": lambda: np.zeros(3, "M8[s]"),
    "difference of times": lambda: np.zeros(3, "m8[s]"),
    "object": lambda: np.zeros(3, object),
    "text": lambda: np.zeros(3, "U4"),
    "bytes": lambda: np.zeros(3, "S4"),
    "struct": lambda: np.zeros(3, [("a", "M8[s]")]),
    "strides of parts": lambda: np.zeros(3, [("a", "f4"), ("b", "i2")])["a"],
    "not aligned": lambda: np.frombuffer(bytearray(13), np.uint8)[1:].view("f4"),
    "rank 17": lambda: np.zeros((1,) * 17),
}


WORDS = {
    "struct": "no dtype for this struct: field a is of '<M8",
    "byte order": r"other byte order cannot be viewed: convert with \.astype\('float32'\)",
    "strides of parts": "not aligned to 4 bytes; copy it first",
    "not aligned": "not aligned to 4 bytes; copy it first",
    "rank 17": "16 dimensions",
}


@pytest.mark.parametrize("why", REFUSED)
def test_unsupported_numpy_array_is_refused(why):
    """The error is memarray's own and says what to do. By DLPack the capsule is refused, or NumPy raises its error."""
    x = REFUSED[why]()
    for take in (memarray.from_dlpack, BufferView, BufferView.from_numpy):
        with pytest.raises(
            BufferError, match=WORDS.get(why, r"no dtype for elements of \w+.*: convert them")
        ) as caught:
            take(x)
    with pytest.raises(BufferError) as caught:
        memarray.from_dlpack(Slow(x))
    del caught
    gc.collect()
    assert sys.getrefcount(x) == 2


def test_copy_argument_decides_whether_memory_is_copied(copies):
    for given in (lambda x: x, Slow):
        x = np.arange(6.0)
        x.flags.writeable = False
        exporter = given(x)
        start = copies()
        for copy in (None, False):
            assert memarray.from_dlpack(exporter, copy=copy).data_ptr == x.ctypes.data
        assert copies() == start
        own = memarray.from_dlpack(exporter, copy=True)
        assert copies() == start + 1
        assert own.writable
        assert own.owner is None
        assert own.sum() == 15
        assert own.data_ptr != x.ctypes.data
        with pytest.raises(TypeError, match="copy"):
            memarray.from_dlpack(exporter, copy=1)


def test_array_is_kept_alive_by_views_and_released_once():
    x = np.arange(6.0)
    references = sys.getrefcount(x)
    start = memarray.stats()["live_blocks"]
    view = memarray.from_dlpack(x)
    with pytest.raises(ValueError, match="resize"):
        x.resize(100)
    part = view[1:]
    view.close()
    view = None
    assert memarray.stats()["live_blocks"] == start + 1
    gone = weakref.ref(x)
    address = x.ctypes.data
    kept = [part, memoryview(part), np.asarray(part)]
    part = x = None
    assert gone() is not None
    assert kept[0].data_ptr == address + 8
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert gone() is None
    assert memarray.stats()["live_blocks"] == start
    y = np.arange(6.0)
    for _ in range(100):
        memarray.from_dlpack(y)
        memarray.from_dlpack(y, copy=True)
    assert sys.getrefcount(y) == references


def test_array_is_released_while_exception_is_pending():
    holder = [np.arange(3.0)]
    gone = weakref.ref(holder[0])
    view = memarray.from_dlpack(holder.pop())
    try:
        raise KeyError("pending")
    except KeyError as pending:
        del view
        assert pending.args == ("pending",)
    assert gone() is None


def test_dlpack_method_of_subclass_is_called():
    class Mine(np.ndarray):
        asked = 0

        def __dlpack__(self, **keywords):
            type(self).asked += 1
            return super().__dlpack__(**keywords)

    x = np.zeros(3).view(Mine)
    for take in (memarray.from_dlpack, BufferView, BufferView.from_numpy):
        assert take(x).data_ptr == x.ctypes.data
    assert Mine.asked == 3


LIAR = """
    import sys
    import memarray
    # A sanitizer's run may have imported it before anything else.
    before = "numpy" in sys.modules
    if {numpy}:
        import numpy as np
        if {seen}:
            memarray.from_dlpack(np.zeros(3))
    a = memarray.MemArray([3], "int32")
    # Its slots lie where an array has its fields, and say: float32, native, no dimensions.
    export = lambda self, **keywords: a.view().__dlpack__(**keywords)
    liar = type("numpy.ndarray", (), {{"__slots__": tuple("abcdefg"), "__dlpack__": export}})()
    liar.a, liar.f = object(), 11 << 30 | ord("=") << 16
    for _ in range(3):
        view = memarray.from_dlpack(liar)
        assert view.shape == (3,)
        assert view.owner is liar
    assert ("numpy" in sys.modules) == ({numpy} or before)
    if {numpy}:
        x = np.arange(3)
        assert memarray.from_dlpack(x).data_ptr == x.ctypes.data
"""


@pytest.mark.parametrize(("numpy", "seen"), [(False, False), (True, False), (True, True)])
def test_other_type_named_numpy_ndarray_is_imported_over_dlpack(numpy, seen):
    run_python(LIAR.format(numpy=numpy, seen=seen))
