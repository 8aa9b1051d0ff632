"""The rules of the order sweep that run kernels over its arrays, and over views of their leases."""

import collections

import memarray
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from memarray.dlpack import kDLCPU
from order_kernels import LIMIT, TRIALS, VIEW_TRIALS, Launch, Left
from order_model import stream_key

any_index = st.integers(0, 10**6)
bounds = st.tuples(any_index, any_index)

READS, WRITES = ([name for name, trial in TRIALS.items() if trial.uses == use] for use in "rw")
PAIRS = [name for name, trial in TRIALS.items() if len(trial.uses) == 2]

#: Runs of each trial, by its name, and "on a device" or "over a view".
RUNS = collections.Counter()
#: A trial that does not commute with others.
LAST = "change, overwrite" if "change, overwrite" in TRIALS else "add_index_tuple"


def names_of(trials):
    return st.sampled_from(trials or [None])


class KernelRules:
    """Mixed into the machine of test_order_sweep.py."""

    def launch(self, device, choice, size, bounds):
        begin, end = sorted(bound % (size + 1) for bound in bounds)
        return Launch(self.stream_on(device, choice), device, begin, end)

    def succeeded(self, name, launch, value, expected):
        """Checks the value of a call, or keeps the result that it left in an array."""
        for result in launch.results:
            self.readings.append((Left(result), np.asarray(expected)))
        if not launch.results:
            assert value == expected, f"{name} of {[m.data.tolist() for m in self.models]} by {launch}"
        RUNS[name] += 1
        RUNS[name, "on a device"] += launch.device != "cpu"

    def fits(self, trial, models):
        first = models[0]
        return (
            all(str(model.real.device) == str(first.real.device) for model in models)
            and all(len(model.data) == len(first.data) for model in models)
            and all(np.abs(model.data.astype("int64")).max(initial=0) < LIMIT for model in models)
            and (len(first.data) or not trial.needs_elements)
        )

    @precondition(lambda _: READS)
    @rule(at=st.integers(0, 1), name=names_of(READS), choice=any_index, bounds=bounds)
    def kernel_that_reads(self, at, name, choice, bounds):
        self.kernel(at, name, choice, bounds)

    @rule(at=st.integers(0, 1), name=names_of(WRITES), choice=any_index, bounds=bounds)
    def kernel_that_writes(self, at, name, choice, bounds):
        self.kernel(at, name, choice, bounds)

    @precondition(lambda self: PAIRS and self.fits(TRIALS[PAIRS[0]], self.models))
    @rule(at=st.integers(0, 1), name=names_of(PAIRS), choice=any_index, bounds=bounds)
    def kernel_over_two_arrays(self, at, name, choice, bounds):
        self.kernel(at, name, choice, bounds)

    def kernel(self, at, name, choice, bounds):
        trial = TRIALS[name]
        models = [self.models[at], self.models[1 - at]][: len(trial.uses)]
        if not self.fits(trial, models):
            return
        written = [model for model, use in zip(models, trial.uses, strict=True) if use == "w"]
        launch = self.launch(str(models[0].real.device), choice, len(models[0].data), bounds)
        value = None

        def call():
            nonlocal value
            value = trial.call(launch, *(model.real for model in models))

        strict = any(model.real.escaped_views == "error" for model in models) and self.views
        leased = any(lease.writable or model in written for model in models for lease in model.leases)
        if (strict or leased) and len(models) > 1 and any(model.memory.writable for model in models):
            return  # whether an array that is not refused leaves an escaped view depends on the order
        if leased:
            return self.refused(call)
        if self.refused_by_views(call, *models):
            return
        self.no_view_of(model for model in written if model.real.escaped_views == "error")
        data = [model.data.copy() for model in models]
        expected = trial.model(launch, *data)
        for model, after in zip(models, data, strict=True):
            if model in written:
                model.becomes(after)
            else:
                model.is_used()
        self.succeeded(name, launch, value, expected)

    @precondition(lambda self: self.opened() and VIEW_TRIALS)
    @rule(at=any_index, name=names_of(VIEW_TRIALS), choice=any_index, bounds=bounds)
    def kernel_over_a_view(self, at, name, choice, bounds):
        opened = self.opened()
        _, lease = opened[at % len(opened)]
        trial, memory = TRIALS[name], lease.memory
        if np.abs(memory.data.astype("int64")).max(initial=0) >= LIMIT:
            return
        kind, index = lease.real.__dlpack_device__()
        device = "cpu" if kind == kDLCPU else f"cuda:{index}"
        launch = self.launch(device, choice, len(memory.data), bounds)
        if trial.uses == "w" and not lease.writable:
            with pytest.raises((TypeError, BufferError)):
                trial.call(launch, lease.real.view())
            return
        value = trial.call(launch, lease.real.view())
        expected = trial.model(launch, memory.data)
        stream = "host" if kind == kDLCPU else stream_key(launch.stream, index)
        memory.asked(stream)
        memory.uses.append((stream, trial.uses == "w"))
        self.succeeded(name, launch, value, expected)
        RUNS[name, "over a view"] += 1

    def run_alone(self, name, which, follows):
        """Runs a trial after late work of another stream, or late in its own stream and before work of another one.

        The other work is on the array with the number `which`, and does not commute with the trial. CUDA does not order
        the streams. Returns how often each trial ran.
        """
        before = RUNS.copy()
        busy, own, later = 0, 4, 1
        device = str(self.models[0].real.device)
        other = Launch(self.stream_on(device, own), device, 0, 0).result(9)

        def surround(first, run):
            """Calls `run(trial, choice, numbers of arrays)` for the trial and for the other work."""
            for at in range(2):
                run(first, busy, at)
            self.delay(0)
            memarray.synchronize()
            self.delay(0.001)
            for _ in range(8):
                if follows:
                    run(first, busy, which)
                else:
                    other.add_index_tuple(stream=self.stream_on(device, own))
            if follows and name != LAST:
                run(LAST, busy, which)
            run(name, own, 0)
            if not follows:
                run(first if name == LAST else LAST, later, which)

        def run(trial, choice, at):
            self.kernel(at, trial, choice, bounds=(0, 6 if trial == LAST != name else 5))

        def run_over_a_view(trial, choice, _):
            self.kernel_over_a_view(0, trial, choice, bounds=(0, 6 if trial == LAST != name else 5))

        surround("add_index_tuple", run)
        for at in range(2):
            self.look(at, False)
        if name in VIEW_TRIALS and which == 0:
            self.open(0, None, choice=busy, asked="w", value=0)
            surround("change, update", run_over_a_view)
        return RUNS - before


def check_runs():
    """Asserts that kernels of each rule ran on a device: single trials may be missing by chance."""
    for names in (READS, WRITES, PAIRS):
        assert not names or any(RUNS[name, "on a device"] for name in names), names
    assert not VIEW_TRIALS or any(RUNS[name, "over a view"] for name in VIEW_TRIALS)
