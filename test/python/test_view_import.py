"""Views of other libraries' memory: its description is honoured, and a wrong description is refused."""

import array
import ctypes
import mmap
import pickle
import threading

import memarray
import numpy as np
import pytest
from dlpack_producer import Producer
from dlpack_structs import view_through_table
from memarray import BufferView

pytestmark = pytest.mark.sanitize


@pytest.mark.parametrize("versioned", [False, True])
def test_versioned_and_unversioned_capsules_are_imported(versioned):
    producer = Producer(versioned=versioned)
    capsule = producer.capsule()
    view = memarray.from_dlpack(capsule)
    assert view.data_ptr == ctypes.addressof(producer.memory)
    assert (view.shape, view.strides, view.dtype) == ((2, 3), (12, 4), np.int32)
    assert view.writable
    assert np.asarray(view).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(BufferError, match="already consumed"):
        memarray.from_dlpack(capsule)
    part = view[1]
    del view
    assert producer.deleted == 0
    del part
    assert producer.deleted == 1


def test_view_describes_memory_as_its_producer_does():
    assert not memarray.from_dlpack(Producer(flags=1)).writable
    assert memarray.from_dlpack(Producer(flags=2)).writable
    assert memarray.from_dlpack(Producer(strides=None)).strides == (12, 4)
    assert memarray.from_dlpack(Producer(byte_offset=8)).item is not None
    assert memarray.from_dlpack(Producer(byte_offset=8))[0, 0] == 2
    flipped = memarray.from_dlpack(Producer(byte_offset=20, strides=(-3, -1)))
    assert np.asarray(flipped).tolist() == [[5, 4, 3], [2, 1, 0]]
    assert memarray.from_dlpack(Producer(shape=(2, 0))).size == 0
    assert memarray.from_dlpack(Producer(shape=(2, 0), data=None)).shape == (2, 0)
    scalar = memarray.from_dlpack(Producer(ndim=0, shape=None, strides=None))
    assert scalar.item() == 0
    assert memarray.from_dlpack(Producer(version=(1, 99), flags=1 << 40)).sum() == 15
    pinned = Producer()
    pinned.managed.tensor.device.type = 3
    assert memarray.from_dlpack(pinned).memory_type == "pinned"


def test_nbytes_overflow_of_broadcast_view_is_refused():
    assert memarray.from_dlpack(Producer(shape=(2**60, 1), strides=(0, 0))).nbytes == 2**62
    with pytest.raises(BufferError, match="cannot import"):
        memarray.from_dlpack(Producer(shape=(2**61, 1), strides=(0, 0)))
    one = BufferView.from_numpy(np.zeros(1))
    assert one.broadcast_to(2**59).nbytes == 2**62
    for shape in (2**60, 2**61, 2**62):  # sizes whose number of bytes would wrap to a small one
        with pytest.raises(OverflowError):
            one.broadcast_to(shape)


def test_strides_of_empty_tensor_are_ignored():
    view = memarray.from_dlpack(Producer(shape=(0, 5), strides=(2**62, 2**62)))
    assert view.shape == (0, 5)


@pytest.mark.parametrize(
    ("code", "bits", "lanes", "name"),
    [
        (3, 64, 1, "opaque64"), (2, 128, 1, "float128"), (2, 32, 4, "float32x4"), (7, 8, 1, "float8_e3m4"),
        (8, 8, 1, "float8_e4m3"), (9, 8, 1, "float8_e4m3b11fnuz"), (10, 8, 1, "float8_e4m3fn"),
        (11, 8, 1, "float8_e4m3fnuz"), (12, 8, 1, "float8_e5m2"), (13, 8, 1, "float8_e5m2fnuz"),
        (14, 8, 1, "float8_e8m0fnu"), (15, 6, 1, "float6_e2m3fn"), (16, 6, 1, "float6_e3m2fn"),
        (17, 4, 2, "float4_e2m1fnx2"), (6, 8, 2, "boolx2"), (1, 4, 1, "uint4"), (200, 8, 1, "DLPack has no name"),
    ],
)  # fmt: skip
def test_error_names_unsupported_dlpack_dtype(code, bits, lanes, name):
    producer = Producer()
    producer.managed.tensor.dtype.code = code
    producer.managed.tensor.dtype.bits = bits
    producer.managed.tensor.dtype.lanes = lanes
    with pytest.raises(BufferError, match=rf"no dtype for (an element type that )?{name}.*\(code {code}, {bits} bits"):
        memarray.from_dlpack(producer)


def test_null_data_pointer_is_refused():
    for data, offset in ((8, 0), (0, 8), (0, 0)):
        with pytest.raises(BufferError):
            memarray.from_dlpack(Producer(data=data, byte_offset=offset, strides=(-3, -1), shape=(1, 3)))


@pytest.mark.parametrize(
    ("kind", "versioned", "writable"),
    [(bytes, False, False), (bytes, True, True), (bytearray, False, True), (object, False, True)],
)
def test_immutable_producer_with_unversioned_struct_is_read_only(kind, versioned, writable):
    """JAX's arrays are immutable like this, and the struct cannot express it."""

    class Exporter(kind):
        def __dlpack__(self, **_):
            return producer.capsule()

        def __dlpack_device__(self):
            return (1, 0)

    producer = Producer(versioned=versioned)
    for take in (memarray.from_dlpack, BufferView):
        producer = Producer(versioned=versioned)
        view = take(Exporter())
        assert view.writable == writable
        assert view[1, 2] == 5
        del view
        assert producer.deleted == 1


def test_host_device_id_may_be_none():
    class Pandas(Producer):
        def __dlpack_device__(self):
            return (1, None)

        def __dlpack__(self):
            return self.capsule()

    assert memarray.from_dlpack(Pandas()).sum() == 15


def test_newest_version_is_requested_and_older_one_accepted():
    asked = []

    class New(Producer):
        def __dlpack__(self, **keywords):
            asked.append(keywords)
            return self.capsule()

    class Old(Producer):
        def __dlpack__(self, stream=None):
            asked.append(stream)
            return self.capsule()

    assert memarray.from_dlpack(New()).sum() == 15
    assert memarray.from_dlpack(Old(versioned=False)).sum() == 15
    assert asked == [{"max_version": (1, 3)}, None]


@pytest.mark.parametrize("kind", ["buffer", "interface", "view", "array"])
def test_view_copies_only_with_copy_true(kind, copies):
    x = np.arange(12.0).reshape(3, 4)
    producer = {
        "buffer": lambda: memoryview(x),
        "interface": lambda: Interface(x),
        "view": lambda: BufferView.from_numpy(x),
        "array": lambda: memarray.MemArray.from_dlpack(x),
    }[kind]()
    for words in ({}, {"copy": None}, {"copy": False}):
        assert BufferView(producer, **words).data_ptr == x.ctypes.data
    assert copies() == 0
    own = BufferView(producer, copy=True)
    assert copies() == 1
    assert own.data_ptr != x.ctypes.data
    assert own.writable
    with pytest.raises(TypeError, match="copy"):
        BufferView(producer, copy="no")


def test_views_of_arrays_and_leases_keep_their_access():
    a = memarray.MemArray([3])
    assert memarray.from_dlpack(a).owner is a
    assert not BufferView(a).writable
    with a.write() as lease:
        assert memarray.from_dlpack(lease).writable
        view = BufferView(BufferView(lease)[1:])
        view.fill(4)
    assert a.view().sum() == 8
    assert BufferView(a, copy=True).writable


@pytest.mark.parametrize(
    ("buffer", "dtype", "writable"),
    [
        (b"abcd", "uint8", False),
        (bytearray(b"abcd"), "uint8", True),
        (memoryview(b"abcdefgh")[::-2], "uint8", False),
        (array.array("i", [1, 2, 3]), "int32", True),
        (array.array("d", [1, 2, 3]), "float64", True),
        (array.array("L", [1, 2, 3]), "uint64", True),
        (mmap.mmap(-1, 4096), "uint8", True),
        ((ctypes.c_double * 5)(1, 2, 3, 4, 5), "float64", True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_buffers_are_viewed_with_dtype_and_access(buffer, dtype, writable):
    for view in (BufferView.from_buffer(buffer), BufferView(buffer)):
        expected = np.asarray(memoryview(buffer))
        assert (view.dtype, view.writable, view.owner is buffer) == (dtype, writable, True)
        assert view.strides == expected.strides
        np.testing.assert_array_equal(np.asarray(view), expected)
        view.close()


def test_bytes_are_viewed_as_another_dtype():
    data = bytearray(np.arange(6, dtype="float32").tobytes())
    view = BufferView.from_buffer(data, "float32")
    assert (view.shape, view.sum()) == ((6,), 15.0)
    view.fill(1)
    assert np.frombuffer(data, "f4").sum() == 6
    with pytest.raises(BufferError):
        data.append(1)  # a viewed bytearray cannot be resized
    view.close()
    data.append(1)
    with pytest.raises(ValueError, match="25 bytes are not a whole number"):
        BufferView.from_buffer(data, np.float32)
    with pytest.raises(BufferError, match="not C-contiguous"):
        BufferView.from_buffer(memoryview(bytes(16))[::2], "int16")
    with pytest.raises(BufferError, match="aligned"):
        BufferView.from_buffer(memoryview(bytes(17))[1:], "float64")
    with pytest.raises(TypeError, match="buffer protocol"):
        BufferView.from_buffer("text")
    with pytest.raises(BufferError, match="format"):
        BufferView.from_buffer((ctypes.c_wchar * 4)(*"text"))
    with pytest.raises(BufferError, match="elements of str128"):
        BufferView.from_buffer(np.zeros(3, "U4"))
    assert BufferView.from_buffer(b"").shape == (0,)


def test_a_buffer_is_released_once_by_the_last_view():
    data = bytearray(8)
    view = BufferView.from_buffer(data)
    part = view[2:]
    view.close()
    with pytest.raises(BufferError):
        data.clear()
    thread = threading.Thread(target=part.close)
    thread.start()
    thread.join()
    data.clear()


class Interface:
    def __init__(self, x, **changes):
        self.kept = x
        self.__array_interface__ = {**x.__array_interface__, **changes}


def test_array_interface_is_imported():
    x = np.arange(12.0).reshape(3, 4)[:, ::-2]
    view = BufferView(Interface(x))
    assert (view.shape, view.strides, view.writable) == (x.shape, x.strides, True)
    np.testing.assert_array_equal(np.asarray(view), x)
    x.flags.writeable = False
    assert not BufferView(Interface(x)).writable


@pytest.mark.parametrize(
    "changes",
    [
        {"data": None}, {"data": 5}, {"data": (1.5, False)}, {"data": (0, False)}, {"data": (1, False)},
        {"shape": None}, {"shape": 5}, {"shape": (-1,)}, {"shape": (2.5,)}, {"shape": (2**62, 2**62)},
        {"strides": (8,)}, {"strides": (8, "x")}, {"strides": (2**62, 8)}, {"strides": (3, 8)},
        {"typestr": None}, {"typestr": "nonsense"}, {"typestr": ">f8"}, {"typestr": "<U3"}, {"typestr": "<M8[s]"},
        {"mask": np.zeros((3, 4), bool)},
    ],
    ids=str,
)  # fmt: skip
def test_invalid_array_interface_is_refused(changes):
    with pytest.raises((BufferError, TypeError, ValueError, OverflowError)):
        BufferView(Interface(np.arange(12.0).reshape(3, 4), **changes))


@pytest.mark.parametrize(
    "take", [BufferView, BufferView.from_numpy, memarray.from_dlpack, memarray.MemArray.from_dlpack]
)
def test_masked_array_is_refused(take):
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(BufferError, match="would lose the mask"):
        take(masked)
    assert take(masked.data).shape == take(masked.filled(0)).shape == (2,)


@pytest.mark.parametrize("take", [BufferView, BufferView.from_numpy, memarray.from_dlpack])
def test_unsupported_numpy_array_is_refused_with_reason(take):
    with pytest.raises(BufferError, match=r"other byte order.*astype\('float32'\)"):
        take(np.zeros(3, ">f4"))
    for elements in (np.array(["text"]), np.zeros(2, "M8[s]")):
        with pytest.raises(BufferError, match="memarray has no dtype for elements of"):
            take(elements)
    with pytest.raises(BufferError, match="no dtype for this struct: field b is of '<M8"):
        take(np.zeros(2, [("a", "f4"), ("b", "M8[s]")]))


def test_arrays_of_ml_dtypes_are_viewed():
    x = np.arange(4).astype(pytest.importorskip("ml_dtypes").bfloat16)
    for view in (BufferView(x), BufferView.from_numpy(x), memarray.from_dlpack(x)):
        assert view.data_ptr == x.ctypes.data and str(np.asarray(view).dtype) == "bfloat16"
    assert BufferView(x, copy=True).data_ptr != x.ctypes.data


def test_subclasses_of_arrays_are_viewed():
    class Mine(np.ndarray):
        pass

    x = np.arange(6.0).reshape(2, 3).view(Mine)
    assert BufferView(x[:, ::2]).data_ptr == x.ctypes.data


@pytest.mark.parametrize("other", [[5, 6], np.arange(3.0), 5, None, BufferView(np.zeros(2))])
def test_arrays_are_viewed_whatever_view_their_subclass_has(other):
    class Mine(memarray.MemArray):
        def view(self, dtype=None):
            return other

    array = Mine([3])
    array.fill(7)
    for copy in (None, False, True):
        for make in (BufferView, memarray.from_dlpack):
            view = make(array, copy=copy)
            assert view.tolist() == [7, 7, 7]
            assert view.owner is (None if copy else array)
    with array.read() as lease:
        assert memarray.from_dlpack(lease).tolist() == [7, 7, 7]
    assert other is None or np.isscalar(other) or len(other) in (2, 3), "the subclass's own result is unchanged"


def test_object_without_memory_is_refused():
    for nothing in (None, 5, "text", [1, 2], object()):
        with pytest.raises(TypeError, match="exports memory"):
            BufferView(nothing)
        with pytest.raises(TypeError, match="DLPack"):
            memarray.from_dlpack(nothing)
    with pytest.raises(TypeError, match="NumPy array"):
        BufferView.from_numpy([1, 2])
    with pytest.raises(BufferError):
        BufferView.from_numpy(np.zeros(3, "U3"))
    with pytest.raises(BufferError, match="byte order"):
        BufferView.from_numpy(np.zeros(3, ">f4"))
    with pytest.raises(BufferError, match="field a is of"):
        BufferView.from_numpy(np.zeros(3, [("a", object)]))


def test_struct_field_is_viewed_as_strided_memory():
    records = np.zeros(4, [("a", "i4"), ("b", "f4"), ("c", "f8")])
    records["b"] = [1, 2, 3, 4]
    view = BufferView.from_numpy(records["b"])
    assert view.strides == (16,)
    assert view.sum() == 10
    packed = np.zeros(4, [("a", "i1"), ("b", "f4")])
    with pytest.raises(BufferError, match="aligned"):
        BufferView.from_numpy(packed["b"])
    odd = np.zeros(4, [("a", "i4"), ("b", "f8", ()), ("c", "i4")])["b"]
    assert odd.strides == (16,)


def pickled_out_of_band(view):
    buffers = []
    return pickle.loads(pickle.dumps(view, protocol=5, buffer_callback=buffers.append), buffers=buffers)


def sent_by_dask(view):
    frames = pytest.importorskip("memarray._dask_frames", reason="Dask is not installed")
    return frames.view_of_frames(*frames.view_to_frames(view))


READ_ONLY_EXPORTS = {
    "slice": lambda view: view[::-1].T.reshape(-1),
    "broadcast": lambda view: view.broadcast_to(2, 3),
    "table": lambda view: view_through_table(view, BufferView),
    "capsule": lambda view: memarray.from_dlpack(view.__dlpack__(max_version=(1, 0))),
    "pickle": lambda view: pickle.loads(pickle.dumps(view, protocol=5)),
    "pickle out of band": pickled_out_of_band,
    "Dask's frames": sent_by_dask,
    "np.asarray": np.asarray,
    "memoryview": memoryview,
    "np.from_dlpack": np.from_dlpack,
    "interface": lambda view: np.asarray(Interface(view)),
}


@pytest.mark.parametrize("name", READ_ONLY_EXPORTS)
def test_read_only_view_stays_read_only_when_reexported(name):
    x = np.arange(4.0)
    x.flags.writeable = False
    view = BufferView(np.from_dlpack(BufferView.from_numpy(x)[1:]))
    assert not view.writable
    exported = READ_ONLY_EXPORTS[name](view)
    assert not BufferView(exported).writable
    # Re-exports are read-only, too.
    assert not BufferView(np.asarray(BufferView(exported))).writable
    with pytest.raises(BufferError, match="read-only"):
        view.__dlpack__()
    with pytest.raises(BufferError, match="read-only"):
        view[1:].fill(0)
    assert view.__array_interface__["data"][1]
