"""Pickles and copies of subclasses keep their attributes, slots and own state, and do not call their constructors."""

import copy
import pickle
import threading

import memarray
import pytest
from memarray import MemArray

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


class OwnConstructor(MemArray):
    def __new__(cls, count):
        return super().__new__(cls, [count], "float32")


class Slots(MemArray):
    __slots__ = ("unset", "word")


class SlotsAndAttributes(Slots):
    __slots__ = ("__dict__", "more")


class OwnState(MemArray):
    def __init__(self, *arguments):
        self.lock, self.number = threading.Lock(), 3

    def __getstate__(self):
        return {"number": self.number}

    def __setstate__(self, state):
        self.lock, self.number = threading.Lock(), state["number"]


def slots():
    array = Slots([3])
    array.word = ["a"]
    return array


def slots_and_attributes():
    array = SlotsAndAttributes([3])
    array.word, array.more, array.attribute = ["a"], ["b"], ["c"]
    return array


def seen(array):
    names = ("unset", "word", "more", "attribute", "number")
    state = {name: getattr(array, name) for name in names if hasattr(array, name)}
    return type(array), array.shape, array.dtype, array.view().tolist(), state


MAKERS = {
    "own constructor": lambda: OwnConstructor(2),
    "slots": slots,
    "slots and attributes": slots_and_attributes,
    "own state": lambda: OwnState([2]),
}
makers = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@makers
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pickle_keeps_the_state_of_a_subclass(make, protocol):
    array = make()
    array.fill(2)
    back = pickle.loads(pickle.dumps(array, protocol))
    assert seen(back) == seen(array)
    back.fill(3)
    assert array.view().tolist()[0] == 2


@makers
def test_copies_keep_the_state_of_a_subclass(make):
    array = make()
    shallow, deep = copy.copy(array), copy.deepcopy(array)
    assert seen(shallow) == seen(deep) == seen(array)
    if hasattr(array, "word"):
        assert shallow.word is array.word and deep.word is not array.word


def test_deep_copies_of_cycles_end():
    array = SlotsAndAttributes([1])
    array.word = array.own = array
    twin = copy.deepcopy(array)
    assert twin.word is twin is twin.own and twin is not array


class OwnReduce(MemArray):
    def __reduce__(self):
        return OwnReduce, (self.shape, "float32")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_own_reduce_is_used(protocol):
    array = OwnReduce([2], "int8")
    assert pickle.loads(pickle.dumps(array, protocol)).dtype == "float32"
    assert array.__reduce__()[0] is OwnReduce


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pickle_keeps_the_policy_for_escaped_views(protocol):
    array = MemArray([2])
    array.escaped_views = "error"
    assert pickle.loads(pickle.dumps(array, protocol)).escaped_views == "error"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pickled_views_stay_read_only(protocol):
    import numpy as np

    for view in (
        memarray.BufferView(np.broadcast_to(np.float32(2), (3, 3))),
        memarray.BufferView(np.arange(6.0)).broadcast_to(2, 6),
        memarray.BufferView(b"abcd"),
    ):
        back = pickle.loads(pickle.dumps(view, protocol))
        assert not view.writable and not back.writable
        assert back.tolist() == view.tolist()
    assert pickle.loads(pickle.dumps(memarray.BufferView(np.zeros(3)), protocol)).writable


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_devices_are_pickled(protocol):
    for device in (memarray.Device("cuda:1"), memarray.Device()):
        assert pickle.loads(pickle.dumps(device, protocol)) == copy.copy(device) == device
