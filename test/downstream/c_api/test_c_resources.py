"""Pointers that an extension in C keeps into Python's objects."""

import ctypes

import c_resources
import memarray
import numpy as np
import pytest

NAME = ctypes.create_string_buffer(b"a name")


def capsule():
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(1, NAME, None)


def function():
    def made():
        pass

    made.__name__ = "".join(["a", " name"])
    kept.append(made)
    return made


kept = []


def spoil():
    for made in kept:
        made.__name__ = "other"
    return [bytearray(b"x" * 6) for _ in range(100)]


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("bytes", lambda: b"".join([b"a", b" name"])),
        ("bytearray", lambda: bytearray(b"a name")),
        ("capsule", capsule),
        ("function", function),
        ("utf8", lambda: "".join(["a", " name"])),
        ("utf8_and_size", lambda: "".join(["a", " name"])),
    ],
)
def test_text_stays_valid_after_object_is_dropped(kind, make):
    assert c_resources.text_after(kind, make, spoil) == b"a name"


@pytest.mark.parametrize("kind", ["bytes", "bytearray", "utf8", "utf8_and_size"])
def test_object_without_text_is_refused(kind):
    with pytest.raises(TypeError):
        c_resources.text_after(kind, lambda: 5, spoil)


def test_an_array_is_leased_while_c_has_its_pointer():
    a = memarray.MemArray([5], float)
    a.fill(2)
    refused = []

    def meanwhile():
        for lease in (a.read(), a.write()):
            with pytest.raises(memarray.LockError) as error, lease:
                pass
            refused.append(error)

    c_resources.scaled(a, 5, 3.0, meanwhile)
    assert len(refused) == 2 and a.lock_id == -1
    assert np.asarray(a).tolist() == [6] * 5


def test_a_view_is_exported_while_c_has_its_pointer():
    numbers = np.arange(4.0)
    c_resources.scaled(memarray.BufferView(numbers), 4, 2.0, lambda: None)
    assert numbers.tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError, match=r"a memarray\.BufferView is needed"):
        c_resources.scaled(numbers, 4, 2.0, lambda: None)
