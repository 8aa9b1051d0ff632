"""Types of arguments that state more than elements: order, extents, place, streams."""

import arguments
import memarray
import numpy as np
import pytest

X = np.arange(6.0).reshape(2, 3)
CUBES = np.arange(24, dtype="int16").reshape(2, 3, 4)


def weight(x):
    return sum((k + 1) * element for k, element in enumerate(x.ravel().tolist()))


def test_memory_order_selects_the_overload():
    assert arguments.order(X) == "C"
    assert arguments.order(X.T) == "F"
    assert arguments.order(X[:, ::2]) == "strided"
    assert arguments.order(memarray.MemArray([2, 2])) == "C"
    assert arguments.order(X[:1].T) == "C", "a column is dense in both"


def test_memory_order_selects_the_overload_for_int16_rank_3():
    assert arguments.order_of_cubes(CUBES) == "C"
    assert arguments.order_of_cubes(CUBES.T) == "F"
    for strided in (CUBES.transpose(0, 2, 1), CUBES.transpose(1, 0, 2), CUBES[:, :2], CUBES[..., ::-1]):
        assert arguments.order_of_cubes(strided) == "strided"
    a = memarray.MemArray([2, 3, 4], "int16")
    assert arguments.order_of_cubes(a) == "C"
    assert arguments.order_of_cubes(a.view().T) == "F"
    assert arguments.order_of_cubes(a.view().transpose(0, 2, 1)) == "strided"


@pytest.mark.parametrize("x", [X, X[:0], X[:1], X[:, :1].copy()])
def test_c_and_fortran_order_arguments_are_passed(x):
    assert arguments.weigh_c(x) == (weight(x), weight(x), x.size)
    assert arguments.weigh_f(np.asfortranarray(x)) == (weight(x), weight(x), x.size)
    assert arguments.widened(x.copy()) == weight(x)


@pytest.mark.parametrize("x", [CUBES, CUBES[:0], CUBES[:1], CUBES[:, :, 1:2].copy()])
def test_c_and_fortran_order_arguments_are_passed_for_int16_rank_3(x):
    assert arguments.weigh_c_of_cubes(x) == (weight(x), weight(x), x.size)
    assert arguments.weigh_f_of_cubes(np.asfortranarray(x)) == (weight(x), weight(x), x.size)
    assert arguments.widened_of_cubes(x.copy()) == weight(x)
    assert arguments.mdspan_right_of_cubes(x) == weight(x)
    assert arguments.mdspan_left_of_cubes(np.asfortranarray(x)) == weight(x)


def test_other_memory_orders_are_refused():
    with pytest.raises(TypeError, match=r"dense in C order.*strides \(8, 24\) bytes.*the strides"):
        arguments.weigh_c(X.T)
    with pytest.raises(
        TypeError, match=r"dense in Fortran's order.*the strides \(numpy.asfortranarray\(x\) copies it\)"
    ):
        arguments.weigh_f(X.copy())
    with pytest.raises(TypeError, match="the strides"):
        arguments.weigh_c(X[:, ::2])


def test_other_memory_orders_are_refused_for_int16_rank_3():
    # Dense in some order of the dimensions is not dense in the one that is asked for.
    for dense in (CUBES.T, CUBES.transpose(0, 2, 1), CUBES.transpose(1, 0, 2)):
        for call in (arguments.weigh_c_of_cubes, arguments.mdspan_right_of_cubes):
            with pytest.raises(TypeError, match=r"memory of int16 with 3 dimensions, dense in C order.*: the strides"):
                call(dense)
    for dense in (CUBES.copy(), CUBES.T.transpose(0, 2, 1), CUBES.T.transpose(1, 0, 2)):
        for call in (arguments.weigh_f_of_cubes, arguments.mdspan_left_of_cubes):
            with pytest.raises(TypeError, match=r"of int16 with 3 dimensions, dense in Fortran's order.*: the strides"):
                call(dense)
    part = CUBES[:, ::2, 1:]
    assert arguments.weigh_of_cubes(part) == arguments.mdspan_strided_of_cubes(part) == weight(part)


def test_mdspan_of_view_with_negative_strides_is_refused():
    assert arguments.weigh(X[:, ::2]) == weight(X[:, ::2])
    with pytest.raises(ValueError, match="positive strides"):
        arguments.weigh(X[::-1])


def test_span_arguments_check_shape_strides_and_access():
    assert arguments.span_sum(np.arange(5.0)) == 10
    assert arguments.span_sum(memarray.MemArray([4])) == 0
    assert arguments.span_sum(np.zeros(0)) == 0
    assert arguments.span_sum(np.arange(9.0)[4:5:3]) == 4
    y = np.zeros(4, "float32")
    arguments.span_fill(y[1:3], 2)
    assert y.tolist() == [0, 2, 2, 0]
    assert arguments.span_of_three(np.array([1, 2, 3], "int32")) == 6
    with pytest.raises(TypeError, match=r"1 dimension of \(3\).*shape \(4,\).*: the shape"):
        arguments.span_of_three(np.zeros(4, "int32"))
    with pytest.raises(TypeError, match="the strides"):
        arguments.span_sum(np.arange(5.0)[::2])
    with pytest.raises(TypeError, match="writable"):
        arguments.span_fill(memarray.MemArray([2], "float32").view(), 1)


def test_span_argument_is_refused_under_read_lease():
    a = memarray.MemArray([4], "float32")
    with a.read(), pytest.raises(memarray.LockError):
        arguments.span_fill(a, 1)
    arguments.span_fill(a, 1)
    assert np.asarray(a).sum() == 4


def test_mdspan_arguments_check_shape_and_strides():
    assert arguments.mdspan_right(X) == weight(X)
    assert arguments.mdspan_left(np.asfortranarray(X)) == weight(X)
    assert arguments.mdspan_strided(X[::1, ::2]) == weight(X[:, ::2])
    assert arguments.mdspan_strided(X.T) == weight(X.T)
    assert arguments.mdspan_strided(X[::-1][:1]) == weight(X[1:])
    assert arguments.mdspan_static(X) == weight(X)
    assert arguments.mdspan_small(X) == weight(X)
    with pytest.raises(TypeError, match=r"with strides above zero.*the strides"):
        arguments.mdspan_strided(X[::-1])
    with pytest.raises(TypeError, match="dense in C order"):
        arguments.mdspan_right(X.T)
    with pytest.raises(TypeError, match="dense in Fortran's order"):
        arguments.mdspan_left(X.copy())
    with pytest.raises(TypeError, match=r"2 dimensions of \(any, 3\).*: the shape"):
        arguments.mdspan_static(np.zeros((3, 2)))


def test_an_index_type_that_is_too_small_is_refused():
    assert arguments.mdspan_small(np.zeros((1, 127))) == 0
    for shape in [(1, 128), (2, 64), (0, 128)]:
        with pytest.raises(TypeError, match="the shape"):
            arguments.mdspan_small(np.zeros(shape))


@pytest.fixture
def sim():
    with memarray.testing.simulated_devices(count=2) as devices:
        yield devices


def test_memory_place_selects_the_overload(sim):
    a = memarray.MemArray([4])
    assert arguments.place(a) == "host"
    a.move_memory(memarray.dlpack.kDLCUDA)
    assert arguments.place(a) == "device"
    with pytest.raises(TypeError, match=r"a MemArray.*on cuda:0.*the place \(.*to_device\('cpu'\) copies"):
        arguments.span_sum(a)
    with pytest.raises(TypeError, match=r"on a device; got a .*on the host.*the place"):
        arguments.fill_on_device(np.zeros(4), 1)
    # The refused call changed nothing.
    assert str(a.device) == "cuda:0" and a.lock_id == -1
    del a


def test_memory_place_selects_the_overload_for_int16_rank_3(sim):
    a = memarray.MemArray([2, 3, 4], "int16")
    assert arguments.place_of_cubes(a) == "host"
    assert arguments.place_of_cubes(a.view().T) == "host, F"
    with pytest.raises(TypeError, match=r"int16 with 3 dimensions, dense in C order, on a device; .* the place"):
        arguments.fill_cubes(a, None, 1)
    a.move_memory(memarray.dlpack.kDLCUDA)
    assert arguments.place_of_cubes(a) == "device"
    assert arguments.place_of_cubes(a.view().T) == "device, F"
    with pytest.raises(TypeError, match=r"of int16 with 3 dimensions, on the host; got a Mem.*on cuda:0.*the place"):
        arguments.weigh_of_cubes(a)
    with a.write(device="cuda:0") as lease:
        with pytest.raises(TypeError, match="the strides"):
            arguments.fill_cubes(lease.view().T, None, 1)
        arguments.fill_cubes(lease.view(), None, 5)
    assert a.view().sum() == 24 * 5
    # The other side of the first index stays as it was.
    with a.write(device="cuda:0") as lease:
        arguments.fill_cubes(lease.view()[1:], memarray.Stream(), 7)
    a.move_memory(memarray.dlpack.kDLCPU)
    assert np.asarray(a).reshape(2, 12).sum(1).tolist() == [60, 84]
    assert str(a.device) == "cpu" and a.lock_id == -1
    del a, lease


def test_device_work_of_arguments_is_ordered(sim):
    sim.delay(0.02)
    a = memarray.MemArray([4])
    a.move_memory(memarray.dlpack.kDLCUDA)
    assert isinstance(arguments.fill_on_device(a, 3), memarray.Stream)
    assert a.view().sum() == 12
    stream = memarray.Stream()
    arguments.fill_in_stream(a, stream, 5)
    arguments.fill_on_device(a, 6)
    arguments.fill_in_stream(a, stream, 7)
    a.move_memory(memarray.dlpack.kDLCPU)
    assert np.asarray(a).tolist() == [7] * 4
    with a.write(device="cuda:0", stream=stream) as lease:
        assert arguments.fill_on_device(lease, 8) == stream
        arguments.fill_on_device(lease.view(), 9)
    a.move_memory(memarray.dlpack.kDLCPU)
    assert np.asarray(a).tolist() == [9] * 4
    del a, lease
    assert sim.violations() == []


def test_stream_arguments_accept_streams_and_handles(sim):
    stream = memarray.Stream(1)
    assert arguments.stream_handle(stream) == stream.handle

    class Foreign:
        def __cuda_stream__(self):
            return (0, stream.handle)

    assert arguments.stream_handle(Foreign()) == stream.handle
    assert arguments.stream_handle(stream.handle) == stream.handle
    assert arguments.stream_handle(None) == arguments.stream_handle(0) == arguments.stream_handle(1) == 0
    assert arguments.same_stream(stream) == stream
    assert [arguments.stream_or_number(x) for x in (stream, Foreign(), 3, "x")] == [
        "stream",
        "stream",
        "number",
        "text",
    ]
    assert arguments.stream_or_number(None) == "stream"
    for wrong in (object(), True, 1.5):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            arguments.stream_handle(wrong)
    with pytest.raises(ValueError, match="stream must be"):
        arguments.stream_handle(-2)


def test_stream_handle_is_refused_without_driver():
    assert arguments.stream_handle(None) == 0
    if not memarray.cuda.is_available():
        with pytest.raises(memarray.CudaError):
            arguments.stream_handle(12345)


#: Readers of bools, and whether each takes any strides.
READERS = {
    "view": (arguments.stored_in_view, True),
    "dense": (arguments.stored_in_dense, False),
    "span": (arguments.stored_in_span, False),
    "mdspan": (arguments.stored_in_mdspan, True),
    "views": (lambda x: arguments.stored_in_views([np.zeros(2, bool), x]), True),
    "spans": (lambda x: arguments.stored_in_spans([np.zeros(2, bool), x]), False),
}


@pytest.mark.parametrize("wrap", [lambda x: x, memarray.BufferView], ids=["array", "BufferView"])
@pytest.mark.parametrize(("read", "is_strided"), READERS.values(), ids=READERS)
def test_invalid_bools_reach_a_reader_as_0_or_1(read, is_strided, wrap):
    stored = np.array([0, 2, 255, 0, 1, 128], "u1")
    for x in [stored, stored[::2]] if is_strided else [stored]:
        given = wrap(x.view(bool))
        copies = memarray.stats()["copies"]
        assert read(given) == bytes(x != 0)
        assert memarray.stats()["copies"] == copies + 1, "the copy is reported"
    assert stored.tolist() == [0, 2, 255, 0, 1, 128]


@pytest.mark.parametrize("flip", [arguments.flip, arguments.flip_span, arguments.flip_mdspan])
def test_invalid_bools_are_refused_for_a_writer(flip):
    stored = np.array([0, 2, 1], "u1")
    for given in (stored.view(bool), memarray.BufferView(stored.view(bool))):
        with pytest.raises(TypeError, match=r"the bools \(some are neither 0 nor 1"):
            flip(given)
        assert stored.tolist() == [0, 2, 1]
    stored[1] = 1
    flip(stored.view(bool))
    assert stored.tolist() == [1, 0, 0]
