"""Work on streams of two devices in any order, against NumPy, which executes one operation after another.

Operations are submitted without waits, and the streams of simulated devices run at different speeds. The library must
order everything that it can order. The order between two consumers that got one memory under one lease, and do not ask
again, is their own and not tested. MEMARRAY_NIGHTLY=1 runs many more examples; MEMARRAY_SEED=n repeats the run that
printed n.
"""

import os
import random
import sys

import memarray
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer, simulated_devices
from order_kernel_rules import RUNS, KernelRules, check_runs
from order_kernels import DTYPE, EXPLAINED, LIMIT, TRIALS, VIEW_TRIALS, kernels
from order_model import InItsStream, Lease, Memory, Model, View, stream_key
from random_runs import run_machine

pytestmark = [pytest.mark.sanitize, pytest.mark.threads, pytest.mark.sweep]

# Sanitizers make each example slower and check more, so fewer examples suffice.
SANITIZED = "san.so" in os.environ.get("LD_PRELOAD", "")
EXAMPLES = (10_000 if os.environ.get("MEMARRAY_NIGHTLY") else 500) // (10 if SANITIZED else 1)
SIZES = (6, 4, 9, 0)
ARRAYS = 2
DEVICES = ("cpu", "cuda:0", "cuda:1")
EDGES = (-1, 0, -LIMIT // 2, LIMIT // 2, np.iinfo(DTYPE).min, np.iinfo(DTYPE).max)

which = st.integers(0, ARRAYS - 1)
any_index = st.integers(0, 10**6)
number = st.integers(-100, 100) | st.sampled_from(EDGES)
place = st.sampled_from(DEVICES)


class Machine(KernelRules, RuleBasedStateMachine):
    @initialize(
        peer_access=st.booleans(),
        order=st.integers(0, 1000),
        strict=st.booleans(),
        start=st.sampled_from(DEVICES[::-1]),
    )
    def make(self, peer_access, order, strict, start):
        self.order = random.Random(order)
        self.block = simulated_devices(2, peer_access=peer_access)
        self.sim = self.block.__enter__()
        self.streams = [(memarray.Stream(d), memarray.Stream(d, nonblocking=False), None, 1, 2) for d in range(2)]
        self.consumers = [self.consumer(kind) for kind in range(5)]
        self.models = [Model(memarray.MemArray([6], DTYPE), Memory(np.zeros(6, DTYPE))) for _ in range(ARRAYS)]
        for model in self.models:
            model.real.escaped_views = "error" if strict else "snapshot"
            if start != "cpu":
                model.real.move_memory(kDLCUDA, device_id=int(start[-1]))
        self.views = []
        self.readings = []

    def consumer(self, kind):
        return Consumer(stream=memarray.Stream(kind) if kind < 2 else ("own", None, 2)[kind - 2])

    def stream_on(self, device, choice):
        """Returns one of the streams that may be named on the device; None, the default stream, for the host."""
        return None if device == "cpu" else self.streams[int(device[-1])][choice % 5]

    def refused(self, call):
        with pytest.raises(memarray.LockError):
            call()

    def refused_by_views(self, call, *models, writes=False, leased=False):
        """Calls; true if it was refused under the policy "error" because of escaped views, or by an open lease."""
        strict = [model for model in models if model.real.escaped_views == "error"]
        try:
            call()
        except memarray.LockError:
            assert leased or (strict and self.views)
            return True
        self.no_view_of(strict if writes else ())
        return False

    def no_view_of(self, models):
        for model in models:
            assert not any(view.memory is model.memory and len(model.data) for view in self.views)

    def opened(self):
        return [(model, lease) for model in self.models for lease in model.leases]

    # Operations on arrays.

    @rule(at=which, device=place, choice=any_index, from_source=st.booleans(), asynchronous=st.booleans())
    def move(self, at, device, choice, from_source, asynchronous):
        model = self.models[at]
        here = str(model.real.device)
        stream = self.stream_on(here if device == "cpu" or (from_source and here != "cpu") else device, choice)
        arguments = {"device_id": int(device[-1]) if device != "cpu" else 0, "async_copy": asynchronous}
        kind = kDLCPU if device == "cpu" else kDLCUDA
        if model.leases:
            return self.refused(lambda: model.real.move_memory(kind, **arguments))
        if self.refused_by_views(
            lambda: model.real.move_memory(kind, stream=0 if stream is None else stream, **arguments), model
        ):
            return
        model.is_used()
        assert str(model.real.device) == device
        model.memory = model.memory if device == here else Memory(model.data.copy())

    @rule(at=which, value=number)
    def fill(self, at, value):
        model = self.models[at]
        if model.leases:
            return self.refused(lambda: model.real.fill(value))
        if self.refused_by_views(lambda: model.real.fill(value), model, writes=True):
            return
        model.becomes(np.full_like(model.data, value))

    @rule(at=which, value=number)
    def read_numpy_array(self, at, value):
        model = self.models[at]
        source = np.arange(len(model.data), dtype=DTYPE) * value
        if model.leases:
            return self.refused(lambda: model.real.read_numpy_array(source))
        if self.refused_by_views(lambda: model.real.read_numpy_array(source), model, writes=True):
            return
        assert str(model.real.device) == "cpu"
        model.becomes(source)

    @rule(at=which, policy=st.sampled_from(["snapshot", "error"]))
    def decide(self, at, policy):
        self.models[at].real.escaped_views = policy

    @rule(at=which, size=st.sampled_from(SIZES))
    def resize(self, at, size):
        model = self.models[at]
        if model.leases:
            return self.refused(lambda: model.real.resize([size]))
        if self.refused_by_views(lambda: model.real.resize([size]), model, writes=True):
            return
        data = np.zeros(size, DTYPE)
        data[: len(model.data)] = model.data[:size]
        model.becomes(data)

    @rule()
    def exchange(self):
        first, second = self.models
        if first.leases or second.leases:
            return self.refused(lambda: first.real.exchange(second.real))
        if self.refused_by_views(lambda: first.real.exchange(second.real), first, second):
            return
        for model in (first, second):
            model.is_used()
        first.memory, second.memory = second.memory, first.memory

    @rule(at=which)
    def copy_becomes_the_other(self, at):
        model, other = self.models[at], self.models[1 - at]
        if other.leases or any(lease.writable for lease in model.leases):
            return
        copies = []
        if self.refused_by_views(lambda: copies.append(model.real.copy()), model):
            return
        copies[0].escaped_views = other.real.escaped_views
        other.real = copies.pop()
        model.is_used()
        other.becomes(model.data.copy())

    @rule(at=which, moved=st.booleans())
    def look(self, at, moved):
        model = self.models[at]
        if any(lease.writable for lease in model.leases):
            return self.refused(model.real.read().__enter__)
        if self.refused_by_views(lambda: model.real.read().__enter__().close(), model):
            return
        if moved and not model.leases and model.real.escaped_views == "snapshot":
            with model.real.read("cpu") as lease:
                seen = np.array(lease)
        else:
            twin = model.real.copy()
            twin.move_memory(kDLCPU)
            seen = np.asarray(twin)
        model.is_used()
        np.testing.assert_array_equal(seen, model.data)

    # Leases.

    def lease_for(self, at, device, choice, asked):
        """Returns a lease that is not open yet, and its stream."""
        real = self.models[at].real
        stream = self.stream_on(device or str(real.device), choice)
        return (real.read(device, stream) if asked == "r" else real.write(device, stream, discard=asked == "d")), stream

    def has_opened(self, at, real, stream, choice, asked, value):
        model = self.models[at]
        assert not model.leases or (asked == "r" and not model.leases[0].writable)
        if asked != "r":
            model.becomes(model.data.copy() if asked == "w" else np.full_like(model.data, value))
        else:
            model.is_used()
        opened = Lease(real, stream, asked != "r", model.memory)
        model.leases.append(opened)
        if asked == "d":
            # discard gives up the old contents, so the holder writes all elements.
            view = self.take_from(opened, self.consumer_on(real, choice % 5))
            view.seen.write(value)
            view.memory.uses.append((view.stream, True))

    @rule(at=which, device=st.one_of(st.none(), place), choice=any_index, asked=st.sampled_from("rwd"), value=number)
    def open(self, at, device, choice, asked, value):
        lease, stream = self.lease_for(at, device, choice, asked)
        model = self.models[at]
        if self.refused_by_views(lease.__enter__, model, writes=asked != "r", leased=bool(model.leases)):
            return
        self.has_opened(at, lease, stream, choice, asked, value)

    @rule(
        first=which,
        devices=st.tuples(*2 * [st.one_of(st.none(), place)]),
        choices=st.tuples(any_index, any_index),
        asked=st.tuples(*2 * [st.sampled_from("rwd")]),
        value=number,
    )
    def open_together(self, first, devices, choices, asked, value):
        each = list(zip((first, 1 - first), devices, choices, asked, strict=True))
        held = [model for model in self.models if model.leases]
        if held and any(model.memory.writable for model in self.models):
            return  # whether the lease that could be opened leaves an escaped view depends on the order
        if self.views and any(model.real.escaped_views == "error" for model in self.models):
            return
        made = [self.lease_for(at, device, choice, how) for at, device, choice, how in each]
        places = [str(model.real.device) for model in held]
        try:
            memarray.leases(*(lease for lease, _ in made)).__enter__()
        except memarray.LockError:
            assert held
            assert not any(lease.is_open for lease, _ in made)
            assert places == [str(model.real.device) for model in held]
            # The addresses decide which array is tried first, and so whether the other was moved. An example must not
            # depend on that.
            for model in self.models:
                if not model.leases:
                    model.real.move_memory(kDLCPU)
                    model.becomes(model.data.copy())
            return
        for (at, _, choice, how), (lease, stream) in zip(each, made, strict=True):
            self.has_opened(at, lease, stream, choice, how, value)

    @precondition(lambda self: self.opened())
    @rule(at=any_index)
    def close(self, at):
        opened = self.opened()
        model, lease = opened[at % len(opened)]
        lease.real.close()
        model.leases.remove(lease)

    # Consumers.

    def consumer_on(self, lease, by):
        """Returns a consumer. The first two have a stream of one device."""
        return self.consumers[lease.__dlpack_device__()[1] if by < 2 else by]

    def take_from(self, lease, consumer, ordered=True):
        seen = consumer.take(lease.real) if ordered else Consumer(stream=lease.stream).take(InItsStream(lease.real))
        kind, index = seen.device
        stream = "host"
        if kind != kDLCPU:
            stream = stream_key(consumer.stream(index) if ordered else lease.stream, index)
            if ordered:
                lease.streams.add(consumer)
        view = View(seen, lease.memory, stream, lease.writable)
        lease.memory.writable += view.writable
        lease.memory.asked(stream)
        self.views.append(view)
        return view

    @precondition(lambda self: self.opened())
    @rule(at=any_index, by=st.integers(0, 4), ordered=st.booleans())
    def take(self, at, by, ordered):
        opened = self.opened()
        _, lease = opened[at % len(opened)]
        self.take_from(lease, self.consumer_on(lease.real, by), ordered or by < 2)

    @precondition(lambda self: self.views)
    @rule(at=any_index)
    def read(self, at):
        view = self.views[at % len(self.views)]
        if view.memory.may(view.stream, False):
            self.readings.append((view.seen.read(), view.memory.data.copy()))
            view.memory.uses.append((view.stream, False))

    @precondition(lambda self: self.views)
    @rule(at=any_index, value=number, adds=st.booleans())
    def write(self, at, value, adds):
        view = self.views[at % len(self.views)]
        after = view.memory.data * adds + np.array(value, DTYPE)
        if view.writable and view.memory.may(view.stream, True) and np.iinfo(DTYPE).min not in after:
            (view.seen.add if adds else view.seen.write)(value)
            view.memory.data[...] = after
            view.memory.uses.append((view.stream, True))

    @precondition(lambda self: self.views)
    @rule(at=any_index, in_stream=st.booleans())
    def drop(self, at, in_stream):
        view = self.views.pop(at % len(self.views))
        view.seen.drop(in_stream=in_stream)
        # The view is alive until a host function in the stream has dropped it.
        if in_stream and view.seen.device[0] != kDLCPU:
            self.sim.delay(0)
            memarray.synchronize()
        view.memory.writable -= view.writable

    @rule(by=st.integers(0, 4))
    def consumer_goes(self, by):
        """Replaces a consumer and its streams by new ones."""
        if not any(self.consumers[by] in lease.streams for _, lease in self.opened()):
            self.consumers[by] = self.consumer(by)

    @precondition(lambda self: self.readings)
    @rule(at=any_index)
    def look_at_what_was_read(self, at):
        reading, expected = self.readings.pop(at % len(self.readings))
        np.testing.assert_array_equal(reading.result(), expected)

    # Time.

    @rule(seconds=st.sampled_from([0, 0.0003, 0.001]))
    def delay(self, seconds):
        self.sim.delay(seconds)

    @rule(device=st.integers(0, 1), one=st.integers(0, 1), synchronize=st.booleans())
    def event(self, device, one, synchronize):
        event = self.streams[device][one].record()
        self.streams[device][1 - one].wait(event)
        if synchronize:
            event.synchronize()

    def look_at_everything(self, failed):
        for model, lease in self.opened():
            lease.real.close()
            model.leases.remove(lease)
        for model in self.models:
            model.real.escaped_views = "snapshot"
        for at in range(0 if failed else ARRAYS):
            self.look(at, False)
        while self.readings and not failed:
            self.look_at_what_was_read(0)

    def teardown(self):
        if not hasattr(self, "models"):
            return
        failed = sys.exc_info()[0] is not None
        try:
            self.look_at_everything(failed)
        finally:
            self.sim.clear()
            kept = [self.models, self.views, self.readings, self.consumers, self.streams]
            self.order.shuffle(kept)
            for each in kept:
                each.clear()
            self.block.__exit__(*sys.exc_info())
        if not failed:
            assert not any(self.sim.live().values()), self.sim.live_resources()


def run_alone(name, which, follows, start):
    machine = Machine()
    machine.make(peer_access=False, order=0, strict=False, start="cpu")
    try:
        for at in range(ARRAYS):
            machine.read_numpy_array(at, -20)
            machine.move(at, start, choice=0, from_source=False, asynchronous=False)
        return machine.run_alone(name, which, follows)
    finally:
        machine.teardown()


def test_random_stream_work_matches_numpy():
    RUNS.clear()
    run_machine(Machine, EXAMPLES, steps=30)
    if EXAMPLES >= 500:
        check_runs()


@pytest.mark.parametrize("start", DEVICES)
@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize("name", TRIALS)
def test_each_kernel_runs_after_earlier_work_and_before_later_work(name, follows, start):
    for which in range(len(TRIALS[name].uses)):
        ran = run_alone(name, which, follows, start)
        assert ran[name] >= (2 if name in VIEW_TRIALS else 1)


@pytest.mark.skipif(kernels is None, reason="the module with the kernels is not installed")
def test_every_kernel_operation_is_in_the_sweep():
    operations = {name for name in dir(kernels) if not name.startswith("_")}
    called = {name.split(",")[0] for name in TRIALS} - {"add_index_tuple"}
    assert operations == called | set(EXPLAINED)
    assert not called & set(EXPLAINED)
