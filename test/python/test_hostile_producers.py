"""Producers of DLPack tensors that lie, raise, re-enter and drop: no crash, the deleter called once, and words."""

import gc
import threading
from pathlib import Path

import memarray
import numpy as np
import pytest
from dlpack_producer import Producer
from support import run_python

pytestmark = pytest.mark.sanitize

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
    import gc, sys
    import memarray
    sys.path.insert(0, sys.argv[1])
    from dlpack_producer import Producer
    import dlpack_structs as dl
    said = {said!r}
    if "dtype" in said: said["dtype"] = dl.DataType(*said["dtype"])
    if "device" in said: said["device"] = dl.Device(*said["device"])
    for versioned in (True, False):
        if not versioned and ({{"version", "flags", "name"}} & set(said)):
            continue
        producer = Producer(versioned=versioned, **said)
        for take in (memarray.from_dlpack, memarray.BufferView):
            before = producer.deleted
            try:
                take(producer)
            except BufferError as error:
                words = str(error)
            else:
                raise AssertionError("it was taken")
            gc.collect()
            assert len(words) > 20, words
            # A capsule of another name is not ours to take anything of.
            assert producer.deleted - before == (0 if "name" in said else 1), producer.deleted
    print("refused")
"""


@pytest.mark.trap("P02", "P17", "P18")
@pytest.mark.parametrize("lie", LIES)
def test_a_tensor_that_lies_is_refused_and_deleted_once(lie):
    assert run_python(RUN.format(said=LIES[lie]), Path(__file__).parent).stdout == "refused\n"


def test_without_a_deleter_nothing_is_called():
    producer = Producer(deleter=False)
    view = memarray.from_dlpack(producer)
    assert view.sum() == 15
    del view
    with pytest.raises(BufferError):
        memarray.from_dlpack(Producer(deleter=False, ndim=-1))


def test_a_deleter_that_raises_is_heard_and_harms_nothing(monkeypatch):
    heard = []
    monkeypatch.setattr("sys.unraisablehook", heard.append)

    def fail():
        raise RuntimeError("from the deleter")

    view = memarray.from_dlpack(Producer(on_delete=fail))
    try:
        raise KeyError("pending")
    except KeyError as pending:
        del view
        assert pending.args == ("pending",)
    assert "from the deleter" in str(heard[0].exc_value)
    heard.clear()
    producer = Producer(on_delete=fail, ndim=-1)
    with pytest.raises(BufferError, match="-1 dimensions"):
        memarray.from_dlpack(producer)
    assert producer.deleted == 1


class Reentering(Producer):
    def __dlpack__(self, **_):
        inner = memarray.from_dlpack(self.capsule())
        assert inner.sum() == 15
        del inner
        assert self.deleted == 1
        return self.capsule()


def test_producers_that_do_odd_things():
    assert memarray.from_dlpack(Reentering()).sum() == 15

    class Junk(Producer):
        def __dlpack__(self, **_):
            return self.junk

    for junk in (None, 5, b"", object()):
        producer = Junk()
        producer.junk = junk
        with pytest.raises(TypeError, match="no capsule"):
            memarray.from_dlpack(producer)

    class Raising(Producer):
        def __dlpack__(self, **_):
            raise OSError("no")

    with pytest.raises(OSError, match="no"):
        memarray.from_dlpack(Raising())

    class NoType(Producer):
        @property
        def __dlpack__(self):
            raise OSError("not even that")

    with pytest.raises(OSError, match="not even"):
        memarray.from_dlpack(NoType())

    kept = []

    class DropsItself(Producer):
        def __dlpack__(self, **_):
            kept.append(self.capsule())
            holder.clear()
            return kept[-1]

    holder = [DropsItself()]
    producer = holder[0]
    view = memarray.from_dlpack(holder[0])
    assert view.sum() == 15
    with pytest.raises(BufferError, match="taken already"):
        memarray.from_dlpack(kept[0])
    del view
    gc.collect()
    assert producer.deleted == 1


def test_the_deleter_runs_on_any_thread_once():
    producer = Producer()
    view = memarray.from_dlpack(producer)
    parts = [view[i:] for i in range(2)] + [np.asarray(view), memoryview(view)]
    del view
    thread = threading.Thread(target=parts.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert producer.deleted == 1
