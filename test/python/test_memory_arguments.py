"""Memory arguments of C++ functions: no mask or unit is lost, and a bool is 0 or 1."""

import importlib.util

import memarray
import numpy as np
import pytest
from test_annotated_memory import MASKED, TIMES_AND_TEXT, WithUnit, WithUnits, masked
from test_foreign_bools import LAYOUTS, invalid

if importlib.util.find_spec("memory_arguments") is None and "site-packages" in memarray.__file__:
    pytest.skip("an installed package has no extension modules of tests", allow_module_level=True)
import memory_arguments as taken

pytestmark = pytest.mark.sanitize

#: Functions that take one-dimensional memory, with every kind of parameter.
FUNCTIONS = {
    "view": lambda x: taken.take_view(x),
    "writable view": lambda x: taken.take_writable(x),
    "span": lambda x: taken.take_span(x),
    "list": lambda x: taken.take_list([np.zeros(2), x]),
}
every_function = pytest.mark.parametrize("take", FUNCTIONS.values(), ids=FUNCTIONS)


@every_function
@pytest.mark.parametrize("make", MASKED.values(), ids=MASKED)
def test_masked_array_is_refused(take, make):
    with pytest.raises(TypeError, match="would lose the mask"):
        take(make())


@every_function
@pytest.mark.parametrize("give", [lambda x: x, lambda x: x.astype("M8[s]")], ids=["dtype", "no dtype"])
def test_refusal_cuts_long_type_names(take, give):
    long_name = type("T" * 10_000, (np.ndarray,), {})
    with pytest.raises(TypeError, match="TTTT") as raised:
        take(give(np.zeros(2, "int8")).view(long_name))
    assert len(str(raised.value)) < 700


@every_function
@pytest.mark.parametrize("class_", [WithUnit, WithUnits])
def test_array_with_unit_is_refused(take, class_):
    with pytest.raises(TypeError, match="would lose the unit"):
        take(masked(class_))


@every_function
def test_dates_and_text_are_refused_as_unknown_dtypes(take):
    for make in TIMES_AND_TEXT.values():
        with pytest.raises(TypeError, match="memarray has no dtype for elements of"):
            take(make())


@every_function
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_error_that_is_no_refusal_is_kept(take, error):
    class Interrupted:
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **keywords):
            raise BufferError("only other protocols")

        @property
        def __array_interface__(self):
            raise error

    with pytest.raises(error):
        take(Interrupted())


def test_masked_constant_is_refused():
    with pytest.raises(TypeError, match="would lose the mask"):
        taken.take_view(np.ma.masked)


def test_object_without_memory_selects_other_overload():
    class Face:
        mask = "a mask"

    assert taken.choose(Face()) == "object"
    assert taken.choose(np.zeros(2)) == "double"
    assert taken.choose(np.zeros(2, "f4")) == "float"


@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(
    "wrap", [lambda x: x, memarray.BufferView, memarray.from_dlpack], ids=["array", "view", "dlpack"]
)
def test_invalid_bools_reach_cpp_as_0_or_1(make, wrap, copies):
    x = make()
    rows = x if x.ndim == 2 else x.reshape(2, 3)
    trues = int((x.view("u1") != 0).sum())
    views = [(taken.count, rows), (taken.count_in_list, rows)]
    if rows.flags.c_contiguous:
        views += [(taken.count_c, rows), (taken.count_in_span, np.ravel(rows))]
    if rows.flags.f_contiguous:
        views.append((taken.count_f, rows))
    if min(rows.strides) > 0:
        views.append((taken.count_in_mdspan, rows))
    for function, memory in views:
        wrapped = wrap(memory)
        before = memory.view("u1").copy()
        copies()
        assert function([wrapped] if function is taken.count_in_list else wrapped) == trues
        assert copies() == 1, "is reported"
        np.testing.assert_array_equal(memory.view("u1"), before)


def test_valid_bools_are_not_copied(copies):
    x = np.array([[True, False], [True, True]])
    for wrap in (
        lambda x: x,
        memarray.BufferView,
        memarray.MemArray.from_dlpack,
        lambda x: memarray.BufferView(x).copy(),
    ):
        wrapped = wrap(x)
        copies()
        assert taken.count(wrapped) == 3
        assert copies() == 0
    taken.flip(x)
    assert x.tolist() == [[False, True], [False, False]]


def test_writable_argument_with_invalid_bools_is_refused():
    x = invalid()
    for wrapped in (x, memarray.BufferView(x)):
        with pytest.raises(TypeError, match=r"the bools \(some are neither 0 nor 1"):
            taken.flip(wrapped)
    np.not_equal(x.view("uint8"), 0, out=x)
    taken.flip(x)
    assert x.view("u1").tolist() == [[1, 0, 0], [0, 0, 0]]


def test_array_from_invalid_bools_is_a_valid_copy():
    array = memarray.MemArray.from_dlpack(invalid())
    assert taken.count(array) == 5
    taken.flip(array)
    assert taken.count(array) == 1


def test_invalid_bools_in_structs_reach_cpp_as_0_or_1(copies):
    fields = np.dtype([("id", "i4"), ("flags", "?", (2,)), ("is_last", "?")], align=True)
    x = np.zeros(5, fields)
    x.view("u1").reshape(5, 8)[:, 4:7] = [[0, 0, 0], [2, 0, 255], [1, 1, 1], [0, 128, 0], [0, 0, 0]]
    x["id"] = range(5)
    before = x.tobytes()
    assert taken.count_flags(x) == 6 and copies() == 1
    assert taken.count_flags(x[3::-2]) == 3 and copies() == 1
    assert x.tobytes() == before
    assert taken.count_flags(x[2:3]) == 3 and copies() == 0
    with pytest.raises(TypeError, match="neither 0 nor 1"):
        taken.clear_flags(x)
    taken.clear_flags(x[2:3])
    assert not x[2]["is_last"]


@pytest.mark.filterwarnings("ignore")
def test_unsupported_tensors_are_refused_with_one_line_error():
    torch = pytest.importorskip("torch")
    from test_torch import OTHER_TENSORS

    for name, make in OTHER_TENSORS.items():
        if name == "batched":
            continue
        try:
            tensor = make()
        except (RuntimeError, NotImplementedError):
            continue
        assert isinstance(tensor, torch.Tensor)
        for take in FUNCTIONS.values():
            with pytest.raises(TypeError) as raised:
                take(tensor)
            assert "\n" not in str(raised.value) and len(str(raised.value)) < 600
