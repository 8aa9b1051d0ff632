"""Every public operation with absurd arguments: an exception, never a crash, and nothing changed.

MEMARRAY_NIGHTLY=1 makes many more calls; MEMARRAY_SEED=n repeats the run that printed n.
"""

import copy
import gc
import os
import random
import warnings

import memarray
import numpy as np
import pytest
from memarray import BufferView
from memarray.dlpack import kDLCPU
from operations import entries_of
from support import SEED

CALLS = 200_000 if os.environ.get("MEMARRAY_NIGHTLY") else 4_000

#: The exceptions that a call may raise. Any other (a SystemError, an AssertionError) or a crash is a bug of memarray.
REFUSALS = (TypeError, ValueError, OverflowError, BufferError, IndexError, AttributeError, MemoryError, memarray.Error)


class Liar:
    """An object that claims every protocol and fulfils none."""

    def __init__(self, answer):
        self.answer = answer

    def __index__(self):
        return self.answer

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return self.answer

    def __float__(self):
        raise MemoryError("a liar")

    def __iter__(self):
        return iter([self.answer, self])

    def __dlpack__(self, **_):
        return self.answer

    def __dlpack_device__(self):
        return self.answer

    @property
    def __array_interface__(self):
        return self.answer

    @property
    def __cuda_stream__(self):
        return self.answer


SCALARS = [
    *(None, True, False, 0, 1, -1, 2, 7, 2**31, -(2**31), 2**62, 2**63, -(2**63) - 1, 10**30),
    *(0.0, -0.5, 1e300, float("inf"), float("-inf"), float("nan"), 1j, b"", b"\0", "", "cpu", "cuda:0", "\udc80", "f8"),
    *(object(), ..., int, memarray.MemArray, np.float32(3), np.int64(-1), np.bool_(True), np.datetime64("2020")),
    *(memarray.dlpack.kDLCPU, memarray.dlpack.kDLCUDA, memarray.Device("cpu"), lambda: None, slice(None)),
]


def compounds():
    """Returns fresh objects, because calls change some: __deepcopy__ puts its result into the given memo."""
    return [
        *([], [0], [2, 3], [2**40, 2**40], [-1], (1, 0), (2, 0), (1, 2**70), (1,), (1, 0, 0), {}, {"x": 1}, {1, 2}),
        *(np.zeros((2, 3)), np.zeros((2, 3))[::-1], np.zeros(0), np.zeros((2, 3), "S3"), np.zeros((2, 3), ">f8")),
        *(np.array(None), np.zeros((1,) * 8), np.broadcast_to(np.float64(2), (2, 3))),
        *(memoryview(b"abcdef"), bytearray(48)),
    ]


#: Keywords that a caller might get right, so that the values reach memarray.
KEYWORDS = [
    *("device", "stream", "timeout", "discard", "device_type", "device_id", "async_copy", "max_version"),
    *("dl_device", "copy", "dtype", "shape", "uninitialized", "nonsense", "", "\udc80"),
]
#: Operations that the test omits: they end or replace the object, or belong to the interpreter.
OMITTED = {
    *("__new__", "__del__", "_TYPE_INSTANCE_MAP"),
    *("__release_buffer__", "__buffer__"),  # a direct caller owns the export
}


def operations_of(owner, target, omitted=()):
    """Returns the target with the name of each operation that is tried."""
    return [(target, name) for name in entries_of(owner) if name not in {*OMITTED, *omitted}]


class Fuzz:
    def __init__(self, number):
        self.random = random.Random(number)
        self.array = memarray.MemArray([2, 3], self.random.choice(["float64", "int8", "complex64", "bool", "float16"]))
        self.call = ""

    def value(self):
        roll = self.random.random()
        if roll < 0.55:
            return self.random.choice(SCALARS)
        if roll < 0.8:
            return self.random.choice(compounds())
        if roll < 0.9:
            return Liar(self.random.choice(SCALARS + compounds()))
        return self.random.choice([self.array, self.array.read(), memarray.MemArray([2]), memarray.MemArray([2, 3])])

    def arguments(self):
        positional = [self.value() for _ in range(self.random.choice([0, 1, 1, 1, 2, 2, 3, 5]))]
        names = self.random.sample(KEYWORDS, self.random.choice([0, 0, 0, 1, 1, 2]))
        return positional, {name: self.value() for name in names}

    def targets(self, lease):
        yield from operations_of("MemArray", self.array)
        yield from operations_of("Lease", lease)
        yield from ((memarray, name) for name in ("MemArray", "leases", "trim", "stats", "Device", "build_info"))
        yield from (
            (memarray.options, name)
            for name in ("pool_limit", "threads", "escaped_views", "trace_leases", "trace_resources")
        )

    def one(self):
        lease = self.random.choice([self.array.read, self.array.write])()
        state = self.random.choice(["unopened", "open", "closed"])
        if state != "unopened":
            lease.__enter__()
        if state == "closed":
            lease.close()
        target, name = self.random.choice(list(self.targets(lease)))
        positional, keywords = self.arguments()
        self.call = f"{type(target).__name__}.{name}(*{positional!r}, **{keywords!r}) with a lease {lease!r}"
        before = self.contents()
        try:
            if target is memarray.options:
                setattr(target, name, positional[0] if positional else None)
            else:
                found = getattr(target, name)
                if callable(found):
                    found = found(*positional, **keywords)
                if isinstance(found, (memarray.Lease, memarray.leases)):
                    self.enter(found)
        except REFUSALS:
            if state != "open":
                assert self.contents() == before, f"changed although it was refused: {self.call}"
        finally:
            lease.close()

    def enter(self, lease):
        # A lease with no timeout or a long one would wait for this thread itself.
        if self.array.lock_id == -1 and repr(lease).startswith("<unopened") and "timeout" not in self.call:
            with lease:
                pass

    def contents(self):
        # An accepted call may have moved the array to a device.
        lease = self.array.read(device="cpu")
        try:
            lease.__enter__()
        except memarray.LockError:
            return None
        with_bytes = np.array(lease).tobytes()
        lease.close()
        return self.array.shape, self.array.device, with_bytes

    def is_still_good(self):
        memarray.options.escaped_views = "snapshot"
        self.array.escaped_views = "snapshot"
        self.array.move_memory(kDLCPU)
        self.array.resize([2, 3])
        self.array.fill(True)
        assert np.asarray(self.array).sum() == 6
        assert copy.copy(self.array).shape == (2, 3)
        assert self.array.lock_id == -1


@pytest.fixture
def every_option():
    names = ("pool_limit", "threads", "escaped_views", "trace_leases", "trace_resources")
    before = {name: getattr(memarray.options, name) for name in names}
    yield
    for name, value in before.items():
        setattr(memarray.options, name, value)


def make_calls(kind):
    """Makes many calls, on objects that are replaced after every 50; prints the call that fails."""
    fuzz = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in range(CALLS):
            if call % 50 == 0:
                fuzz = kind(SEED + call)
            try:
                fuzz.one()
                if call % 50 == 49:
                    fuzz.is_still_good()
            except BaseException as error:
                print(f"call {call} of MEMARRAY_SEED={SEED}: {fuzz.call} ({error!r})")
                raise
    fuzz = None
    gc.collect()


@pytest.mark.sanitize
def test_junk_arguments_are_refused_and_change_nothing(every_option):
    make_calls(Fuzz)


class ViewFuzz(Fuzz):
    """Calls on views of foreign memory."""

    def __init__(self, number):
        super().__init__(number)
        self.base = np.zeros((4, 6), self.random.choice(["float64", "int8", "complex64", "bool", "float16"]))
        self.base.flags.writeable = self.random.random() < 0.7
        change = self.random.choice([lambda x: x, lambda x: x.T, lambda x: x[::-2, 1:], lambda x: x[:0]])
        self.view = BufferView.from_numpy(change(self.base))

    def value(self):
        return self.view if self.random.random() < 0.1 else super().value()

    def one(self):
        target, name = self.random.choice(
            operations_of("BufferView", self.view, omitted=("close", "__exit__"))
            + [(memarray, "from_dlpack"), (memarray, "BufferView"), (memarray.MemArray, "from_dlpack")]
            + [(BufferView, name) for name in ("from_numpy", "from_buffer", "from_dlpack")]
        )
        positional, keywords = self.arguments()
        self.call = f"{name}(*{positional!r}, **{keywords!r}) of {self.view!r}"
        before = self.base.tobytes()
        try:
            found = getattr(target, name)
            if callable(found):
                found(*positional, **keywords)
        except REFUSALS:
            assert self.base.tobytes() == before, f"changed although it was refused: {self.call}"
        assert self.base.flags.writeable or self.base.tobytes() == before, f"read-only, and changed: {self.call}"

    def is_still_good(self):
        if self.view.writable:
            self.view.fill(True)
            assert self.view.sum() == self.view.size
        np.testing.assert_array_equal(np.asarray(self.view.copy()), np.asarray(self.view))


@pytest.mark.sanitize
def test_junk_view_arguments_are_refused_and_change_nothing():
    make_calls(ViewFuzz)
