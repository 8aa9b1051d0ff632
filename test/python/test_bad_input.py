"""Bad arguments raise the right exception with a helpful message, and change nothing."""

from decimal import Decimal

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from support import filled

new = memarray.MemArray
CPU, CUDA = memarray.dlpack.kDLCPU, memarray.dlpack.kDLCUDA

#: (call, exception, pattern of its message).
MAKING = [
    # shapes
    (lambda: new(True), TypeError, r"an integer or a sequence of integers, such as \[2, 4, 7\], not True"),
    (lambda: new(-1), ValueError, r"-1"),
    (lambda: new(2**63), OverflowError, r"does not fit into 64 bits"),
    (lambda: new(None), TypeError, r"sequence of integers, such as \[2, 4, 7\], not None"),
    (lambda: new(2.5), TypeError, r"sequence of integers"),
    (lambda: new("23"), TypeError, r"sequence of integers"),
    (lambda: new({2, 3}), TypeError, r"sequence of integers, such as \[2, 4, 7\], not a set of 2 items"),
    (lambda: new(frozenset([2])), TypeError, r"sequence of integers"),
    (lambda: new({2: 3}), TypeError, r"sequence of integers"),
    (lambda: new(b"23"), TypeError, r"sequence of integers"),
    (lambda: new([2, "3"]), TypeError, r"extent 1 is '3'"),
    (lambda: new([2.0, 3]), TypeError, r"extent 0 is 2.0"),
    (lambda: new([2, None]), TypeError, r"extent 1 is None"),
    (lambda: new([True, 2]), TypeError, r"extent 0 is True"),
    (lambda: new([[2], [3]]), TypeError, r"extent 0 is \[2\]"),
    (lambda: new([-1]), ValueError, r"-1"),
    (lambda: new([3, -(2**63)]), ValueError, r"-9223372036854775808"),
    (lambda: new([2**63]), OverflowError, r"9223372036854775808, does not fit into 64 bits"),
    (lambda: new([-(2**63) - 1]), OverflowError, r"does not fit into 64 bits"),
    (lambda: new([10**30, 0]), OverflowError, r"does not fit into 64 bits"),
    (lambda: new([2**32, 2**32]), OverflowError, r"4294967296"),
    (lambda: new([2**60], "float64"), OverflowError, r"1152921504606846976"),
    (lambda: new([2**31, 2**31, 4]), OverflowError, r"2147483648"),
    (lambda: new([2**62], "int8"), MemoryError, r"4611686018427387904"),
    (lambda: new([]), memarray.UnsupportedTypeError, r"MemArray<float64, 0>.*There are: .*bind_mem_array<T, ndim>"),
    (lambda: new([1] * 7), memarray.UnsupportedTypeError, r"MemArray<float64, 7>.*float64.* with ndim 1 to 6"),
    (lambda: new(), TypeError, r"shape"),
    # dtypes
    (lambda: new([2], "float128"), memarray.UnsupportedTypeError, r"MemArray<(float128|longdouble), 1>"),
    (lambda: new([2], "S5"), memarray.UnsupportedTypeError, r"There are: "),
    (lambda: new([2], "M8[s]"), memarray.UnsupportedTypeError, r"MemArray<datetime64\[s\], 1>"),
    (lambda: new([2], object), memarray.UnsupportedTypeError, r"MemArray<object, 1>"),
    (lambda: new([2], [("x", "f8")]), memarray.UnsupportedTypeError, r"There are: "),
    (lambda: new([2], "nonsense"), memarray.UnsupportedTypeError, r"MemArray<'nonsense', 1>.*There are: .*float64"),
    (lambda: new([2], "float65"), memarray.UnsupportedTypeError, r"MemArray<'float65', 1>.*There are: .*float64"),
    (lambda: new([2], 7), memarray.UnsupportedTypeError, r"MemArray<7, 1>.*There are: .*float64"),
    (lambda: new([2], (1, 2, 3)), memarray.UnsupportedTypeError, r"There are: .*float64"),
    (
        lambda: memarray.BufferView.from_buffer(b"", "float65"),
        memarray.UnsupportedTypeError,
        r"no dtype 'float65'. There are: bool, .*float64",
    ),
    (
        lambda: memarray.BufferView(np.zeros(2)).cast(7),
        memarray.UnsupportedTypeError,
        r"no dtype 7. There are: bool, .*float64",
    ),
    (lambda: new([2], ">f8"), TypeError, r"native byte order, not '>f8'; convert with .astype\('float64'\)"),
    # device ids
    (lambda: new([2], device_id=-1), ValueError, r"device_id is -1; device ids start at 0"),
    (lambda: new([2], device_id=2**31), ValueError, r"device ids start at 0, and none is above 2147483647"),
    (lambda: new([2], device_id=0.0), TypeError, r"device_id must be an integer, not 0.0"),
    (lambda: new([2], device_id="cuda:0"), TypeError, r"device_id must be an integer"),
    (lambda: new([2], device_id=True), TypeError, r"device_id must be an integer"),
    # Before NumPy 2.3, its bools have `__index__`.
    (lambda: new([2], device_id=np.True_), TypeError, r"device_id must be an integer"),
    (lambda: new(np.True_), TypeError, r"sequence of integers"),
    (lambda: new([2, np.True_]), TypeError, r"extent 1 is np.True_"),
    (lambda: memarray.Device("cuda", np.True_), TypeError, r"index must be an integer"),
    (lambda: new([2]).view().sum(axis=np.True_), TypeError, r"axis is None, an integer"),
    (lambda: new([2]).add_index_tuple(np.True_), TypeError, r"stream must be None, an integer"),
    # axes
    (lambda: new([2]).view().sum(axis=1000), IndexError, r"axis 1000 is out of range for a view of 1 dimensions"),
    (lambda: new([2]).view().sum(axis=2**70), IndexError, rf"axis {2**70} is out of range for a view of 1 dimensions"),
    (
        lambda: new([2]).view().max(axis=-(2**40)),
        IndexError,
        rf"axis {-(2**40)} is out of range for a view of 1 dimensions",
    ),
    (lambda: new([2]).view().transpose(2**70), OverflowError, rf"axis 0 of the axes, {2**70}, does not fit"),
    (lambda: new([2]).view().transpose("0", 1), TypeError, r"axes are a sequence of integers; axis 0 is '0'"),
    # no arguments
    (lambda: new([2]).view().close(1), TypeError, r"close\(\) takes no arguments"),
    (lambda: new([2]).read().close(1), TypeError, r"close\(\) takes no arguments"),
    (lambda: new([2]).move_memory(CUDA, np.True_), TypeError, r"device_id must be an integer"),
    # other arguments
    (lambda: new([2], uninitialized=1), TypeError, r"uninitialized must be True or False, not 1"),
    (lambda: new([2], None, 0, True), TypeError, r"positional"),
    (lambda: new([2], order="C"), TypeError, r"order"),
    (lambda: memarray.Lease(), TypeError, r"cannot create"),
    (lambda: object.__new__(new), TypeError, r"not safe"),
    (
        lambda: new._TYPE_INSTANCE_MAP["float64", 1](int, [2], 0, False),
        TypeError,
        r"not a subclass of memarray.MemArray",
    ),
    (lambda: new.from_numpy(np.zeros(())), memarray.UnsupportedTypeError, r"MemArray<float64, 0>"),
    (lambda: new.from_numpy(np.array(["a"])), memarray.UnsupportedTypeError, r"There are: "),
    (lambda: new.from_numpy([[1, 2], [3]]), ValueError, r""),
    # devices by name
    (lambda: memarray.Device("gpu"), ValueError, r"'cpu', 'cuda' or 'cuda:<number>', not 'gpu'"),
    (lambda: memarray.Device("cuda:-1"), ValueError, r"'cuda:<number>'"),
    (lambda: memarray.Device("cuda:"), ValueError, r"'cuda:<number>'"),
    (lambda: memarray.Device("cpu:1"), ValueError, r"'cpu'"),
    (lambda: memarray.Device(None), ValueError, r"'cpu'"),
    (lambda: memarray.Device("cuda:99999999999"), ValueError, r"no such device: 'cuda:99999999999' .*most 2147483647"),
    (lambda: memarray.Device("cuda:2147483648"), ValueError, r"at most 2147483647"),
    (lambda: memarray.Device("cuda:" + "9" * 10000), ValueError, r"at most 2147483647"),
    # leases of objects that are not leases
    (lambda: memarray.leases(1), TypeError, r"leases\(\) takes leases, such as a.read\(\) and b.write\(\), not 1"),
    (lambda: memarray.leases(new([1])), TypeError, r"takes leases"),
    (lambda: memarray.leases(wait=1), TypeError, r"unexpected keyword argument 'wait'"),
    (lambda: memarray.leases(timeout=-1), ValueError, r"timeout must be 0 or more seconds"),
    (lambda: memarray.leases(timeout="1"), TypeError, r"timeout must be seconds as a number"),
    # integers with a fraction, or out of range
    (lambda: memarray.Stream(priority=np.float32(1.9)), TypeError, r"expected an integer of 32 bits, got "),
    (lambda: memarray.Stream(priority=2**31), TypeError, r"expected an integer of 32 bits, got 2147483648"),
    (lambda: memarray._core.trim(Decimal("1.9")), TypeError, r"expected an integer from 0 to 2\*\*64 - 1, got Decimal"),
    (lambda: memarray._core.trim(2**64), TypeError, r"integer from 0 to 2\*\*64 - 1, got 18446744073709551616"),
    (
        lambda: memarray.MemoryPool(release_threshold=Decimal("1.9")),
        TypeError,
        r"expected None or an integer from 0 to 2\*\*64 - 1, got Decimal",
    ),
]

CALLS = [
    # time-outs
    *(
        (lambda a, take=take, value=value: getattr(a, take)(timeout=value), error, words)
        for take in ("read", "write")
        for value, error, words in (
            (-1, ValueError, r"timeout must be 0 or more seconds, or None, not -1"),
            (-0.5, ValueError, r"not -0.5"),
            (float("nan"), ValueError, r"not nan"),
            ("1", TypeError, r"timeout must be seconds as a number, or None to wait until Ctrl-C, not '1'"),
            (True, TypeError, r"timeout must be seconds"),
            ([1], TypeError, r"timeout must be seconds"),
            (-(10**400), ValueError, r"timeout must be 0 or more seconds"),
        )
    ),
    # devices
    (lambda a: a.read(device="gpu"), ValueError, r"'cpu'.*'cuda"),
    (lambda a: a.read(device="cuda:x"), ValueError, r"'cuda"),
    (lambda a: a.read(device="cuda:99999999999"), ValueError, r"no such device: 'cuda:99999999999' .*most 2147483647"),
    (lambda a: a.read(device="cuda:" + "9" * 10000), ValueError, r"such device: a str of 10005 char.* most 2147483647"),
    (lambda a: a.read(device="g" * 10000), ValueError, r"'cuda:<number>', not a str of 10000 characters"),
    (lambda a: a.write(device=1), ValueError, r"1"),
    (
        lambda a: a.read(device="cuda:77").__enter__(),
        memarray.CudaError,
        r"a read lease on cuda:77: .*stays on the host",
    ),
    (lambda a: a.write(device=memarray.Device("cuda:78")).__enter__(), memarray.CudaError, r"on cuda:78"),
    (lambda a: a.get_dlpack(CUDA, 77).__enter__(), memarray.CudaError, r"stays on the host"),
    (
        lambda a: a.get_dlpack("cpu"),
        TypeError,
        r"device_type must be one of memarray.dlpack \(kDLCPU, kDLCUDA\), not 'cpu'",
    ),
    (lambda a: a.get_dlpack(99).__enter__(), ValueError, r"kDLCPU.*kDLCUDA"),
    (lambda a: a.get_dlpack(CUDA, -1), ValueError, r"device_id is -1; device ids start at 0"),
    (lambda a: a.get_dlpack(CUDA, "0"), TypeError, r"device_id must be an integer, not '0'"),
    (lambda a: a.get_dlpack(CUDA, 2**31), ValueError, r"device ids start at 0"),
    (lambda a: a.get_dlpack(CUDA, 2**80), ValueError, r"device ids start at 0"),
    (lambda a: a.move_memory(), TypeError, r"needs device_type: memarray.dlpack.kDLCPU or kDLCUDA"),
    (lambda a: a.move_memory("cuda"), TypeError, r"device_type must be one of memarray.dlpack"),
    (lambda a: a.move_memory(True), TypeError, r"device_type must be one of memarray.dlpack"),
    (lambda a: a.move_memory(CUDA, 77), memarray.CudaError, r"move_memory on cuda:77: .*stays on the host"),
    (lambda a: a.move_memory(CUDA, 78), memarray.CudaError, r"move_memory on cuda:78"),
    (lambda a: a.move_memory(CUDA, -5), ValueError, r"device ids start at 0$"),
    (
        lambda a: a.move_memory(CUDA, 2**40),
        ValueError,
        r"device_id is 1099511627776; device ids start at 0, and none is above 2147483647",
    ),
    (
        lambda a: a.move_memory(memarray.dlpack.kDLExtDev),
        ValueError,
        r"lives on the CPU \(kDLCPU\) or on a CUDA device",
    ),
    (lambda a: a.move_memory(0), ValueError, r"kDLCPU"),
    (lambda a: a.move_memory(-1), ValueError, r"kDLCPU"),
    (lambda a: a.move_memory(2**32 + 1), ValueError, r"device_type is 4294967297; it is one of memarray.dlpack"),
    (lambda a: a.move_memory(10**30), ValueError, r"one of memarray.dlpack"),
    (lambda a: a.move_memory(CPU, async_copy=1), TypeError, r"async_copy must be True or False, not 1"),
    # streams
    (lambda a: a.move_memory(CPU, stream="0"), TypeError, r"stream must be None, an integer, a memarray.Stream or an"),
    (lambda a: a.read(stream=-2), ValueError, r"None, -1, 0, 1, 2 or the address of a CUDA stream, not -2"),
    (lambda a: a.read(stream=1.0), TypeError, r"__cuda_stream__"),
    (lambda a: a.read(stream=True), TypeError, r"stream must be"),
    (lambda a: a.get_dlpack(stream=2**80), OverflowError, r""),
    (lambda a: a.add_index_tuple("x"), TypeError, r"stream must be"),
    # arguments
    (lambda a: a.read(None, None, 0, 0), TypeError, r"read\(\) takes 3 positional arguments but 4 were given"),
    (lambda a: a.write(None, None, 0, True), TypeError, r"write\(\) takes 3 positional arguments but 4 were given"),
    (lambda a: a.write(discard=1), TypeError, r"discard must be True or False, not 1"),
    (lambda a: a.read(discard=True), TypeError, r"unexpected keyword argument 'discard'"),
    (lambda a: a.read(None, device=None), TypeError, r"multiple values for argument 'device'"),
    (lambda a: a.fill(), TypeError, r"argument"),
    # contents
    (lambda a: a.fill("x"), TypeError, r""),
    (lambda a: a.fill(None), TypeError, r""),
    (lambda a: a.fill([1.0, 2.0]), TypeError, r"one element, not an array of shape \(2,\); use read_numpy_array"),
    (lambda a: a.fill(1j), TypeError, r"same_kind"),
    (lambda a: a.fill(10**400), OverflowError, r""),
    (lambda a: a.read_numpy_array(np.zeros((3, 2))), ValueError, r"of shape \(2, 3\), not \(3, 2\); resize first"),
    (lambda a: a.read_numpy_array(np.zeros(6)), ValueError, r"not \(6,\)"),
    (lambda a: a.read_numpy_array(1.0), ValueError, r"not \(\)"),
    (lambda a: a.read_numpy_array(np.zeros((2, 3), complex)), TypeError, r"'same_kind'.*complex128 to float64.*astype"),
    (lambda a: a.read_numpy_array(np.zeros((2, 3), object)), TypeError, r"same_kind"),
    (lambda a: a.read_numpy_array(np.zeros((2, 3), "M8[s]")), TypeError, r"same_kind"),
    (lambda a: a.read_numpy_array(np.full((2, 3), "x")), TypeError, r"same_kind"),
    (lambda a: new([2, 3], "bfloat16").read_numpy_array(np.zeros((2, 3), "V2")), TypeError, r"same_kind"),
    (lambda a: new([2, 3], "bfloat16").read_numpy_array(np.zeros((2, 3), "i1,i1")), TypeError, r"same_kind"),
    (lambda a: new([2, 3], "bfloat16").fill(np.void(b"12")), TypeError, r"same_kind"),
    (lambda a: a.read_numpy_array(None), ValueError, r"not \(\)"),
    (lambda a: a.resize(6), ValueError, r"resize keeps the rank"),
    (lambda a: a.resize(True), TypeError, r"sequence of integers, such as \[2, 4, 7\], not True"),
    (lambda a: a.resize([6]), ValueError, r"resize keeps the rank"),
    (lambda a: a.resize([1, 2, 3]), ValueError, r"resize keeps the rank"),
    (lambda a: a.resize("12"), TypeError, r"sequence of integers"),
    (lambda a: a.resize([2, 2.0]), TypeError, r"extent 1 is 2.0"),
    (lambda a: a.resize([-2, 2]), ValueError, r"-2"),
    (lambda a: a.resize([2**40, 2**40]), OverflowError, r""),
    (lambda a: a.resize([2**30, 2**30]), (OverflowError, MemoryError), r""),
    (lambda a: a.resize([2**29, 2**29]), MemoryError, r""),
    (lambda a: a.exchange(np.zeros((2, 3))), TypeError, r"another MemArray, not with"),
    (lambda a: a.exchange(new([2, 3], "int64")), TypeError, r"one dtype and rank, not .*float64.* and .*int64"),
    (lambda a: a.exchange(new([6])), TypeError, r"one dtype and rank"),
    # what an array is not
    (lambda a: a[0, 0], TypeError, r"'with a.read\(\) as lease: x = np.from_dlpack\(lease\)'"),
    (lambda a: a.__setitem__(0, 1.0), TypeError, r"a.write\(\) to change elements"),
    (lambda a: iter(a), TypeError, r"take a lease"),
    (lambda a: list(a), TypeError, r"take a lease"),
    (lambda a: bool(a), TypeError, r"a.size, or lease it"),
    (lambda a: memoryview(a), TypeError, r""),
    (lambda a: a + 1, TypeError, r""),
    (lambda a: setattr(a, "shape", (6,)), AttributeError, r""),
    (lambda a: setattr(a, "dtype", int), AttributeError, r""),
    (lambda a: setattr(a, "new_attribute", 1), AttributeError, r""),
    (lambda a: delattr(a, "escaped_views"), TypeError, r"'snapshot', 'error' or 'alias'"),
    (lambda a: a.read().__enter__(1), TypeError, r"takes no arguments"),
]


def identities(table):
    return [f"{number}-{words[:30]}" for number, (_, _, words) in enumerate(table)]


@pytest.mark.sanitize
@pytest.mark.trap("T12")
def test_an_interrupt_while_an_argument_is_read_is_kept():
    class Interrupted:
        def __index__(self):
            raise KeyboardInterrupt

        def __float__(self):
            raise KeyboardInterrupt

    for shape in (Interrupted(), [2, Interrupted()]):
        with pytest.raises(KeyboardInterrupt):
            new(shape)
    for take in (new([1]).read, new([1]).write, memarray.leases):
        with pytest.raises(KeyboardInterrupt):
            take(timeout=Interrupted())


def test_a_timeout_beyond_floats_is_unlimited():
    array = new([2])
    for timeout in (10**400, 1e300, float("inf")):
        with array.read(timeout=timeout):
            pass


def test_a_generators_own_type_error_is_kept():
    def extents():
        yield 2
        yield len(3)

    with pytest.raises(TypeError, match="has no len"):
        new(extents())
    assert new(extent for extent in (2, 3)).shape == (2, 3)


@pytest.mark.parametrize(("call", "error", "words"), MAKING, ids=identities(MAKING))
def test_bad_construction_arguments_are_refused(call, error, words):
    with pytest.raises(error, match=words or None):
        call()


@pytest.mark.sanitize
@pytest.mark.trap("T12")
@pytest.mark.parametrize(("call", "error", "words"), CALLS, ids=identities(CALLS))
def test_bad_method_arguments_are_refused_and_change_nothing(call, error, words):
    array, values = filled((2, 3))
    with pytest.raises(error, match=words or None):
        call(array)
    assert array.shape == (2, 3)
    assert array.lock_id == -1
    assert array.escaped_views == "snapshot"
    assert_same_values(np.asarray(array), values)
    array.fill(1)


def test_an_integer_is_a_shape_of_one_dimension():
    for shape in (5, np.int64(5), np.array(5)):
        assert new(shape).shape == (5,)
    assert new(0).shape == (0,)
    array = new(3)
    array.resize(5)
    assert array.shape == (5,)


def test_unsupported_type_error_is_a_type_error():
    assert issubclass(memarray.UnsupportedTypeError, memarray.Error)
    assert issubclass(memarray.UnsupportedTypeError, TypeError)


def test_cuda_error_has_code_and_name():
    with pytest.raises(memarray.CudaError) as raised:
        memarray.MemArray([1]).move_memory(memarray.dlpack.kDLCUDA, 2**31 - 1)
    assert (raised.value.code, raised.value.name) == (100, "CUDA_ERROR_NO_DEVICE")
    assert isinstance(raised.value, memarray.Error)


def test_out_of_memory_is_a_memory_error():
    with pytest.raises(memarray.OutOfMemoryError) as raised:
        memarray.MemArray([2**62], "int8")
    assert isinstance(raised.value, MemoryError) and isinstance(raised.value, memarray.CudaError)
    assert raised.value.code == 2


class Odd:
    """An object that raises in every conversion."""

    def __index__(self):
        raise ZeroDivisionError("asked for an index")

    def __float__(self):
        raise ZeroDivisionError("asked for a float")

    def __str__(self):
        raise ZeroDivisionError("asked for a string")

    __repr__ = object.__repr__


@pytest.mark.sanitize
@pytest.mark.parametrize(
    "call",
    [
        lambda a: new([Odd()]),
        lambda a: a.resize([2, Odd()]),
        lambda a: a.read(timeout=Odd()),
        lambda a: a.read(device=Odd()),
        lambda a: a.fill(Odd()),
        lambda a: new([1], device_id=Odd()),
    ],
)
def test_arguments_that_raise_in_conversion_change_nothing(call):
    array, values = filled((2, 3))
    with pytest.raises((ZeroDivisionError, TypeError)):
        call(array)
    assert_same_values(np.asarray(array), values)


class Clearing:
    """An extent that empties its shape when it is read."""

    def __init__(self, shape):
        self.shape = shape

    def __index__(self):
        self.shape.clear()
        return 2


@pytest.mark.sanitize
def test_resize_accepts_shape_list_cleared_during_conversion():
    array, _ = filled((2, 3))
    shape = [None, 3]
    shape[0] = Clearing(shape)
    array.resize(shape)
    assert array.shape == (2, 3)
    assert shape == []
