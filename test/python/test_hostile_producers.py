"""Producers of DLPack tensors that lie, raise, re-enter and drop: no crash, one call of the deleter, a message."""

import gc
import threading
from pathlib import Path

import memarray
import numpy as np
import pytest
from dlpack_producer import Producer
from support import run_python

pytestmark = [pytest.mark.sanitize, pytest.mark.sweep]

LIES = {
    "no shape": {"shape": None},
    "no data": {"data": None},
    "negative extent": {"shape": (2, -3)},
    "huge extent": {"shape": (2, 2**62)},
    "huge size": {"shape": (2**40, 2**40)},
    "huge stride": {"strides": (2**62, 1)},
    "strides that overflow together": {"strides": (2**60, 2**60), "shape": (8, 8)},
    "least stride": {"strides": (-(2**63), 1)},
    "ndim -1": {"ndim": -1},
    "ndim 2**31-1": {"ndim": 2**31 - 1},
    "ndim 17": {"ndim": 17, "shape": (1,) * 17, "strides": (1,) * 17},
    "33 bits": {"dtype": (0, 33, 1)},
    "0 bits": {"dtype": (0, 0, 1)},
    "4 lanes": {"dtype": (0, 32, 4)},
    "0 lanes": {"dtype": (0, 32, 0)},
    "unknown code": {"dtype": (99, 32, 1)},
    "opaque handle": {"dtype": (3, 64, 1)},
    "unknown device": {"device": (77, 0)},
    "negative device": {"device": (1, -5)},
    "CUDA": {"device": (2, 0)},
    "byte offset out of memory": {"byte_offset": 2**64 - 1},
    "not aligned": {"byte_offset": 2},
    "major 2": {"version": (2, 0)},
    "major 0": {"version": (0, 8)},
    "major 4 billion": {"version": (2**32 - 1, 0)},
    "wrong name": {"name": "dltensor_version"},
    "name of the other kind": {"name": "tensor"},
    "used": {"name": "used_dltensor_versioned"},
}

RUN = """
    import ctypes, gc, sys
    import memarray
    sys.path.insert(0, sys.argv[1])
    from dlpack_producer import ENTRANCES, Producer
    import dlpack_structs as dl
    said = {said!r}
    if "dtype" in said: said["dtype"] = dl.DataType(*said["dtype"])
    if "device" in said: said["device"] = dl.Device(*said["device"])
    for versioned in (True, False):
        if not versioned and ({{"version", "flags"}} & set(said)):
            continue
        if not versioned and said.get("name") == "used_dltensor_versioned":
            said["name"] = "used_dltensor"
        producer = Producer(versioned=versioned, **said)
        for name, take in ENTRANCES.items():
            if "table" in name and (not versioned or "name" in said):
                continue  # a table knows one struct, and no names
            before = producer.deleted
            try:
                take(producer)
            except BufferError as error:
                words = str(error)
            else:
                raise AssertionError(f"{{name}}: it was taken")
            gc.collect()
            assert len(words) > 20, (name, words)
            # A capsule of another name is not ours to take anything of.
            assert producer.deleted - before == (0 if "name" in said else 1), (name, producer.deleted)
    print("refused")
"""


@pytest.mark.trap("P02", "P17", "P18")
@pytest.mark.parametrize("lie", LIES)
def test_invalid_tensor_is_refused_and_deleted_at_most_once(lie):
    assert run_python(RUN.format(said=LIES[lie]), Path(__file__).parent).stdout == "refused\n"


START = """
import gc, sys
import memarray
sys.path.insert(0, sys.argv[1])
from dlpack_producer import ENTRANCES, Producer, refused

"""

#: Programs, each in a process of its own: one behaviour of a producer, at every entrance.
BEHAVIOURS = {
    "no deleter": """
for name, take in ENTRANCES.items():
    for versioned in (True, False):
        if versioned or "table" not in name:
            good = Producer(deleter=False, versioned=versioned)
            assert memarray.BufferView(take(good)).sum() == 15
            refused(BufferError, take, Producer(deleter=False, versioned=versioned, ndim=-1))
""",
    "a deleter that raises": """
heard = []
sys.unraisablehook = lambda what: heard.append(str(what.exc_value))

def fail():
    raise RuntimeError("from the deleter")

for name, take in ENTRANCES.items():
    for said in ({}, {"ndim": -1}):
        producer = Producer(on_delete=fail, **said)
        if said:
            refused(BufferError, take, producer)
        else:
            taken = take(producer)
            try:
                raise KeyError("pending")
            except KeyError as pending:
                del taken
                gc.collect()
                assert pending.args == ("pending",)
        assert producer.deleted == 1, name
        assert heard.pop() == "from the deleter", name
        assert not heard
""",
    "re-enters": """
class Reentering(Producer):
    def __dlpack__(self, **_):
        inner = memarray.from_dlpack(self.capsule())
        assert inner.sum() == 15
        del inner
        self.inner = self.deleted
        return self.capsule()

for name, take in ENTRANCES.items():
    if "capsule" in name or "table" in name:
        continue
    producer = Reentering()
    taken = take(producer)
    assert producer.deleted == producer.inner == 1, name
    assert memarray.BufferView(taken).sum() == 15
    del taken
    gc.collect()
    assert producer.deleted == 2, name
""",
    "a deleter that re-enters": """
import numpy as np
held = []
for name, take in ENTRANCES.items():
    def again():
        held.append(memarray.from_dlpack(np.arange(4.0)).sum())
    taken = take(Producer(on_delete=again))
    del taken
    gc.collect()
    assert held.pop() == 6 and not held, name
""",
    "junk": """
class Junk(Producer):
    def __dlpack__(self, **_):
        return self.junk

class Nowhere(Producer):
    def __dlpack_device__(self):
        return self.junk

for name, take in ENTRANCES.items():
    if "capsule" in name or "table" in name:
        continue
    for junk in (None, 5, b"", object(), NotImplemented, type, lambda: None):
        producer = Junk()
        producer.junk = junk
        refused(TypeError, take, producer)
        assert producer.deleted == 0
    for junk in (None, 1, (1,), (1, 0, 0), ("cpu", 0), (1 << 70, 0), [1, 0]):
        producer = Nowhere()
        producer.junk = junk
        refused(TypeError, take, producer)
        assert producer.deleted == 0
""",
    "drops itself": """
import ctypes

# Calls with the only reference, which the producer drops meanwhile.
call = ctypes.pythonapi.PyObject_CallFunctionObjArgs
call.restype = ctypes.py_object
call.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p]
tensors = []

class DropsItself(Producer):
    def __dlpack__(self, **_):
        capsule = self.capsule()
        tensors.append((self.managed, self.callback, self.memory, self.lists, self.arrays))
        holder.clear()
        return capsule

    def _delete(self, address):
        deleted.append(address)

for name, take in ENTRANCES.items():
    if "capsule" in name or "table" in name:
        continue
    deleted, holder = [], [DropsItself()]
    taken = call(take, id(holder[0]), None)
    assert memarray.BufferView(taken).sum() == 15
    assert not deleted
    del taken
    gc.collect()
    assert len(deleted) == 1, name
""",
    "keeps the capsule": """
kept = []

class Keeps(Producer):
    def __dlpack__(self, **_):
        kept.append(self.capsule())
        return kept[-1]

for name, take in ENTRANCES.items():
    if "capsule" in name or "table" in name:
        continue
    producer = Keeps()
    taken = take(producer)
    refused(BufferError, memarray.from_dlpack, kept[-1])
    del taken
    gc.collect()
    assert producer.deleted == 1, name
""",
    "raises": """
class Raising(Producer):
    def __dlpack__(self, **_):
        raise OSError("no")

class NoAttribute(Producer):
    @property
    def __dlpack__(self):
        raise OSError("not even that")

class NoDevice(Producer):
    def __dlpack_device__(self):
        raise OSError("nowhere")

for name, take in ENTRANCES.items():
    if "capsule" in name or "table" in name:
        continue
    for kind in (Raising, NoAttribute, NoDevice):
        producer = kind()
        refused(OSError, take, producer)
        assert producer.deleted == 0
""",
    "unknown flags": """
for name, take in ENTRANCES.items():
    producer = Producer(version=(1, 99), flags=1 << 40 | 1 << 63)
    taken = take(producer)
    assert memarray.BufferView(taken).sum() == 15
    del taken
    gc.collect()
    assert producer.deleted == 1, name
""",
}


@pytest.mark.trap("P02", "P17", "P18")
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_misbehaving_producer_causes_no_crash_or_leak(behaviour):
    code = START + BEHAVIOURS[behaviour] + 'print("survived")\n'
    assert run_python(code, Path(__file__).parent).stdout == "survived\n"


def test_deleter_runs_once_on_any_thread():
    producer = Producer()
    view = memarray.from_dlpack(producer)
    parts = [view[i:] for i in range(2)] + [np.asarray(view), memoryview(view)]
    del view
    thread = threading.Thread(target=parts.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize(
    "hold",
    [
        memarray.from_dlpack,
        lambda producer: memarray.from_dlpack(producer)[1:],
        memarray.MemArray.from_dlpack,
        lambda producer: memarray.MemArray.from_dlpack(producer).read(),
        lambda producer: np.asarray(memarray.from_dlpack(producer)),
    ],
    ids=["view", "slice", "array", "lease", "NumPy"],
)
def test_python_deleter_leaves_the_error_state_unchanged(hold, versioned):
    producer = Producer(versioned=versioned)

    def held_and_then_an_error():
        yield hold(producer)
        raise KeyError("the error on its way")

    # C code releases the tuple while the error is set.
    with pytest.raises(KeyError, match="the error on its way"):
        tuple(held_and_then_an_error())
    gc.collect()
    assert producer.deleted == 1
