"""Refusals inside containers: each raises its own error, whatever the container, and releases its exports."""

import arguments
import memarray
import numpy as np
import pytest
from test_arguments import peer

CONTAINERS = {
    "plain": lambda first, second: second,
    "vector": lambda first, second: [first, second],
    "list": lambda first, second: (first, second),
    "array": lambda first, second: [first, second],
    "optional": lambda first, second: second,
    "map": lambda first, second: {"a": first, "b": second},
    "unordered_map": lambda first, second: {"a": first, "b": second},
    "variant": lambda first, second: second,
    "pair": lambda first, second: (second, 1),
    "tuple": lambda first, second: (1, second),
    "pairs": lambda first, second: [(1, first), (2, second)],
    "vectors": lambda first, second: {"a": [first, None], "b": [second]},
}
TWO = {"vector", "list", "array", "map", "unordered_map", "pairs", "vectors"}
VIEWS = ("views", "dense", "spans", "mdspans")
ARRAYS = ("arrays", "pointers", *(("addresses", "references") if arguments.LIBRARY == "pybind11" else ()))
ELEMENTS = (*VIEWS, *ARRAYS)


class Raises:
    def __init__(self, error):
        self.error = error

    def __dlpack__(self, **_):
        raise self.error

    def __dlpack_device__(self):
        return (1, 0)


class WithUnit(np.ndarray):
    """An array like astropy's Quantity."""

    unit = "m"


def read_only():
    x = np.ones(3)
    x.flags.writeable = False
    return x


def closed_view():
    view = memarray.MemArray([3]).view()
    view.close()
    return view


def closed_lease():
    with memarray.MemArray([3]).read() as lease:
        return lease


#: Refused objects: how each is made, the error, and its words.
REFUSED = {
    "dtype": (lambda: np.ones(3, "int8"), TypeError, "float64.*int8.*the dtype"),
    "rank": (lambda: np.ones((3, 1)), TypeError, "the number of dimensions"),
    "__dlpack__ raises": (lambda: Raises(ZeroDivisionError("as asked")), ZeroDivisionError, "as asked"),
    "__dlpack__ is interrupted": (lambda: Raises(KeyboardInterrupt()), KeyboardInterrupt, None),
    "__dlpack__ refuses": (lambda: Raises(BufferError("not today")), TypeError, "not today"),
    "mask": (lambda: np.ma.array(np.ones(3), mask=[0, 1, 0]), TypeError, "would lose the mask"),
    "masked constant": (lambda: np.ma.masked, TypeError, "would lose the mask"),
    "unit": (lambda: np.ones(3).view(WithUnit), TypeError, "would lose the unit"),
    "date": (lambda: np.array([1, 2, 3], "M8[s]"), TypeError, "memarray has no dtype for elements of"),
    "closed view": (closed_view, ValueError, "closed"),
    "closed lease": (closed_lease, memarray.LockError, "over"),
}
REFUSED_BY_SOME = {
    ("order", "dense"): (lambda: np.ones(6)[::2], TypeError, "C-contiguous|order|dense|strides"),
    ("order", "spans"): (lambda: np.ones(6)[::2], TypeError, "C-contiguous|order|dense|strides"),
    ("order", "mdspans"): (lambda: np.ones(6)[::2], TypeError, "C-contiguous|order|dense|strides"),
    ("read-only", "dense"): (read_only, TypeError, "read-only"),
    **{("dtype", of): (lambda: memarray.MemArray([3], "float32"), TypeError, "MemArray<float64, 1>") for of in ARRAYS},
    **{("rank", of): (lambda: memarray.MemArray([3, 1]), TypeError, "MemArray<float64, 1>") for of in ARRAYS},
}
CASES = [
    *((name, of, *REFUSED[name]) for of in VIEWS for name in REFUSED),
    *((name, of, *case) for (name, of), case in REFUSED_BY_SOME.items()),
]


def call(container, of, first, second, then=lambda: None):
    function = getattr(arguments, f"{container}_of_{of}", None)
    if function is None:
        pytest.skip(f"{of} have no default value, which nanobind's and pybind11's arrays need")
    return function(CONTAINERS[container](first, second), then)


def ones():
    array = memarray.MemArray([3])
    array.fill(1)
    return array


def is_leased(array):
    try:
        array.write().__enter__().__exit__()
    except memarray.LockError:
        return True
    return False


def is_free(array):
    return array.lock_id == -1 and array.write().__enter__().__exit__() is None


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("of", ELEMENTS)
def test_elements_are_passed_and_hold_their_leases(container, of):
    first, second = ones(), ones()
    seen = []
    total = call(container, of, first, second, lambda: seen.append((is_leased(first), is_leased(second))))
    assert total == (6 if container in TWO else 3)
    if of in VIEWS:
        assert seen == [(container in TWO, True)]
    assert is_free(first) and is_free(second)


@pytest.mark.parametrize("of", VIEWS)
def test_unreferenced_elements_stay_alive_during_the_call(of):
    values = np.arange(3.0)
    made = (values + number for number in range(2))
    assert (
        getattr(arguments, f"list_of_{of}")(made if arguments.LIBRARY == "pybind11" else list(made), lambda: None) == 9
    )
    array = ones()
    given = [array, array.copy()]

    def clear():
        given.clear()
        assert is_leased(array)

    assert getattr(arguments, f"vector_of_{of}")(given, clear) == 6
    assert is_free(array)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(("name", "of", "make", "error", "words"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_a_refused_element_raises_its_own_error(container, name, of, make, error, words):
    first = ones()
    if container == "variant" and error is TypeError:  # another alternative might have taken it
        words = "(?s)incompatible function arguments|" + words
    called = []
    with pytest.raises(error, match=words):
        call(container, of, first, make(), lambda: called.append(1))
    assert not called
    assert is_free(first)


#: Tensors without plain memory, of float64 where there are such: no dtype or rank refuses them first.
TENSORS = {
    "sparse": lambda torch: torch.ones(3, dtype=torch.float64).to_sparse(),
    "sparse CSR": lambda torch: torch.eye(3, dtype=torch.float64).to_sparse_csr(),
    "meta": lambda torch: torch.zeros(3, dtype=torch.float64, device="meta"),
    "quantized": lambda torch: torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8),
    "mkldnn": lambda torch: torch.zeros(3).to_mkldnn(),
    "nested": lambda torch: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]),
    "masked": lambda torch: torch.masked.masked_tensor(torch.zeros(2), torch.tensor([True, False])),
    "negated": lambda torch: torch.imag(torch.ones(3, dtype=torch.complex128).conj()),
    "gradient": lambda torch: torch.ones(3, dtype=torch.float64, requires_grad=True),
}


@pytest.mark.parametrize("container", ["plain", "vector", "optional", "map", "vectors"])
@pytest.mark.parametrize("of", VIEWS)
@pytest.mark.parametrize("make", TENSORS.values(), ids=TENSORS)
@pytest.mark.filterwarnings("ignore")
def test_tensor_without_plain_memory_is_refused_with_one_line(make, of, container):
    torch = peer("torch")
    try:
        tensor = make(torch)
    except (RuntimeError, NotImplementedError) as error:
        pytest.skip(f"this PyTorch makes none: {error}")
    first = ones()
    with pytest.raises(TypeError) as raised:
        call(container, of, first, tensor)
    words = str(raised.value)
    assert "\n" not in words and 20 < len(words) < 600, words
    assert "incompatible function arguments" not in words
    assert is_free(first)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("of", VIEWS)
def test_leased_element_is_refused_with_lock_error(container, of):
    first, second = ones(), ones()
    with second.write(), pytest.raises(memarray.LockError, match="leased for writing"):
        call(container, of, first, second)
    assert is_free(first) and is_free(second)
    assert call(container, of, first, second) == (6 if container in TWO else 3)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("of", [*ELEMENTS, "streams"])
def test_an_object_without_memory_is_a_type_error(container, of):
    with pytest.raises(TypeError):
        call(container, of, None if of == "streams" else ones(), object())


@pytest.mark.parametrize("container", CONTAINERS)
def test_error_of_stream_object_is_raised(container):
    class Broken:
        def __cuda_stream__(self):
            raise ZeroDivisionError("as asked")

    with memarray.testing.simulated_devices(1), pytest.raises(ZeroDivisionError, match="as asked"):
        call(container, "streams", 0, Broken())


def test_memory_on_a_device_is_refused_for_the_host():
    with memarray.testing.simulated_devices(1):
        array = ones()
        array.move_memory(2, 0)
        with pytest.raises(TypeError, match="on the host"):
            arguments.vector_of_views([array.view()], lambda: None)
        del array


def test_container_elements_select_the_overload():
    doubles, floats = [np.ones(2)] * 6, [np.ones(2, "f4")] * 6
    assert arguments.floats_or_doubles(doubles).startswith("float64 12")
    assert arguments.floats_or_doubles(floats).startswith("float32 12")
    with pytest.raises(TypeError):
        arguments.floats_or_doubles([np.ones(2, "i1")])
    with pytest.raises(TypeError):
        arguments.floats_or_doubles([np.ones(2), np.ones(2, "i1")])
    array = ones()
    with array.write(), pytest.raises(memarray.LockError):
        arguments.floats_or_doubles([np.ones(2), array])
    assert arguments.floats_or_doubles([array, array]).startswith("float64 6")
    assert arguments.float_or_double(np.ones(2, "f4")) == 0
    assert arguments.float_or_double(np.ones(2)) == 1
    with array.write(), pytest.raises(memarray.LockError):
        arguments.float_or_double(array)


def test_containers_without_memarray_caster_check_elements():
    assert arguments.set_of_pointers({ones()}) == 1
    with pytest.raises(TypeError):
        arguments.set_of_pointers({memarray.MemArray([3], "f4")})
    with pytest.raises((TypeError, RuntimeError)):
        arguments.cast_set({memarray.MemArray([3], "f4")})
    assert arguments.cast_set({ones()}) == 1


def test_failed_cast_in_cpp_raises_its_error():
    assert arguments.cast_view(ones()) == 3
    assert arguments.cast_views([ones(), np.ones(2)]) == 5
    for cast, wrap in ((arguments.cast_view, lambda x: x), (arguments.cast_views, lambda x: [ones(), x])):
        with pytest.raises(TypeError, match="the dtype"):
            cast(wrap(np.ones(2, "i1")))
        with pytest.raises(ZeroDivisionError):
            cast(wrap(Raises(ZeroDivisionError())))
        array = ones()
        with array.write(), pytest.raises(memarray.LockError):
            cast(wrap(array))


@pytest.mark.skipif(arguments.LIBRARY != "pybind11", reason="nanobind refuses to compile them")
def test_addresses_in_sets_and_keys_are_valid():
    arrays = [ones(), ones()]
    assert arguments.set_of_addresses(set(arrays)) == 6
    assert arguments.keys_of_addresses(dict.fromkeys(arrays, 1)) == 6


@pytest.mark.skipif(arguments.LIBRARY != "pybind11", reason="nanobind refuses to compile them")
def test_addresses_are_returned_as_arrays():
    arrays = [ones(), ones()]
    for array in (*arguments.same_addresses(arrays), arguments.same_in_variant(ones())):
        assert np.asarray(array).tolist() == [1, 1, 1]
    assert arguments.same_in_variant(4) == 4


@pytest.mark.skipif(arguments.LIBRARY != "nanobind", reason="pybind11 refuses to compile them")
@pytest.mark.parametrize("name", ["cast_span", "cast_mdspan", "cast_spans"])
def test_cast_to_a_span_is_refused(name):
    """Nothing would keep its memory."""
    array = ones()
    with pytest.raises(TypeError, match="cast to an ArrayView"):
        getattr(arguments, name)([array] if name == "cast_spans" else array)
    assert arguments.try_cast_span(array) is False
    assert is_free(array)


@pytest.mark.skipif(arguments.LIBRARY != "nanobind", reason="pybind11 has no try_cast")
def test_try_cast_refuses_without_an_error():
    assert arguments.try_cast_view(np.ones(2)) is True
    assert arguments.try_cast_view(np.ones(2, "i1")) is False
    assert arguments.try_cast_view(Raises(ZeroDivisionError())) is False
