"""Overloads: the function that an argument selects, and the messages of refusals."""

import gc

import arguments
import memarray
import numpy as np
import pytest


def test_stored_view_keeps_memory_of_deleted_object():
    # In a variable of C++ until it is dropped.
    x = np.arange(5.0)
    arguments.keep(x)
    del x
    gc.collect()
    assert arguments.kept_sum() == 10
    arguments.drop()


def test_argument_is_released_after_the_call():
    import weakref

    class Owner(np.ndarray):
        pass

    x = np.arange(5.0).view(Owner)
    gone = weakref.ref(x)
    arguments.look(x, "float64", 1)
    with pytest.raises(TypeError):
        arguments.look(x, "float32", 1)
    del x
    assert gone() is None


def test_dtype_and_rank_select_the_overload():
    for x in (np.array(1.0), np.ones(2), np.ones((2, 3)), np.ones(2, "float32"), np.ones(2, "int64")):
        assert arguments.overloaded(x)[0] == x.dtype.name
        assert arguments.overloaded(x)[2] == x.shape
    assert arguments.overloaded(memarray.MemArray([2, 2], "float32")) == "array"
    assert arguments.overloaded(np.ones((2, 2), "float32"))[0] == "float32"
    # An overload that did not fit holds no lease.
    a = memarray.MemArray([2, 2], "float32")
    arguments.overloaded(a)
    a.fill(1)
    words = {
        "pybind11": "expected memory of float64 with 0 dimensions.*int8",
        "nanobind": r"(?s)supported.*float64, ndim=0.*float32, ndim=2.*ndarray",
    }
    with pytest.raises(TypeError, match=words[arguments.LIBRARY]):
        arguments.overloaded(np.ones(2, "int8"))


def test_array_and_number_arguments_select_the_overload():
    # An int is no float yet in nanobind's first pass over the overloads.
    x = np.arange(3.0)
    arguments.scale_any(x, 2)
    assert x.tolist() == [0, 2, 4]
    arguments.scale_any(x.astype("float32"), 2)
    if arguments.LIBRARY == "nanobind":
        with pytest.raises(TypeError, match="incompatible function arguments"):
            arguments.scale_any(x.astype("int8"), 2)
    arguments.scale_any(x, 2)
    with pytest.raises(TypeError, match="Wrong: the dtype"):
        arguments.look(x, "float32", 1)
    with pytest.raises(TypeError, match="Wrong: the number of dimensions"):
        arguments.keep(x.reshape(3, 1))


def test_many_arrays_and_a_number_select_the_overload():
    x = np.ones(2)
    others = [x.copy() for _ in range(4)]
    assert arguments.sum_of_five(x, *others, 3) == "float64"
    assert arguments.sum_of_five(x.astype("float32"), *others, 3) == "float32"
    assert arguments.sum_of_two(x, 3, x.copy()) == "float64"
    assert arguments.sum_of_two(x, 3, x.astype("float32")) == "float32"


def test_refused_overloads_leave_the_next_message_clear():
    x = np.ones(2, "int8")
    for _ in range(2):
        with pytest.raises(TypeError):
            arguments.scale_any(x, 2)
        with pytest.raises(TypeError, match="Wrong: the dtype"):
            arguments.write_without_gil(x, 1)


def test_a_lease_does_not_change_the_overload():
    a = memarray.MemArray([3])
    assert arguments.access(a) == "write"
    arguments.write_unconverted(a)
    assert arguments.access_with(a, "x") == "write"
    with a.read():
        for function, given in (
            (arguments.access, (a,)),
            (arguments.write_unconverted, (a,)),
            (arguments.access_with, (a, "x")),
        ):
            with pytest.raises(memarray.LockError, match="leased for reading"):
                function(*given)
        # The overload that writes does not fit.
        assert arguments.access_with(a, 3) == "read"
    with a.write(), pytest.raises(memarray.LockError, match="leased for writing"):
        arguments.access(a)
    assert arguments.access(a) == "write"


def test_object_without_memory_selects_other_overload():
    assert [arguments.either(x) for x in (np.ones(2), [1, 2], (1.5,), "text")] == ["view", "list", "list", "text"]
    with pytest.raises(TypeError, match="incompatible function arguments"):
        arguments.either(object())
    with pytest.raises(TypeError, match=r"Annotated\[typing.Any, .float64, ndim=1, writable.\]"):
        arguments.write_without_gil([1.0], 1)
    assert arguments.maybe(None) is False
    assert arguments.maybe(np.ones(2)) is True


def test_custom_element_type_is_passed():
    a = memarray.MemArray([3], "Sample")
    a.fill(np.array((1, 5), np.dtype([("value", "f4"), ("count", "i4")])))
    assert arguments.count_samples(a) == 15
    with a.read() as lease:
        assert arguments.count_samples(lease.view()[1:]) == 10
    with pytest.raises(TypeError, match=r"memory of Sample.*float64"):
        arguments.count_samples(memarray.MemArray([3]))


class Refuses:
    def __init__(self, error):
        self.error = error

    def __dlpack__(self, **_):
        raise self.error

    def __dlpack_device__(self):
        return (1, 0)


class FailsOnce:
    def __init__(self, x):
        self.x = x
        self.has_failed = False

    def __dlpack__(self, **keywords):
        if not self.has_failed:
            self.has_failed = True
            raise BufferError("not yet")
        return self.x.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)


def test_refusals_are_explained_after_another_overload_failed_once():
    x = FailsOnce(np.zeros((2, 3)))
    assert arguments.order(x) == "strided", "the first overload failed, the next one is for Fortran's order"
    x.x = np.zeros((2, 3), "float32")
    with pytest.raises(TypeError, match="expected memory of float64"):
        arguments.weigh_c(x)


def test_interrupt_is_not_lost_where_another_argument_does_not_fit():
    with pytest.raises(KeyboardInterrupt):
        try:
            arguments.span_fill(Refuses(KeyboardInterrupt()), "no number")
        except TypeError:
            for _ in range(1000):  # Python looks for signals between instructions.
                pass


def test_error_describes_expected_and_given_memory():
    x = np.zeros((3, 4), "float32")
    x.flags.writeable = False
    with pytest.raises(TypeError) as caught:
        arguments.write_without_gil(x, 1)
    assert str(caught.value) == (
        "expected writable memory of float64 with 1 dimension, on the host; got a numpy.ndarray: read-only memory of "
        "float32, shape (3, 4), strides (16, 4) bytes, on the host. Wrong: the dtype (convert it first), "
        "the number of dimensions (reshape it first), the access (it is read-only: copy it first)"
    )
    with pytest.raises(TypeError, match=r"a MemArray: writable memory of int8, shape \(2,\).*: the dtype"):
        arguments.look(memarray.MemArray([2], "int8"), "float64", 1)
    with pytest.raises(TypeError, match=r"strides \(12,\) bytes.*: the strides"):
        arguments.look(np.zeros(3, "c8, i4")["f0"], "complex64", 1)


@pytest.mark.parametrize(
    "x",
    [
        np.ones(3, np.dtype("f8").newbyteorder()),
        np.frombuffer(bytes(25), "u1")[1:].view("f8"),
        np.zeros(3, "M8[s]"),
        np.array([None]),
        np.zeros(3, "f8,i4"),
    ],
    ids=["byte order", "misaligned", "dates", "objects", "records"],
)
def test_numpy_arrays_of_unsupported_elements_are_refused(x):
    with pytest.raises(TypeError, match=r"expected memory of float64.*got a numpy.ndarray( that cannot be viewed|:)"):
        arguments.look(x, "float64", 1)


def test_object_that_cannot_be_viewed_is_refused_with_reason():
    with pytest.raises(
        TypeError, match=r"expected memory of float64.*got a numpy.ndarray that cannot be viewed"
    ) as caught:
        arguments.look(np.zeros(3, "datetime64[s]"), "float64", 1)
    assert isinstance(caught.value.__cause__, BufferError)
    with pytest.raises(TypeError, match="cannot be viewed: not today"):
        arguments.look(Refuses(BufferError("not today")), "float64", 1)
    # All else is its own affair.
    with pytest.raises(ZeroDivisionError):
        arguments.look(Refuses(ZeroDivisionError()), "float64", 1)
    with pytest.raises(ZeroDivisionError):
        arguments.overloaded(Refuses(ZeroDivisionError()))
    with pytest.raises(KeyboardInterrupt):
        arguments.overloaded(Refuses(KeyboardInterrupt()))
    with pytest.raises(memarray.LockError, match="this lease is over"):
        with memarray.MemArray([3]).read() as lease:
            pass
        arguments.look(lease, "float64", 1)
    view = memarray.MemArray([3]).view()
    view.close()
    with pytest.raises(ValueError, match="the view is closed"):
        arguments.look(view, "float64", 1)
