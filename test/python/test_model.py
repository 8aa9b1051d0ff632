"""Leases, escaped views and writes in any order, against a model of the contents of each block.

MEMARRAY_NIGHTLY=1 runs many more examples; MEMARRAY_SEED=n repeats the run that printed n.
"""

import os
from dataclasses import dataclass, field

import memarray
import numpy as np
import pytest
from dtype_values import edges
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from random_runs import run_machine

EXAMPLES = 5000 if os.environ.get("MEMARRAY_NIGHTLY") else 200
SHAPES = ((6,), (4,), (9,), (0,))
ARRAYS = 3
# Views by the buffer protocol also keep the lease, and with it the array's state and its current memory.
KEEPERS = (np.from_dlpack, np.asarray, memoryview, lambda lease: np.from_dlpack(lease)[::2])
KEEPS_LEASE = (False, True, True, False)
PARTS = (slice(None), slice(None), slice(None), slice(None, None, 2))

which = st.integers(0, ARRAYS - 1)
any_index = st.integers(0, 10**6)
value = st.one_of(st.integers(-100, 100), st.sampled_from(edges("int64").tolist()))


@dataclass(eq=False)
class Memory:
    """One block: its contents, and the number of its live views."""

    data: np.ndarray
    read_only: int = 0
    writable: int = 0

    @property
    def exports(self):
        return self.read_only + self.writable


@dataclass
class View:
    seen: object
    memory: Memory
    part: slice
    writable: bool
    holder: "Model | None" = None


@dataclass(eq=False)
class Model:
    real: memarray.MemArray
    policy: str
    memory: Memory
    leases: list = field(default_factory=list)

    @property
    def writer(self):
        return any(lease.writable for lease in self.leases)


class Machine(RuleBasedStateMachine):
    @initialize(policies=st.tuples(*[st.sampled_from(["snapshot", "snapshot", "error", "alias"])] * ARRAYS))
    def make(self, policies):
        self.blocks = memarray.stats()["live_blocks"]
        self.start = memarray.stats()["copies"]
        self.copies = 0
        self.views = []
        self.models = []
        for policy in policies:
            real = memarray.MemArray(SHAPES[0], "int64")
            real.escaped_views = policy
            self.models.append(Model(real, policy, Memory(np.zeros(SHAPES[0], "int64"))))

    # Effects on the array before a use.

    def detach(self, model):
        self.copies += 1
        model.memory = Memory(model.memory.data.copy())

    def detach_for_read(self, model):
        if model.policy == "snapshot" and model.memory.writable:
            self.detach(model)

    def read_is_refused(self, model):
        return model.writer or (model.policy == "error" and model.memory.writable)

    def write_is_refused(self, model):
        return bool(model.leases) or (model.policy == "error" and model.memory.exports)

    def replace(self, model, data):
        """Sets new contents: in place, or in fresh memory if views must not see them."""
        if model.policy == "snapshot" and model.memory.exports:
            model.memory = Memory(data)
        else:
            model.memory.data[...] = data

    def refused(self, call):
        with pytest.raises(memarray.LockError):
            call()

    # Leases.

    @rule(at=which)
    def open_read(self, at):
        model = self.models[at]
        lease = model.real.read()
        if self.read_is_refused(model):
            return self.refused(lease.__enter__)
        self.detach_for_read(model)
        model.leases.append(lease.__enter__())
        self.check(np.asarray(lease), model.memory)

    @rule(at=which, discard=st.booleans(), number=value)
    def open_write(self, at, discard, number):
        model = self.models[at]
        lease = model.real.write(discard=discard)
        if self.write_is_refused(model):
            return self.refused(lease.__enter__)
        lease.__enter__()
        if discard:
            self.replace(model, np.full_like(model.memory.data, number))
            np.asarray(lease)[...] = number
        elif model.policy == "snapshot" and model.memory.exports:
            self.detach(model)
        model.leases.append(lease)

    @precondition(lambda self: any(model.leases for model in self.models))
    @rule(at=any_index)
    def close(self, at):
        opened = [(model, lease) for model in self.models for lease in model.leases]
        model, lease = opened[at % len(opened)]
        lease.close()
        # By identity: list.remove would compare leases.
        model.leases = [other for other in model.leases if other is not lease]
        self.refused(lease.__enter__)

    @precondition(lambda self: any(model.leases for model in self.models))
    @rule(at=any_index, how=st.integers(0, len(KEEPERS) - 1))
    def export(self, at, how):
        opened = [(model, lease) for model in self.models for lease in model.leases]
        model, lease = opened[at % len(opened)]
        view = View(KEEPERS[how](lease), model.memory, PARTS[how], lease.writable, model if KEEPS_LEASE[how] else None)
        if view.writable:
            model.memory.writable += 1
        else:
            model.memory.read_only += 1
        self.views.append(view)

    @rule(at=which)
    def keep_a_snapshot(self, at):
        model = self.models[at]
        if self.read_is_refused(model):
            return self.refused(lambda: np.from_dlpack(model.real))
        self.detach_for_read(model)
        self.views.append(View(np.from_dlpack(model.real), model.memory, slice(None), False))
        model.memory.read_only += 1

    # Views.

    @precondition(lambda self: self.views)
    @rule(at=any_index)
    def drop(self, at):
        view = self.views.pop(at % len(self.views))
        if view.writable:
            view.memory.writable -= 1
        else:
            view.memory.read_only -= 1

    @precondition(lambda self: any(view.writable for view in self.views))
    @rule(at=any_index, number=value)
    def write_through_a_view(self, at, number):
        writable = [view for view in self.views if view.writable]
        view = writable[at % len(writable)]
        np.asarray(view.seen)[...] = number
        view.memory.data[view.part] = number

    # Whole-array operations.

    @rule(at=which, number=value)
    def fill(self, at, number):
        model = self.models[at]
        if self.write_is_refused(model):
            return self.refused(lambda: model.real.fill(number))
        model.real.fill(number)
        self.replace(model, np.full_like(model.memory.data, number))

    @rule(at=which)
    def add_index_tuple(self, at):
        model = self.models[at]
        if self.write_is_refused(model):
            return self.refused(model.real.add_index_tuple)
        model.real.add_index_tuple()
        self.replace(model, model.memory.data + np.arange(len(model.memory.data)))

    @rule(at=which, number=value)
    def read_numpy_array(self, at, number):
        model = self.models[at]
        source = np.arange(len(model.memory.data)) * number
        if self.write_is_refused(model):
            return self.refused(lambda: model.real.read_numpy_array(source))
        model.real.read_numpy_array(source)
        self.replace(model, source)

    @rule(at=which, shape=st.sampled_from(SHAPES))
    def resize(self, at, shape):
        model = self.models[at]
        if self.write_is_refused(model):
            return self.refused(lambda: model.real.resize(shape))
        model.real.resize(shape)
        data = np.zeros(shape, "int64")
        kept = min(len(data), len(model.memory.data))
        data[:kept] = model.memory.data[:kept]
        model.memory = Memory(data)

    @rule(at=which)
    def move(self, at):
        model = self.models[at]
        if self.write_is_refused(model):
            return self.refused(lambda: model.real.move_memory(memarray.dlpack.kDLCPU))
        model.real.move_memory(memarray.dlpack.kDLCPU)
        self.detach_for_read(model)

    @rule(left=which, right=which)
    def exchange(self, left, right):
        a, b = self.models[left], self.models[right]
        if a is b:
            return a.real.exchange(b.real)
        if self.write_is_refused(a) or self.write_is_refused(b):
            return self.refused(lambda: a.real.exchange(b.real))
        a.real.exchange(b.real)
        for model, other in ((a, b), (b, a)):
            self.detach_for_read(model)
            if model.policy == "snapshot" and other.policy == "alias" and model.memory.exports:
                self.detach(model)
        a.memory, b.memory = b.memory, a.memory

    @rule(at=which)
    def copy(self, at):
        model = self.models[at]
        if self.read_is_refused(model):
            return self.refused(model.real.copy)
        twin = model.real.copy()
        self.detach_for_read(model)
        self.check(np.asarray(twin), model.memory)
        twin.fill(0)

    @rule(at=which)
    def look(self, at):
        model = self.models[at]
        if self.read_is_refused(model):
            return self.refused(lambda: np.asarray(model.real))
        self.detach_for_read(model)
        self.check(np.asarray(model.real), model.memory)

    # Invariants.

    def check(self, seen, memory, part=slice(None)):
        np.testing.assert_array_equal(seen, memory.data[part])

    @invariant()
    def every_view_shows_its_memory(self):
        for view in getattr(self, "views", ()):
            self.check(np.asarray(view.seen), view.memory, view.part)

    @invariant()
    def every_lease_shows_the_array(self):
        for model in getattr(self, "models", ()):
            for lease in model.leases:
                self.check(np.from_dlpack(lease), model.memory)
            assert model.real.shape == model.memory.data.shape
            assert (model.real.lock_id >= 0) == model.writer

    @invariant()
    def every_copy_was_counted(self):
        if hasattr(self, "models"):
            assert memarray.stats()["copies"] - self.start == self.copies

    def drop_all(self):
        for model in self.models:
            for lease in model.leases:
                lease.close()
            model.leases.clear()
            model.real = None

    def teardown(self):
        if not hasattr(self, "models"):
            return
        self.drop_all()
        alive = {id(view.memory) for view in self.views} | {
            id(view.holder.memory) for view in self.views if view.holder
        }
        assert memarray.stats()["live_blocks"] == self.blocks + len(alive)
        self.every_view_shows_its_memory()
        self.views.clear()
        assert memarray.stats()["live_blocks"] == self.blocks


def test_random_leases_views_and_writes_match_model():
    run_machine(Machine, EXAMPLES, steps=40)
