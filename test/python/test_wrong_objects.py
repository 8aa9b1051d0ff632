"""Functions of the C tables that take Python objects refuse NULL and objects of another type with `TypeError`."""

import ctypes
import re

import memarray
import numpy as np
import pytest
from c_api_headers import PARTS, declarations, header
from dlpack_structs import ManagedPointer, Table, Tensor, table_of
from memarray import BufferView
from test_c_api import pointer, structure, with_the_gil

pytestmark = pytest.mark.sanitize


class Mine(memarray.MemArray):
    """A subclass, which inherits the table."""


KINDS = {"view": BufferView, "lease": memarray.Lease, "array": memarray.MemArray, "subclass": Mine}


def others(kind):
    """Returns objects that a table of ``kind`` refuses."""
    array = memarray.MemArray([2])
    objects = [None, 5, "text", object(), np.zeros(2), BufferView, memarray.MemArray, type, memoryview(b"ab")]
    if not issubclass(kind, memarray.MemArray):
        objects.append(array)
    if kind is not BufferView:
        objects.append(array.view())
    if kind is not memarray.Lease:
        objects.append(array.read())
    return objects


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_exchange_tables_refuse_objects_of_other_types(kind):
    table = table_of(kind)
    for given in others(kind):
        managed = ManagedPointer()
        with pytest.raises(TypeError, match=r"exchange table is of .*: expected one, got"):
            table.export(given, managed)
        assert not managed
        if table.look:
            with pytest.raises(TypeError, match=r"exchange table is of .*: expected one, got"):
                table.look(given, Tensor())


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_exchange_tables_refuse_null(kind):
    table = table_of(kind)
    fields = dict(Table._fields_)
    for name in ("export", "look"):
        address = ctypes.cast(getattr(table, name), ctypes.c_void_p).value
        if not address:
            continue
        out = fields[name]._argtypes_[1]._type_()
        call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(address)
        with pytest.raises(TypeError, match="got NULL"):
            call(None, ctypes.addressof(out))


def entries_that_take_objects():
    """Returns (part of the C table, entry) for each entry whose first parameter is a Python object."""
    found = []
    for part, text in (("", header()), *((name, header(file)) for name, (file, _) in PARTS.items())):
        found += [(part, name) for name in re.findall(r"\(\*(\w+)\)\(__memarray_keep void\* object\b", text)]
    return found


def test_list_of_entries_that_take_objects_is_complete():
    assert entries_that_take_objects() == [
        ("", "array_as_pointer"),
        ("", "view_as_pointer"),
        ("arrays", "array_from_object"),
        ("views", "view_from_object"),
    ]


WRONG = [None, 5, "text", object(), memarray.MemArray, BufferView, type, 2.5, [1], {"data": 1}]


@pytest.mark.parametrize("part, name", entries_that_take_objects())
@pytest.mark.parametrize("given", [*WRONG, "NULL"], ids=lambda given: repr(given)[:20])
def test_the_c_table_refuses_objects_of_other_types(part, name, given):
    api = structure(declarations(header()), [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]).from_address(
        pointer()
    )
    call = with_the_gil(getattr(getattr(api, part).contents if part else api, name))
    resource = (ctypes.c_void_p * 4)()
    more = (0, ctypes.addressof(resource)) if name.endswith("as_pointer") else ()
    address = None if given == "NULL" else id(given)
    with pytest.raises(TypeError, match="NULL" if given == "NULL" else "."):
        call(address, *more)


def test_core_functions_refuse_objects_of_other_types():
    core = memarray._core
    for given in WRONG:
        for call in (core.raw_interface, core.shared_layout):
            with pytest.raises(TypeError):
                call(given)
        with pytest.raises(TypeError):
            core.adopt(memarray.MemArray, given, None)
        if given is not memarray.MemArray:
            with pytest.raises(TypeError):
                core.adopt(given, memarray.MemArray([2]).view(), None)
