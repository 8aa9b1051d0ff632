"""Every dtype, rank, layout and source of memory, as C++ sees it."""

import array
import gc
import importlib
import os
import sys
from pathlib import Path

import arguments
import memarray
import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "python"))
from dtype_values import edges
from support import pattern

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = ("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
#: Shapes by rank. All but the first have room for every edge value of a real number. In floats, the last element, which
#: `spread` copies, is NaN, a subnormal, -0.0 or infinite.
SHAPES = ((), (38,), (7, 6), (4, 6, 2), (3, 4, 2, 5), (3, 4, 2, 5, 1), (3, 4, 2, 5, 1, 2))
#: Libraries whose absence is an error. Tests of any other missing library are skipped.
PEERS = os.environ.get("MEMARRAY_TEST_PEERS", "").split()


def peer(name):
    return importlib.import_module(name) if name in PEERS else pytest.importorskip(name)


def numbers(name, shape):
    """Returns small numbers and edge values of the dtype, in turn."""
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    return pattern(shape, name)


def fortran(name, shape):
    return np.asfortranarray(numbers(name, shape))


def negative(name, shape):
    return numbers(name, shape)[(slice(None, None, -1),) * len(shape)]


def sliced(name, shape):
    x = numbers(name, [2 * n for n in shape])[(slice(1, None, 2),) * len(shape)]
    # Every second element of the pattern is an edge value.
    x[...] = numbers(name, shape)
    return x


def offset(name, shape):
    return numbers(name, [n + 1 for n in shape])[(slice(1, None),) * len(shape)]


def empty(name, shape):
    return numbers(name, (*shape[:-1], 0))


def mixed(name, shape):
    x = numbers(name, shape).T
    return x[..., ::-1]


LAYOUTS = (numbers, fortran, negative, sliced, offset, empty, mixed)


def cases(layout, name, ndim):
    """Yields the array of a layout and rank. Without dimensions: an array for each edge value."""
    if ndim:
        yield layout(name, SHAPES[ndim])
        return
    numbers(name, ())  # skips the test if the dtype is missing
    for value in edges(name)[:, np.newaxis]:
        yield value.reshape(())


#: Parameters of any rank: what looks through them, and what writes.
KINDS = {
    "view": (arguments.look, arguments.spread),
    "mdspan": (arguments.look_at_mdspan, arguments.spread_in_mdspan),
}
of_both_kinds = pytest.mark.parametrize(("look", "spread"), KINDS.values(), ids=KINDS)


def check(seen, x, name):
    dtype, address, shape, strides, elements = seen
    assert (dtype, shape) == (name, x.shape)
    assert elements == np.ascontiguousarray(x).tobytes()
    if x.size:
        assert address == x.__array_interface__["data"][0]
        for d in range(x.ndim):
            assert x.shape[d] == 1 or strides[d] * x.itemsize == x.strides[d]


def check_spread(x, before):
    """Checks that all elements have the bits of the last one from before."""
    assert x.size == 0 or x.tobytes() == before[(-1,) * before.ndim].tobytes() * x.size


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ndim", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", DTYPES)
def test_numpy_arrays_are_passed_in_every_layout(name, ndim, layout):
    x = layout(name, SHAPES[ndim])
    kept = x.copy()
    check(arguments.look(x, name, ndim), x, name)
    assert arguments.spread(x, name, ndim) == x.size
    check_spread(x, kept)
    kept = x.copy()
    x.flags.writeable = False
    check(arguments.look(x, name, ndim), x, name)
    with pytest.raises(TypeError, match=r"writable memory.*read-only"):
        arguments.spread(x, name, ndim)
    assert x.tobytes() == kept.tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ndim", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", DTYPES)
def test_numpy_arrays_are_passed_as_mdspans(name, ndim, layout):
    x = layout(name, SHAPES[ndim])
    kept = x.copy()
    steps = [step for step, extent in zip(x.strides, x.shape, strict=True) if x.size and extent > 1]
    if any(step <= 0 for step in steps):
        for call in KINDS["mdspan"]:
            with pytest.raises(TypeError, match="the strides"):
                call(x, name, ndim)
        assert x.tobytes() == kept.tobytes()
    else:
        check(arguments.look_at_mdspan(x, name, ndim), x, name)
        assert arguments.spread_in_mdspan(x, name, ndim) == x.size
        check_spread(x, kept)
        x[...] = kept
    with pytest.raises(TypeError, match="the number of dimensions"):
        arguments.look_at_mdspan(x, name, ndim - 1)
    x.flags.writeable = False
    if all(step > 0 for step in steps):
        check(arguments.look_at_mdspan(x, name, ndim), x, name)
    with pytest.raises(TypeError, match=r"writable memory.*read-only memory.*it is read-only"):
        arguments.spread_in_mdspan(x, name, ndim)
    assert x.tobytes() == kept.tobytes()


def check_spans(given, x, name):
    """Checks spans of a writable line of memory at the address of `x`, and of parts of it."""
    check(arguments.look_at_span(given, name), x, name)
    check(arguments.look_at_span(given[1:3], name), x[1:3], name)
    kept = x.copy()
    assert arguments.spread_in_span(given, name) == x.size
    check_spread(x, kept)
    assert arguments.spread_in_span(given[:0], name) == 0
    for call in (arguments.look_at_span, arguments.spread_in_span):
        with pytest.raises(TypeError, match="the strides"):
            call(given[::2], name)
        with pytest.raises(TypeError, match="the dtype"):
            call(given, "int8" if name != "int8" else "bool")


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_arrays_are_passed_as_spans(name):
    x = numbers(name, SHAPES[1])
    check_spans(x, x, name)
    x = numbers(name, SHAPES[1])
    kept = x.copy()
    x.flags.writeable = False
    check(arguments.look_at_span(x, name), x, name)
    with pytest.raises(TypeError, match=r"writable memory.*read-only memory.*it is read-only"):
        arguments.spread_in_span(x, name)
    assert x.tobytes() == kept.tobytes()


@pytest.mark.parametrize("name", DTYPES)
def test_arrays_leases_and_views_are_passed_as_spans(name):
    x = numbers(name, SHAPES[1])
    a = memarray.MemArray(x.shape, name)
    a.read_numpy_array(x)
    copies = memarray.stats()["copies"]
    assert arguments.look_at_span(a, name) == (name, arguments.look(a, name, 1)[1], x.shape, (1,), x.tobytes())
    with a.read() as lease:
        for given in (lease, lease.view(), a):
            assert arguments.look_at_span(given, name)[4] == x.tobytes()
        for given in (lease, lease.view()):
            with pytest.raises(TypeError, match=r"writable memory.*read-only memory.*it is read-only"):
                arguments.spread_in_span(given, name)
        with pytest.raises(memarray.LockError, match="leased for reading"):
            arguments.spread_in_span(a, name)
    del given
    with a.write() as lease:
        with pytest.raises(memarray.LockError, match="leased for writing"):
            arguments.look_at_span(a, name)
        assert arguments.spread_in_span(lease, name) == x.size
        x[...] = x[-1]
        assert arguments.look_at_span(lease.view(), name)[4] == x.tobytes()
    x = numbers(name, SHAPES[1])
    a.read_numpy_array(x)
    assert arguments.spread_in_span(a, name) == x.size
    x[...] = x[-1]
    assert arguments.look_at_span(a, name)[4] == x.tobytes()
    assert memarray.stats()["copies"] == copies
    with a.write() as lease:
        check_spans(lease.view(), np.asarray(lease.view()), name)


@of_both_kinds
@pytest.mark.parametrize("name", DTYPES)
def test_zero_dimensional_numpy_arrays_are_passed(name, look, spread):
    for x in cases(numbers, name, 0):
        kept = x.copy()
        check(look(x, name, 0), x, name)
        assert spread(x, name, 0) == 1
        check_spread(x, kept)


@of_both_kinds
@pytest.mark.parametrize("ndim", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", DTYPES)
def test_arrays_leases_and_views_are_passed(name, ndim, look, spread):
    x = numbers(name, SHAPES[ndim])
    a = memarray.MemArray(x.shape, name)
    a.read_numpy_array(x)
    copies = memarray.stats()["copies"]
    assert look(a, name, ndim)[4] == x.tobytes()
    assert spread(a, name, ndim) == x.size
    x[...] = x[(-1,) * ndim]
    with a.read() as lease:
        assert look(lease, name, ndim)[4] == x.tobytes()
        assert look(lease.view(), name, ndim)[4] == x.tobytes()
        assert look(a, name, ndim)[4] == x.tobytes(), "readers do not mind each other"
        with pytest.raises(TypeError, match="read-only"):
            spread(lease, name, ndim)
        with pytest.raises(memarray.LockError):
            spread(a, name, ndim)
    with a.write() as lease:
        assert spread(lease, name, ndim) == x.size
        back = lease.view()[::-1]
        if spread is arguments.spread:
            assert spread(back, name, ndim) == x.size
        else:
            with pytest.raises(TypeError, match="the strides"):
                spread(back, name, ndim)
        assert look(lease, name, ndim)[4] == x.tobytes()
        with pytest.raises(memarray.LockError):
            look(a, name, ndim)
    assert memarray.stats()["copies"] == copies


@pytest.mark.parametrize("ndim", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", DTYPES)
def test_arrays_are_passed_by_reference_and_returned_by_value(name, ndim):
    """Arrays go in by reference and come back by value. The function itself checks for other leases."""
    spread = getattr(arguments, f"spread_{name}_{ndim}")
    x = numbers(name, SHAPES[ndim])
    a = memarray.MemArray(x.shape, name)
    a.read_numpy_array(x)
    before = memarray.stats()["live_blocks"], memarray.stats()["copies"], arguments.look(a, name, ndim)[1]
    made = spread(a)
    assert (type(made), made.shape, made.lock_id) == (memarray.MemArray, x.shape, -1)
    assert arguments.look(made, name, ndim)[4] == x.tobytes()
    assert memarray.stats()["live_blocks"] == before[0] + 1, "it is handed over"
    x[...] = x[(-1,) * ndim]
    assert arguments.look(a, name, ndim)[4] == x.tobytes()
    del made
    assert (memarray.stats()["live_blocks"], memarray.stats()["copies"], arguments.look(a, name, ndim)[1]) == before
    with a.write():
        assert arguments.look(spread(a), name, ndim)[4] == x.tobytes()
    with a.read(), pytest.raises(memarray.LockError, match=r"fill is refused.*leased for reading"):
        spread(a)
    refuses_other_arrays(spread, name, ndim)
    for memory in (x, a.view(), None):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            spread(memory)


@pytest.mark.parametrize("ndim", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", DTYPES)
def test_shared_pointers_are_passed_and_returned(name, ndim):
    x = numbers(name, SHAPES[ndim])
    a = memarray.MemArray(x.shape, name)
    before = memarray.stats()["live_blocks"], memarray.stats()["copies"]
    with a.write():
        passed = arguments.pass_pointer(a, name, ndim)
        assert passed.lock_id == a.lock_id, "it is the same array"
    assert (memarray.stats()["live_blocks"], memarray.stats()["copies"]) == before
    a.read_numpy_array(x)
    del a
    gc.collect()
    assert (type(passed), passed.shape) == (memarray.MemArray, x.shape)
    assert arguments.look(passed, name, ndim)[4] == x.tobytes()
    assert arguments.pass_pointer(None, name, ndim) is None
    refuses_other_arrays(lambda other: arguments.pass_pointer(other, name, ndim), name, ndim)


def refuses_other_arrays(call, name, ndim):
    """Checks that arrays of another dtype or rank are refused."""
    other = memarray.MemArray(SHAPES[ndim], "int8" if name != "int8" else "bool")
    for wrong in (other, memarray.MemArray([1] * (ndim % 6 + 1), name)):
        with pytest.raises(TypeError, match=f"a MemArray<{name}, {ndim}> is needed, not MemArray<"):
            call(wrong)


@pytest.mark.parametrize(
    ("code", "name"), [("b", "int8"), ("H", "uint16"), ("i", "int32"), ("q", "int64"), ("d", "float64")]
)
def test_buffers_are_passed(code, name):
    data = array.array(code, [3, 1, 4, 1, 5])
    assert arguments.look(data, name, 1)[4] == data.tobytes()
    assert arguments.look(memoryview(data)[::-2], name, 1)[2:4] == ((3,), (-2,))
    arguments.spread(memoryview(data)[:4], name, 1)
    assert data.tolist() == [1, 1, 1, 1, 5]


def test_bytes_are_passed_read_only():
    assert arguments.look(b"abc", "uint8", 1)[4] == b"abc"
    assert arguments.look_at_mdspan(b"abc", "uint8", 1)[4] == arguments.look_at_span(b"abc", "uint8")[4] == b"abc"
    for call in (arguments.spread, arguments.spread_in_mdspan):
        with pytest.raises(TypeError, match="read-only"):
            call(b"abc", "uint8", 1)
    with pytest.raises(TypeError, match="read-only"):
        arguments.spread_in_span(b"abc", "uint8")


def of_torch(x, name):
    """A tensor of the array's memory."""
    torch = peer("torch")
    return torch.from_numpy(x.view("int16")).view(torch.bfloat16) if name == "bfloat16" else torch.from_numpy(x)


@of_both_kinds
@pytest.mark.parametrize("layout", [numbers, fortran, sliced, offset, empty])
@pytest.mark.parametrize("ndim", range(7))
@pytest.mark.parametrize("name", DTYPES)
def test_torch_tensors_are_passed_in_every_layout(name, ndim, layout, look, spread):
    peer("torch")
    if layout is not numbers and ndim == 0:
        pytest.skip("one element has one layout")
    for x in cases(layout, name, ndim):
        t = of_torch(x, name)
        check(look(t, name, ndim), x, name)
        kept = x.copy()
        assert spread(t, name, ndim) == x.size
        check_spread(x, kept)


@pytest.mark.parametrize("name", DTYPES)
def test_torch_tensors_are_passed_as_spans(name):
    x = numbers(name, SHAPES[1])
    check_spans(of_torch(x, name), x, name)


@pytest.fixture
def jax():
    """With elements of 64 bits, which it leaves out otherwise."""
    jax = peer("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


@of_both_kinds
@pytest.mark.parametrize("layout", [numbers, empty])
@pytest.mark.parametrize("ndim", range(7))
@pytest.mark.parametrize("name", DTYPES)
def test_jax_arrays_are_passed_read_only(name, ndim, layout, look, spread, jax):
    if layout is not numbers and ndim == 0:
        pytest.skip("one element has one layout")
    for x in cases(layout, name, ndim):
        j = jax.numpy.asarray(x)
        dtype, address, shape, _, elements = look(j, name, ndim)
        assert (dtype, shape, elements) == (name, x.shape, x.tobytes())
        if x.size:
            assert address == j.unsafe_buffer_pointer()
        with pytest.raises(TypeError, match=r"writable memory.*read-only"):
            spread(j, name, ndim)
        assert np.asarray(j).tobytes() == x.tobytes()


@pytest.mark.parametrize("name", DTYPES)
def test_jax_arrays_are_passed_as_read_only_spans(name, jax):
    x = numbers(name, SHAPES[1])
    j = jax.numpy.asarray(x)
    assert arguments.look_at_span(j, name) == (name, j.unsafe_buffer_pointer(), x.shape, (1,), x.tobytes())
    with pytest.raises(TypeError, match=r"writable memory.*read-only memory.*it is read-only"):
        arguments.spread_in_span(j, name)
    assert np.asarray(j).tobytes() == x.tobytes()
