"""The exact results of `__dlpack__`: structs, flags and keywords."""

import sys

import memarray
import numpy as np
import pytest
from dlpack_structs import CPU, DTYPE_CODES, IS_COPIED, READ_ONLY, Taken, name_of, struct_of
from dtype_values import assert_same_values
from support import DTYPES, RANKS, filled, look, shape_of

ARRAYS = {"array": lambda a: a, "read": lambda a: a.read(), "write": lambda a: a.write()}
#: (max_version of the consumer, name of its capsule).
VERSIONS = [
    (None, "dltensor"),
    ((0, 0), "dltensor"),
    ((0, 8), "dltensor"),
    ((1, 0), "dltensor_versioned"),
    ((1, 3), "dltensor_versioned"),
    ((1, 99), "dltensor_versioned"),
    ((2, 0), "dltensor_versioned"),
    ((2**31 - 1, 2**31 - 1), "dltensor_versioned"),
]


@pytest.fixture
def lease():
    array, _ = filled((3, 4), "int32")
    with array.write() as opened:
        yield opened


@pytest.mark.trap("T03")
@pytest.mark.trap("P06")
@pytest.mark.trap("P08")
@pytest.mark.sanitize
@pytest.mark.parametrize(("asked", "name"), VERSIONS, ids=str)
def test_capsule_name_matches_struct_version(lease, asked, name):
    capsule = lease.__dlpack__(max_version=asked)
    assert name_of(capsule) == name
    struct = struct_of(capsule)
    if name == "dltensor_versioned":
        assert (struct.version.major, struct.version.minor) == (1, 3)
        assert struct.flags == 0


def test_capsule_is_unversioned_by_default(lease):
    assert name_of(lease.__dlpack__()) == "dltensor"


@pytest.mark.trap("P09")
@pytest.mark.trap("P10")
@pytest.mark.trap("P11")
@pytest.mark.trap("P12")
@pytest.mark.sanitize
@pytest.mark.parametrize("version", [None, (1, 0)], ids=str)
@pytest.mark.parametrize("ndim", RANKS)
@pytest.mark.parametrize("name", DTYPES)
def test_every_tensor_field_describes_the_array(name, ndim, version):
    shape = shape_of(ndim)
    array = memarray.MemArray(shape, name)
    with array.write() as lease:
        struct = struct_of(capsule := lease.__dlpack__(max_version=version))
        tensor = struct.tensor
        assert (tensor.device.type, tensor.device.id) == CPU == lease.__dlpack_device__() == array.__dlpack_device__()
        assert tensor.ndim == ndim
        assert (tensor.dtype.code, tensor.dtype.bits) == DTYPE_CODES[name]
        assert tensor.dtype.lanes == 1
        assert tuple(tensor.shape[d] for d in range(ndim)) == shape
        assert tensor.strides, "strides are never NULL"
        expected = np.empty(shape, "int8").strides
        assert tuple(tensor.strides[d] for d in range(ndim)) == expected
        assert tensor.byte_offset == 0
        assert tensor.data % 64 == 0
        assert struct.deleter and struct.manager_ctx
        del capsule


@pytest.mark.trap("P09")
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5, 2), (2, 3, 0)])
def test_empty_arrays_export_strides_and_address(shape):
    array = memarray.MemArray(shape)
    with array.write() as lease:
        tensor = struct_of(capsule := lease.__dlpack__()).tensor
        assert tensor.strides and tensor.data
        del capsule
        assert np.from_dlpack(lease).shape == shape


@pytest.mark.parametrize("kind", ARRAYS)
def test_read_only_flag_is_set_except_under_write_lease(kind):
    array, _ = filled((4,))
    source = ARRAYS[kind](array)
    if kind != "array":
        source.__enter__()
    capsule = source.__dlpack__(max_version=(1, 0))
    assert struct_of(capsule).flags == (0 if kind == "write" else READ_ONLY)
    view = np.from_dlpack(source)
    assert view.flags.writeable == (kind == "write")
    if kind != "array":
        source.close()


@pytest.mark.trap("P07")
@pytest.mark.parametrize("asked", [None, (0, 8)], ids=str)
@pytest.mark.parametrize("kind", ["array", "read"])
def test_unversioned_export_of_read_only_memory_is_refused(kind, asked):
    array, _ = filled((4,))
    source = ARRAYS[kind](array)
    if kind == "read":
        source.__enter__()
    with pytest.raises(BufferError, match=r"read-only.*max_version=\(1, 0\).*get_dlpack"):
        source.__dlpack__(max_version=asked)
    if kind == "read":
        source.close()
    array.fill(1)


@pytest.mark.trap("P15")
@pytest.mark.sanitize
@pytest.mark.parametrize("version", [None, (1, 0)], ids=str)
@pytest.mark.parametrize("kind", ARRAYS)
def test_export_copy_is_independent_of_the_array(kind, version, copies):
    array, values = filled((3, 5))
    source = ARRAYS[kind](array)
    if kind != "array":
        source.__enter__()
    capsule = source.__dlpack__(max_version=version, copy=True)
    if version:
        assert struct_of(capsule).flags == IS_COPIED
    taken = Taken(capsule)
    if kind != "array":
        source.close()
    address = np.from_dlpack(array).ctypes.data
    assert taken.managed.tensor.data != address
    array.fill(0)
    assert np.from_dlpack(array).ctypes.data == address, "a copy is no view that the array must leave"
    assert taken.bytes() == values.tobytes()
    taken.write(bytes(values.nbytes))
    taken.drop()
    assert copies() == 0


def test_numpy_copy_argument_is_honoured():
    array, values = filled((3,))
    with array.read() as lease:
        copied = np.from_dlpack(lease, copy=True)
        assert copied.flags.writeable
        assert_same_values(copied, values)
        shared = np.from_dlpack(lease, copy=False)
        assert not np.shares_memory(copied, shared)
    copied[:] = 7
    assert_same_values(look(array), values)


def test_explicit_defaults_export_the_same_memory(lease):
    for options in (
        {"copy": None},
        {"copy": False},
        {"dl_device": None},
        {"dl_device": (1, 0)},
        {"dl_device": (memarray.dlpack.kDLCPU, 0)},
        {"stream": None},
        {"stream": None, "max_version": (1, 0), "dl_device": (1, 0), "copy": False},
    ):
        capsule = lease.__dlpack__(**options)
        assert struct_of(capsule).tensor.data == np.asarray(lease).ctypes.data


@pytest.mark.trap("P16")
@pytest.mark.parametrize("stream", [0, 1, 2, -1, 140_000_000, 2**70])
def test_a_stream_on_the_cpu_is_refused(lease, stream):
    with pytest.raises(ValueError, match=rf"stream={stream} .*on the CPU.*pass stream=None"):
        lease.__dlpack__(stream=stream)


@pytest.mark.parametrize("device", [(2, 0), (2, 1), (1, 1), (3, 0), (12, 0), (0, 0), (-1, -1), (99, 0)])
def test_a_device_that_cannot_be_served_is_refused(lease, device):
    with pytest.raises(BufferError, match=r"dl_device=\(.*move_memory"):
        lease.__dlpack__(dl_device=device)
    with pytest.raises(BufferError):
        lease.__dlpack__(dl_device=device, copy=False, max_version=(1, 0))


@pytest.mark.trap("P14")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: x.__dlpack__(None), "takes 0 positional arguments but 1 were given"),
        (lambda x: x.__dlpack__(1, 2, 3), "takes 0 positional arguments but 3 were given"),
        (lambda x: x.__dlpack__(version=None), "unexpected keyword argument 'version'"),
        (lambda x: x.__dlpack__(max_versiön=None), "unexpected keyword argument 'max_versiön'"),
        (lambda x: x.__dlpack__(**{"": None}), "unexpected keyword argument ''"),
        (lambda x: x.__dlpack__(max_version=1), "max_version must be None or a tuple of two integers"),
        (lambda x: x.__dlpack__(max_version=(1,)), "max_version must be None or a tuple of two integers"),
        (lambda x: x.__dlpack__(max_version=(1, 0, 0)), "max_version must be None or a tuple of two integers"),
        (lambda x: x.__dlpack__(max_version=[1, 0]), "max_version must be None or a tuple of two integers"),
        (lambda x: x.__dlpack__(max_version=("1", 0)), "integer"),
        (lambda x: x.__dlpack__(max_version=(1, 0.5)), "integer"),
        (lambda x: x.__dlpack__(dl_device="cpu"), "dl_device must be None or a tuple of two integers"),
        (lambda x: x.__dlpack__(dl_device=(1, None)), "integer"),
        (lambda x: x.__dlpack__(copy=1), "copy must be None, True or False"),
        (lambda x: x.__dlpack__(copy="yes"), "copy must be None, True or False"),
        (lambda x: x.__dlpack__(stream="0"), "stream must be None or an integer"),
        (lambda x: x.__dlpack__(stream=1.0), "stream must be None or an integer"),
        (lambda x: x.__dlpack_device__(0), "takes no arguments"),
        (lambda x: x.__dlpack_device__(device=0), "takes no arguments"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_arguments_are_type_errors(lease, call, words):
    for source in (lease, memarray.MemArray([2])):
        with pytest.raises(TypeError, match=words):
            call(source)


def test_numbers_beyond_c_long_are_refused(lease):
    with pytest.raises(OverflowError):
        lease.__dlpack__(max_version=(2**70, 0))
    with pytest.raises(OverflowError):
        lease.__dlpack__(dl_device=(1, 2**70))


@pytest.mark.trap("P13")
def test_keyword_names_need_not_be_interned(lease):
    for name, value in (("max_version", (1, 0)), ("stream", None), ("dl_device", (1, 0)), ("copy", False)):
        made = "".join(list(name))
        assert made is not sys.intern(name)
        assert "dltensor" in name_of(lease.__dlpack__(**{made: value}))
    made = "".join(["time", "out"])
    with memarray.MemArray([1]).read(**{made: 0}):
        pass


@pytest.mark.trap("T13")
def test_export_shows_preceding_writes():
    array = memarray.MemArray([2**20], "int64")
    for step in range(1, 6):
        array.add_index_tuple()
        array.move_memory(memarray.dlpack.kDLCPU, async_copy=True)
        with array.get_dlpack() as lease:
            np.testing.assert_array_equal(np.from_dlpack(lease)[:: 2**14], step * np.arange(0, 2**20, 2**14))
    del lease


def test_from_dlpack_on_the_array_itself_is_a_read_only_snapshot(copies):
    array, values = filled((3, 2))
    view = np.from_dlpack(array)
    assert array.lock_id == -1
    assert not view.flags.writeable
    array.fill(0)
    assert_same_values(view, values)
    assert copies() == 0
    with array.write(), pytest.raises(memarray.LockError):
        np.from_dlpack(array)
