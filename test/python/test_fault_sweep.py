"""Each driver call of every public operation fails, alone and with all later calls of its function.

The operation succeeds, or raises an exception that names the failure and leaves all objects as they were. Nothing
leaks, and the next call works. MEMARRAY_NIGHTLY=1 tries every error at each call.
"""

import functools
import itertools
import os
import re
import threading
from pathlib import Path

import memarray
import pytest
from device_world import POOLLESS, World
from dtype_values import assert_same_values
from memarray.dlpack import kDLCPU
from memarray.testing import simulated_devices
from operations import OPERATIONS, TRIALS, entries_of
from support import filled, look
from trials import HOST_ONLY, Trial

pytestmark = pytest.mark.sweep

NIGHTLY = bool(os.environ.get("MEMARRAY_NIGHTLY"))
#: Out of memory, illegal address, launch failure, unknown.
CODES = (2, 700, 719, 999)
#: Functions that release a resource. If one fails, the resource and all that it depends on stay alive.
LOSES = {
    "cuStreamDestroy": "streams",
    "cuEventDestroy": "events",
    "cuMemPoolDestroy": "pools",
    "cuMemFreeAsync": "device_memory",
    "cuMemFree": "device_memory",
    "cuMemFreeHost": "pinned_memory",
    "cuDevicePrimaryCtxRelease": "contexts",
}


#: Trials of destructors, which cannot raise.
DESTRUCTORS = {
    "dropping an array": Trial("", "copied", World.drop),
    "dropping a moving array": Trial(
        "", lambda w: [w.copied(), w.kept[0].move_memory(kDLCPU, async_copy=True)], World.drop
    ),
    "dropping an array without pools": Trial("", "copied", World.drop, POOLLESS),
    "dropping an escaped view": Trial("", lambda w: [w.escaped(), w.a.fill(3)], World.drop),
    "dropping a writable escaped view": Trial("", lambda w: [w.escaped_writable(), w.a.fill(3)], World.drop),
    "dropping an escaped view for no stream": Trial("", lambda w: [w.escaped_for_no_stream(), w.a.fill(3)], World.drop),
    "dropping an exported lease": Trial("", "exported_twice", lambda w: [w.lease.close(), w.drop()]),
    "dropping a stream": Trial("", lambda w: w.keep(memarray.Stream()), World.drop),
    "dropping an event": Trial("", lambda w: w.keep(memarray.Event()), World.drop),
    "dropping a pool": Trial("", "with_pool", World.drop),
    "dropping a view with pending work": Trial("", lambda w: [w.own_view(), w.view.add_index()], World.drop),
    "dropping a view that its array replaced": Trial("", lambda w: [w.escaped_view(), w.a.fill(3)], World.drop),
    "dropping an exported view": Trial("", lambda w: [w.exported_view(), w.a.fill(3)], World.drop),
    "dropping an array over imported memory": Trial("", "adopted_array", World.drop),
    "dropping a view of imported memory": Trial("", lambda w: [w.imported_view(), w.view.add_index()], World.drop),
}
ALL_TRIALS = {**TRIALS, **DESTRUCTORS}


def driver_functions():
    header = Path(memarray._core.__file__).parent / "include/memarray/driver/driver_functions.hpp"
    names = re.findall(r"\bX\((cu\w+)", header.read_text())
    assert len(names) > 50
    return names


FUNCTIONS = driver_functions()


class Run:
    """One call of a trial's operation on devices of its own, with failing driver calls."""

    def __init__(self, trial, *faults, again=False):
        blocks = memarray.stats()["live_blocks"]
        self.violation = ""
        self.failure = None
        self.sim = simulated_devices(**trial.options)
        # In a thread of its own: a context that could not be popped stays current there.
        thread = threading.Thread(target=self._open, args=(trial, faults, again))
        thread.start()
        thread.join()
        if self.failure is not None:
            raise self.failure
        self.live = self.sim.live()
        self.left = memarray.stats()["live_blocks"] - blocks

    def _open(self, trial, faults, again):
        try:
            with self.sim:
                self._run(trial, faults, again)
        except memarray.testing.Violation as violation:
            self.violation = str(violation)
        except Exception as failure:
            # Without the traceback, which would keep the objects of its frames alive.
            self.failure = failure.with_traceback(None)

    def _run(self, trial, faults, again):
        world = World(trial.shape)
        trial.prepare(world)
        before = {function: self.sim.calls(function) for function in FUNCTIONS}
        for function, nth, code, times in faults:
            self.sim.fail(function, nth, code, times)
        self.error = None
        try:
            trial.call(world)
        except memarray.CudaError as error:
            assert world.a.lock_id == -1 or hasattr(world, "lease"), "the lock is held"
            self.error = (type(error), error.code, error.name, str(error))
        self.calls = {function: self.sim.calls(function) - before[function] for function in FUNCTIONS}
        self.sim.clear()
        if again and self.error:
            trial.call(world)
        self.seen = world.look()


@functools.cache
def undisturbed(name):
    """Returns the visible state before and after a trial's call, and its number of calls of each driver function."""
    trial = ALL_TRIALS[name]
    before, after = Run(trial._replace(call=lambda world: None)), Run(trial)
    for run in (before, after):
        assert (run.error, run.violation, run.left, any(run.live.values())) == (None, "", 0, False)
    return before.seen, after.seen, after.calls


def differences(seen, expected, may_change=""):
    """Returns the differences of the arrays' visible state from the expected one."""
    return [
        (what, got[what], wanted[what])
        for got, wanted in zip(seen, expected, strict=True)
        for what in wanted
        if got[what] != wanted[what] and what != may_change
    ]


def check(name, function, nth, code, times, again):
    """Tries one failure. Returns True if the driver call was reached."""
    before, after, _ = undisturbed(name)
    try:
        run = Run(ALL_TRIALS[name], (function, nth, code, times), again=again)
    except memarray.OutOfMemoryError:
        # Resources that could not be released are missing for later allocations.
        assert function in LOSES
        return True
    if run.error is None:
        assert not differences(run.seen, after), f"the failure is not reported: {differences(run.seen, after)}"
    else:
        kind, reported, spelled, words = run.error
        if function in LOSES and kind is memarray.OutOfMemoryError:
            return True
        assert reported == code, words
        assert (kind is memarray.OutOfMemoryError) == (code == 2)
        assert spelled.startswith("CUDA_ERROR_") and words.endswith(f"({spelled})") and " failed: " in words
        wrong = differences(run.seen, after) if again else differences(run.seen, before, ALL_TRIALS[name].may_change)
        assert not wrong, f"the error is {words}: {wrong}"
    assert run.left == 0, "blocks are left"
    lost = LOSES.get(function)
    if lost is None:
        assert not run.violation, run.violation
        assert not any(run.live.values()), "resources are left"
    else:
        # Resources that the driver refuses to destroy stay alive.
        assert "destroyed before" in run.violation or not run.violation
        assert sum(run.live.values()) <= 2 * run.calls[function]
    return run.calls[function] >= nth


def failures(name):
    """Yields (function, n, number of failures, code, True to call again) as long as the n-th call is reached."""
    for function, calls in undisturbed(name)[2].items():
        if calls == 0:
            continue
        for nth in itertools.count(1):
            reached = False
            # Out of memory has code paths of its own, so each call gets it and one other code.
            codes = CODES if NIGHTLY else (CODES[0], CODES[1 + nth % 3])
            every = list(itertools.product((1, None), codes, (False, True)))
            # Half of the combinations: each value with each of the others once.
            chosen = every if NIGHTLY else [every[0], every[3], every[5], every[6]]
            for times, code, again in chosen:
                # A device with a lost resource is not used again, and the number of devices is limited.
                if function in LOSES and (again or times is None) and code != codes[nth % len(codes)]:
                    continue
                reached = (yield function, nth, code, times, again) or reached
            if not reached:
                break


@pytest.mark.parametrize("name", ALL_TRIALS)
def test_operations_survive_failure_of_each_driver_call(name):
    cases = failures(name)
    case = next(cases, None)
    assert (case is not None) == ALL_TRIALS[name].calls_driver
    while case is not None:
        function, nth, code, times, again = case
        try:
            reached = check(name, *case)
        except Exception as error:
            how = "alone" if times else "with all later ones"
            raise AssertionError(
                f"{function}, call {nth}, fails {how} with {code} (again: {again}): {error}"
            ) from error
        try:
            case = cases.send(reached)
        except StopIteration:
            case = None


def has_trials(calls):
    return any(isinstance(call, Trial) for call in calls)


def test_each_operation_has_a_fault_trial_or_is_host_only():
    for name, calls in OPERATIONS.items():
        if calls:
            assert has_trials(calls) != (HOST_ONLY in calls), name


def test_operations_without_trials_make_no_driver_calls(simulated_devices):
    world = World()
    world.a.move_memory(memarray.dlpack.kDLCUDA)
    pool = memarray.MemoryPool()
    with world.a.read() as lease:
        calls = simulated_devices.calls()
        for thing in (world.a, lease, world.first, world.event, pool):
            entries = entries_of(type(thing).__name__).items()
            for name in [name for name, tries in entries if not has_trials(tries)]:
                value = getattr(thing, name, None)
                if name in {"__len__", "__repr__", "__hash__", "__cuda_stream__", "__dlpack_device__"}:
                    value()
        memarray.stats()
        memarray.build_info()
        assert simulated_devices.calls() == calls


def test_unnamed_driver_errors_are_reported_by_code(simulated_devices):
    simulated_devices.fail("cuGetErrorName", code=999)
    simulated_devices.fail("cuGetErrorString", code=999)
    for code, name in ((719, "CUDA_ERROR_LAUNCH_FAILED"), (987, "CUDA_ERROR_987")):
        simulated_devices.fail("cuStreamCreateWithPriority", code=code, times=1)
        with pytest.raises(memarray.CudaError, match=rf"the driver refused it \({name}\)") as caught:
            memarray.Stream()
        assert (caught.value.code, caught.value.name) == (code, name)


def test_allocation_waits_for_pending_frees():
    with simulated_devices(1, memory=2 << 20) as sim:
        first, second = memarray.Stream(), memarray.Stream()
        old, _ = filled((200_000,))
        old.move_memory(memarray.dlpack.kDLCUDA, stream=first)
        sim.delay(0.05)
        old.add_index_tuple(stream=first)
        del old
        new, values = filled((200_000,))
        waits = memarray.stats()["waits"]
        new.move_memory(memarray.dlpack.kDLCUDA, stream=second)
        assert memarray.stats()["waits"] > waits
        assert new.device.type == "cuda"
        too_much = memarray.MemArray([200_000])
        with pytest.raises(memarray.OutOfMemoryError, match=r"1600000 bytes of .* where \d+ of \d+ are free"):
            too_much.move_memory(memarray.dlpack.kDLCUDA)
        new.move_memory(memarray.dlpack.kDLCPU)
        assert_same_values(look(new), values)
