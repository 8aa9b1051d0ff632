"""Memory in C order, in Fortran order and with strides reaches C++ and comes back without a copy."""

import importlib.util

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from memarray import BufferView
from support import DTYPES, EXTENTS, filled, numpy_dtype, pattern

if importlib.util.find_spec("memory_orders") is None and "site-packages" in memarray.__file__:
    pytest.skip("the module with functions for each order is not installed", allow_module_level=True)
import memory_orders

RANKS = (1, 2, 3, 4)
#: Memory of each order, made of the pattern in C order.
ORDERS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
}
#: The functions in C++ that accept each order in more than one dimension.
ACCEPTED_BY = {
    "C": (memory_orders.rows, memory_orders.strided),
    "F": (memory_orders.columns, memory_orders.strided),
    "strided": (memory_orders.strided,),
}
#: Ways on which the memory reaches the function.
WAYS = {
    "numpy": lambda x: x,
    "view": BufferView,
    "dlpack": memarray.from_dlpack,
    "view of a view": lambda x: BufferView(x.T).T,
}
every_dtype = pytest.mark.parametrize("dtype", DTYPES)
every_rank = pytest.mark.parametrize("ndim", RANKS)
every_order = pytest.mark.parametrize("order", ORDERS)


@pytest.fixture(autouse=True)
def no_copies(copies):
    copies()
    yield
    assert copies() == 0


def made(ndim, dtype, order):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    return ORDERS[order](pattern(EXTENTS[:ndim], dtype))


def address(x):
    return x.__array_interface__["data"][0]


def check_same_memory(back, x):
    """Checks that `back` is `x`, element for element, in the memory of `x`."""
    assert (back.shape, back.strides, back.dtype) == (x.shape, x.strides, x.dtype)
    assert address(back) == address(x)
    assert np.shares_memory(back, x)
    assert_same_values(back, x)


@pytest.mark.parametrize("way", WAYS)
@every_order
@every_rank
@every_dtype
def test_round_trip_through_cpp_keeps_the_address(dtype, ndim, order, way):
    if dtype == "bfloat16" and way == "dlpack":
        pytest.skip("NumPy exports no bfloat16 over DLPack")
    x = made(ndim, dtype, order)
    dense = ndim == 1 and order != "strided"
    accepted = (memory_orders.rows, memory_orders.columns, memory_orders.strided) if dense else ACCEPTED_BY[order]
    for function in (memory_orders.rows, memory_orders.columns, memory_orders.strided):
        if function not in accepted:
            with pytest.raises(TypeError):
                function(WAYS[way](x))
            continue
        seen, reversed_view = function(WAYS[way](x))
        assert seen == address(x)
        check_same_memory(np.asarray(reversed_view), x.T)
        check_same_memory(np.asarray(reversed_view.T), x)


@every_order
@every_rank
@every_dtype
def test_view_knows_its_order(dtype, ndim, order):
    x = made(ndim, dtype, order)
    view = BufferView(x)
    assert (view.is_contiguous(), view.is_fortran_contiguous()) == (x.flags.c_contiguous, x.flags.f_contiguous)
    assert (view.T.is_contiguous(), view.T.is_fortran_contiguous()) == (x.flags.f_contiguous, x.flags.c_contiguous)
    check_same_memory(np.asarray(view), x)


@every_rank
@every_dtype
def test_array_is_the_fortran_array_with_reversed_extents(dtype, ndim):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    a, values = filled(EXTENTS[:ndim], dtype)
    with a.write() as lease:
        view = lease.view()
        where = view.data_ptr
        assert memory_orders.columns(view.T)[0] == where
        x = np.asarray(view.T)
        assert x.flags.f_contiguous and address(x) == where
        assert_same_values(x, values.T)
        del x, view  # a writable view that outlives the lease would make the array continue elsewhere
    # C++ takes the array's rows, and returns its columns.
    seen, columns = memory_orders.rows(a)
    x = np.asarray(columns)
    assert x.flags.f_contiguous and address(x) == seen == where
    assert_same_values(x, values.T)


@every_rank
@every_dtype
def test_array_adopts_fortran_memory(dtype, ndim):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    x = np.asfortranarray(pattern(EXTENTS[:ndim], dtype))
    a = memarray.MemArray.from_dlpack(BufferView(x).T)
    assert a.is_foreign and a.shape == x.shape[::-1]
    with a.write() as lease:
        back = np.asarray(lease.view().T)
        check_same_memory(back, x)
        back[...] = numpy_dtype(dtype).type(1)
        del back
    assert (x == numpy_dtype(dtype).type(1)).all()


def test_columns_of_cpp_arrive_in_fortran_order():
    where, view = memory_orders.make_columns(3, 4)
    x = np.asarray(view)
    assert x.flags.f_contiguous and not x.flags.c_contiguous
    assert address(x) == view.data_ptr == where
    assert x[:, 1].tolist() == [3, 4, 5]
    for back in (np.from_dlpack(view), np.asarray(memoryview(view)), np.asarray(memarray.from_dlpack(view))):
        check_same_memory(back, x)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 5), (5, 1), (1, 1)])
def test_small_memory_has_both_orders(shape):
    x = np.zeros(shape)
    for function in (memory_orders.rows, memory_orders.columns):
        back = np.asarray(function(x)[1])
        assert back.shape == shape[::-1] and back.flags.c_contiguous and back.flags.f_contiguous
    view = BufferView(x)
    assert view.is_contiguous() and view.is_fortran_contiguous()


def test_view_without_dimensions_has_both_orders():
    view = BufferView(np.array(2.5))
    assert view.is_contiguous() and view.is_fortran_contiguous() and view.T.shape == ()


def test_leading_dimension_of_numpy_arrays():
    x = np.zeros((4, 6), order="F")
    assert [memory_orders.leading_dimension(y) for y in (x, x[1:3], x[:, ::2], x[:, :1], x[:1])] == [4, 4, 8, 4, 4]
    for y in (x.T, x[::2], x[:, ::-1]):
        with pytest.raises(ValueError, match="a leading dimension needs columns of adjacent elements"):
            memory_orders.leading_dimension(y)
