"""Objects that carry a mask, a unit, dates or text: every import refuses them with our message."""

import ctypes
from collections import UserList, UserString, deque
from pickle import PickleBuffer

import memarray
import numpy as np
import pytest
from memarray import BufferView, MemArray

pytestmark = pytest.mark.sanitize


def array():
    return MemArray([2])


#: Every import that takes an array of two elements.
WAYS = {
    "BufferView": lambda x: BufferView(x),
    "copied BufferView": lambda x: BufferView(x, copy=True),
    "BufferView.from_numpy": lambda x: BufferView.from_numpy(x),
    "BufferView.from_buffer": lambda x: BufferView.from_buffer(x),
    "BufferView.from_buffer with a dtype": lambda x: BufferView.from_buffer(x, "float64"),
    "memarray.from_dlpack": lambda x: memarray.from_dlpack(x),
    "MemArray.from_dlpack": lambda x: MemArray.from_dlpack(x),
    "MemArray.from_numpy": lambda x: MemArray.from_numpy(x),
    "read_numpy_array": lambda x: array().read_numpy_array(x),
}
#: The imports that convert what NumPy converts.
CONVERTING = ("MemArray.from_numpy", "read_numpy_array")
every_way = pytest.mark.parametrize("take", WAYS.values(), ids=WAYS)


class Masked(np.ndarray):
    """An array like astropy's masked classes, which do not derive from NumPy's."""

    mask = property(lambda self: np.array([True, False]))
    unmasked = property(lambda self: self.view(np.ndarray))


class MaskOfItsOwn(np.ndarray):
    """An array whose mask is an attribute of the object."""


class WithUnit(np.ndarray):
    """An array like astropy's Quantity."""

    unit = "m"


class WithUnits(np.ndarray):
    """An array like unyt's."""

    units = "kg"


class Unmasked(np.ndarray):
    """An array whose attributes say nothing about the meaning of its elements."""

    mask = None
    unit = property(lambda self: None)

    def units(self):
        return "a method"


class Interface:
    """A producer that is no array, whose mask is not in its array interface."""

    def __init__(self, x):
        self.x, self.mask = x, [False, True]

    @property
    def __array_interface__(self):
        return self.x.__array_interface__


def masked(class_):
    x = np.arange(2.0).view(class_)
    if class_ is MaskOfItsOwn:
        x.mask = np.array([True, False])
    return x


MASKED = {
    "a mask": lambda: np.ma.array([1.0, 2.0], mask=[False, True]),
    "no element masked": lambda: np.ma.array([1.0, 2.0]),
    "hard mask": lambda: np.ma.array([1.0, 2.0], mask=[True, True], hard_mask=True),
    "astropy": lambda: masked(Masked),
    "attribute": lambda: masked(MaskOfItsOwn),
}


@every_way
@pytest.mark.parametrize("make", MASKED.values(), ids=MASKED)
def test_masked_arrays_are_refused_by_every_import(take, make):
    with pytest.raises(BufferError, match="would lose the mask of this Mask"):
        take(make())


@every_way
@pytest.mark.parametrize("class_", [WithUnit, WithUnits])
def test_arrays_with_units_are_refused_by_every_import(take, class_):
    with pytest.raises(BufferError, match="would lose the unit of this WithUnit"):
        take(masked(class_))


def _astropy(name):
    masked = pytest.importorskip("astropy.utils.masked", reason="astropy is not installed").Masked
    units = pytest.importorskip("astropy.units")
    table = pytest.importorskip("astropy.table")
    x = np.array([1.0, 2.0])
    return {
        "Masked": lambda: masked(x, mask=[False, True]),
        "Masked without a masked element": lambda: masked(x),
        "Quantity": lambda: x * units.m,
        "Quantity without a dimension": lambda: x * units.dimensionless_unscaled,
        "Masked Quantity": lambda: masked(x * units.m, mask=[True, False]),
        "Column": lambda: table.Column(x),
        "Column with a unit": lambda: table.Column(x, unit="m"),
        "MaskedColumn": lambda: table.MaskedColumn(x, mask=[False, True]),
    }[name]()


def _pint(name):
    return np.array([1.0, 2.0]) * pytest.importorskip("pint", reason="pint is not installed").UnitRegistry()(name)


#: Objects of the libraries themselves: what each import would lose.
OF_LIBRARIES = {
    "Masked": "mask", "Masked without a masked element": "mask", "Masked Quantity": "mask", "MaskedColumn": "mask",
    "Quantity": "unit", "Quantity without a dimension": "unit", "Column with a unit": "unit",
}  # fmt: skip


@every_way
@pytest.mark.parametrize("name", OF_LIBRARIES)
def test_astropy_masks_and_units_are_refused_by_every_import(take, name):
    with pytest.raises(BufferError, match=f"would lose the {OF_LIBRARIES[name]} of this "):
        take(_astropy(name))


@every_way
def test_astropy_columns_without_mask_and_unit_are_accepted(take):
    take(_astropy("Column"))


@every_way
@pytest.mark.parametrize("name", ["meter", "dimensionless"])
def test_pint_quantities_are_refused_by_every_import(take, name):
    with pytest.raises(BufferError, match="would lose the unit of this Quantity"):
        take(_pint(name))


@every_way
def test_empty_mask_and_unit_attributes_are_ignored(take):
    take(masked(Unmasked))


def test_array_interface_producer_with_mask_is_refused():
    for take in (BufferView, MemArray.from_numpy, array().read_numpy_array):
        with pytest.raises(BufferError, match="mask of this Interface"):
            take(Interface(np.arange(2.0)))


def test_masks_in_sequences_and_converted_objects_are_refused():
    x = np.ma.array([1.0, 2.0], mask=[False, True])

    class Wrapper:
        def __array__(self, dtype=None, copy=None):
            return x

    sequences = (
        [x[0], x[1]], (1.0, np.ma.masked), [np.float64(1), np.ma.masked], Wrapper(),
        [Wrapper()], deque([x]), UserList([x[1], 1.0]), [UserList([1.0, np.ma.masked])], UserList([deque([Wrapper()])]),
    )  # fmt: skip
    for source in sequences:
        with pytest.raises(BufferError, match="would lose the mask"):
            array().read_numpy_array(source)
        with pytest.raises(BufferError, match="would lose the mask"):
            MemArray.from_numpy(source)
    with pytest.raises(BufferError, match="would lose the mask"):
        MemArray.from_numpy([[1.0, 2.0], x])
    for plain in ([[1.0, 2], [3, 4]], deque([UserList([1.0, 2]), (3, 4)]), [range(1, 3), bytearray(b"\3\4")]):
        assert MemArray.from_numpy(plain).view().sum() == 10


def test_units_in_sequences_are_refused():
    x = masked(WithUnit)
    for source in ([x], deque([x]), UserList([x[0:1].reshape(()), 1.0])):
        for take in (MemArray.from_numpy, array().read_numpy_array):
            with pytest.raises(BufferError, match="would lose the unit"):
                take(source)


def test_sequences_that_contain_themselves_are_refused():
    own = [1.0]
    own.append(own)
    for source in (own, UserList([own]), UserString("text")):
        with pytest.raises((TypeError, ValueError)):
            MemArray.from_numpy(source)


class Converted:
    """An object that NumPy converts by `__array__` alone."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x


def test_fill_with_converted_element_with_mask_or_unit_is_refused():
    a = array()
    unit = np.array(1.0).view(WithUnit)
    for x, words in ((np.ma.masked, "mask"), (np.ma.array(1.0, mask=True), "mask"), (unit, "unit")):
        with pytest.raises(BufferError, match=f"would lose the {words}"):
            a.fill(Converted(x))
        with a.write() as lease, pytest.raises(BufferError, match=f"would lose the {words}"):
            lease.view().fill(Converted(x))
    a.fill(Converted(np.array(2.0)))
    assert a.view().sum() == 4


@pytest.mark.parametrize("value", [np.ma.masked, np.ma.array(1.0), masked(Masked)[:1].reshape(())], ids=str)
def test_fill_with_masked_element_is_refused(value):
    a = array()
    with pytest.raises(BufferError, match="would lose the mask"):
        a.fill(value)
    with a.write() as lease, pytest.raises(BufferError, match="would lose the mask"):
        lease.view().fill(value)
    assert a.view().sum() == 0


def test_fill_with_element_with_unit_is_refused():
    with pytest.raises(BufferError, match="would lose the unit"):
        array().fill(masked(WithUnit)[0:1].reshape(()))


def test_record_fields_named_mask_or_unit_are_accepted():
    fields = [("mask", "i4"), ("unit", "f4"), ("units", "f8")]
    records = np.array([(1, 2, 3), (4, 5, 6)], fields)
    for x in (records, records.view(np.recarray)):
        assert BufferView(x).shape == (2,)
        assert BufferView.from_numpy(x).shape == (2,)
        assert BufferView(x["mask"]).sum() == 5
    assert BufferView(records.view(np.recarray).mask).sum() == 5


def test_ctypes_struct_fields_named_mask_or_unit_are_accepted():
    class Packet(ctypes.Structure):
        _fields_ = (("mask", ctypes.c_int32), ("unit", ctypes.c_int32))

    packet = Packet(3, 4)
    assert BufferView.from_buffer(packet, "int32").tolist() == [3, 4]
    assert BufferView((Packet * 2)(packet, packet)).shape == (2,)


def test_object_without_memory_but_with_mask_raises_type_error():
    class Face:
        mask = "a mask"
        unit = "a unit"

    with pytest.raises(TypeError, match="exports memory"):
        BufferView(Face())


def test_memarray_subclass_may_have_a_unit_attribute():
    class Field(MemArray):
        unit = "K"

    x = Field([2])
    assert BufferView(x).shape == (2,)
    array().read_numpy_array(x)


def test_mask_attributes_of_torch_tensors_are_ignored():
    torch = pytest.importorskip("torch")
    for tensor in (torch.zeros(2), torch.nn.Parameter(torch.zeros(2), requires_grad=False)):
        tensor.mask = torch.ones(2)
        assert BufferView(tensor).shape == (2,)


TIMES_AND_TEXT = {
    "date": lambda: np.datetime64("2020-01-01", "s"),
    "difference": lambda: np.timedelta64(3, "s"),
    "dates": lambda: np.array(["2020", "2021"], "M8[s]"),
    "differences": lambda: np.array([1, 2], "m8[ns]"),
    "text": lambda: np.str_("text"),
    "texts": lambda: np.array(["a", "b"]),
    "bytes": lambda: np.array([b"a", b"b"]),
    "objects": lambda: np.array([1, 2], object),
    "subclass": lambda: np.array(["2020", "2021"], "M8[s]").view(np.recarray),
}
if hasattr(getattr(np, "dtypes", None), "StringDType"):  # from NumPy 2.0 on
    TIMES_AND_TEXT["strings"] = lambda: np.array(["a", "b"], np.dtypes.StringDType())


@pytest.mark.parametrize("make", TIMES_AND_TEXT.values(), ids=TIMES_AND_TEXT)
def test_dates_text_and_objects_are_refused(make):
    for way, take in WAYS.items():
        if way in CONVERTING:
            with pytest.raises((TypeError, ValueError), match=r"There are: |same_kind|of shape"):
                take(make())
        elif way in ("BufferView.from_numpy", "memarray.from_dlpack") and not isinstance(make(), np.ndarray):
            with pytest.raises((TypeError, BufferError)):
                take(make())
        else:
            with pytest.raises(BufferError, match=r"memarray has no dtype for elements of .*: convert them with"):
                take(make())


@pytest.mark.parametrize("make", TIMES_AND_TEXT.values(), ids=TIMES_AND_TEXT)
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_fill_with_dates_and_text_is_refused(make, dtype):
    a = MemArray([2], dtype)
    a.fill(3)
    elements = [make(), *np.asarray(make()).reshape(-1)[:1]]
    with a.write() as lease:
        view = lease.view()
        for element in elements:
            if type(element) is int:
                continue
            with pytest.raises(TypeError, match=r"not an element of|same_kind|fill takes one element"):
                view.fill(element)
        view.close()
    for element in elements:
        if type(element) is not int:
            with pytest.raises(TypeError, match=r"not an element of|same_kind|fill takes one element"):
                a.fill(element)
    assert a.view().tolist() == [3, 3]


def test_a_cuda_interface_with_a_mask_is_refused():
    class Cuda:
        def __init__(self):
            self.__cuda_array_interface__ = {
                "shape": (2,),
                "typestr": "<f8",
                "data": (64, False),
                "version": 3,
                "mask": np.array([True, False]),
            }

    with pytest.raises(BufferError, match="memory with a mask cannot be viewed"):
        BufferView(Cuda())


class MaskInInterface:
    """An exporter whose interface, not its class, has a mask."""

    def __init__(self, mask):
        self.values, self.given = np.arange(3.0), mask

    @property
    def __array_interface__(self):
        return {**self.values.__array_interface__, "mask": self.given}


def test_mask_of_an_interface_is_not_dropped():
    source = MaskInInterface(np.array([False, True, False]))
    array = memarray.MemArray([3])
    for call in (
        lambda: memarray.BufferView(source),
        lambda: memarray.MemArray.from_numpy(source),
        lambda: array.read_numpy_array(source),
        lambda: memarray.MemArray([1, 3]).read_numpy_array([source]),
        lambda: array.fill(source),
    ):
        with pytest.raises(BufferError, match="mask"):
            call()
    array.read_numpy_array(MaskInInterface(None))
    assert array.view().tolist() == [0, 1, 2]


def test_mask_of_a_memoryviews_exporter_is_not_dropped():
    masked = np.ma.masked_array([1.0, -999.0, 3.0], [0, 1, 0])
    for view in (memoryview(masked), memoryview(masked)[1:], PickleBuffer(masked), memoryview(PickleBuffer(masked))):
        for call in (memarray.BufferView, memarray.MemArray.from_numpy, memarray.BufferView.from_buffer):
            with pytest.raises(BufferError, match="mask"):
                call(view)
    assert memarray.BufferView(memoryview(masked.filled(0))).tolist() == [1, 0, 3]
    released = PickleBuffer(masked.filled(0))
    assert memarray.BufferView(released).tolist() == [1, 0, 3]
    released.release()
    with pytest.raises(ValueError, match="released"):
        memarray.BufferView(released)
