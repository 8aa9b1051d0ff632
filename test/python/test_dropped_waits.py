"""Each wait of the library is needed: if it is lost, a scenario here sees it.

docs/dropped_waits.md lists them with the scenarios that see each; MEMARRAY_WRITE_LIST=1 writes it anew.
"""

import collections
import functools
import os
import re
from pathlib import Path

import memarray
import numpy as np
import pytest
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer, simulated_devices
from support import filled, index_sums, look

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "docs" / "dropped_waits.md"
#: What each piece of work takes longer, so that what waits for nothing comes first.
DELAY = 0.01
#: How many pieces of work keep a stream busy.
LATE = 8
SHAPE = (6, 5)
SUMS = index_sums(SHAPE, "float64")

#: Waits that no scenario here can miss, and why they are made all the same.
EXPLAINED = {
    "a lease's streams, after its kernel": "kernels under a lease's id are launched from C++: test_device_arrays.cpp",
    "an access from the host, after work on streams": "`ptr` and element access are C++'s: test_device_arrays.cpp",
    "a write from the host, after work on streams": "`ptr` and element access are C++'s: test_device_arrays.cpp",
    "a kernel that has a result": "sums and scans are C++'s: test_device_arrays.cpp",
    "reading an element": "element access is C++'s: test_device_arrays.cpp",
    "reading an element, after the array's writer": "element access is C++'s: test_device_arrays.cpp",
    "writing an element": "element access is C++'s: test_device_arrays.cpp",
    "writing an element, after the array's users": "element access is C++'s: test_device_arrays.cpp",
    "lending for any stream, after all users": "`get_dlpack_tensor` under a lock id is C++'s: test_device_arrays.cpp",
    "memory that goes back without a pool": (
        "arrays give memory back when its work is over; this is for who uses `DriverResource` alone: "
        "test_driver_resource.cpp"
    ),
    "memory that its last handle gives back": "for who uses `DevicePtrHandle`: test_device_ptr_handle.cpp",
    "memory that goes, after its last use": "made when the driver fails: test_device_memory.py, test_fault_sweep.py",
    "work whose end was not known": "made when the driver fails: test_fault_sweep.py",
}


class World:
    """Arrays on cuda:0 whose work is over, other work to be late with, streams."""

    def __init__(self):
        self.a, self.values = filled(SHAPE)
        self.busy, self.busy_elsewhere = memarray.MemArray([3]), memarray.MemArray([3])
        self.a.move_memory(kDLCUDA)
        self.busy.move_memory(kDLCUDA)
        self.busy_elsewhere.move_memory(kDLCUDA, device_id=1)
        self.first, self.second, self.elsewhere = memarray.Stream(), memarray.Stream(), memarray.Stream(1)
        memarray.synchronize()

    def late(self, stream, array=None):
        """Work that keeps a stream busy for longer than any other takes."""
        for _ in range(LATE):
            (self.busy if array is None else array).add_index_tuple(stream=stream)

    def contents(self):
        self.a.move_memory(kDLCPU)
        return look(self.a)


def a_kernel_then_a_fill(w):
    w.late(w.first, w.a)
    w.a.fill(5)
    assert (w.contents() == 5).all()


def a_fill_then_a_kernel(w):
    w.late(None)
    w.a.fill(5)
    w.late(w.second, w.a)
    assert (w.contents() == 5 + LATE * SUMS).all()


def a_move_then_a_kernel(w):
    w.a.fill(1)
    w.a.move_memory(kDLCPU)
    w.a.fill(2)
    w.late(None)
    w.a.move_memory(kDLCUDA)
    w.a.add_index_tuple(stream=w.second)
    assert (w.contents() == 2 + SUMS).all()


def a_move_back_later_then_a_read(w):
    w.late(w.first, w.a)
    w.a.move_memory(kDLCPU, stream=w.second, async_copy=True)
    assert (look(w.a) == w.values + LATE * SUMS).all()


def a_read_later_then_a_write_on_the_host(w):
    w.a.move_memory(kDLCPU)
    w.a.fill(3)
    w.late(w.first)
    consumer = Consumer(stream=w.first)
    with w.a.read("cuda:0", stream=w.first) as lease:
        late = consumer.take(lease).read()
    w.a.read_numpy_array(np.full(SHAPE, 7.0))
    assert (late.result() == 3).all()


def a_copy_that_writes_what_another_reads(w):
    w.late(None)
    twin = w.a.copy()
    w.a.move_memory(kDLCPU)
    w.a.fill(0)
    w.a.move_memory(kDLCUDA, stream=w.second, async_copy=True)
    twin.move_memory(kDLCPU)
    assert (look(twin) == w.values).all()


def a_move_from_where_a_move_goes(w):
    w.late(w.first, w.a)
    w.a.move_memory(kDLCPU, stream=w.first, async_copy=True)
    w.a.move_memory(kDLCUDA, device_id=1)
    assert (w.contents() == w.values + LATE * SUMS).all()
    consumer = Consumer("cuda:1")
    with w.a.read("cuda:1") as lease:
        assert (consumer.take(lease).read().result() == w.values + LATE * SUMS).all()


def a_move_to_another_device(w):
    w.late(w.first, w.a)
    w.a.move_memory(kDLCUDA, device_id=1, stream=w.elsewhere, async_copy=True)
    w.a.add_index_tuple(stream=w.elsewhere)
    assert (w.contents() == w.values + (LATE + 1) * SUMS).all()


def a_move_to_another_device_by_the_first(w):
    w.a.fill(3)
    w.late(None, w.busy_elsewhere)
    w.a.move_memory(kDLCUDA, device_id=1, stream=w.second, async_copy=True)
    assert (w.contents() == 3).all()


def a_move_through_the_host(w):
    w.late(w.first, w.a)
    w.a.move_memory(kDLCUDA, device_id=1, stream=w.elsewhere, async_copy=True)
    assert (w.contents() == w.values + LATE * SUMS).all()


def a_large_move_through_the_host(w):
    large, values = filled((5, 1 << 19))
    large.move_memory(kDLCUDA)
    large.add_index_tuple()  # only the device has it
    values += index_sums(values.shape, "float64")
    w.late(w.elsewhere, w.busy_elsewhere)
    large.move_memory(kDLCUDA, device_id=1, stream=w.elsewhere, async_copy=True)
    large.move_memory(kDLCPU)
    assert (look(large) == values).all()


def a_lease_for_a_stream(w):
    consumer = Consumer(stream=w.second)
    w.late(w.first, w.a)
    with w.a.read(stream=w.second) as lease:
        late = consumer.take(lease).read()
    assert (late.result() == w.values + LATE * SUMS).all()


def a_reader_in_another_stream(w):
    w.late(w.first, w.a)
    consumer = Consumer()
    with w.a.read(stream=w.first) as lease:
        late = consumer.take(lease).read()
    assert (late.result() == w.values + LATE * SUMS).all()


def a_writer_in_another_stream(w):
    w.late(w.first, w.a)
    consumer = Consumer()
    with w.a.write(stream=w.first) as lease:
        consumer.take(lease).write(5)
    assert (w.contents() == 5).all()


def readers_one_after_another(w):
    first, second = Consumer(), Consumer(stream=w.second)
    with w.a.read(stream=w.first) as lease:
        first.take(lease)
        w.late(first.stream())
        handed_over = memarray.Event()
        handed_over.record(first.stream())
        second.take(lease).read().result()
        assert handed_over.query()


def writers_one_after_another(w):
    first, second = Consumer(), Consumer(stream=w.second)
    with w.a.write(stream=w.first) as lease:
        view = first.take(lease)
        for value in range(4):
            view.write(value)
        second.take(lease).write(9)
    assert (w.contents() == 9).all()


def the_next_owner_in_another_stream(w):
    consumer = Consumer()
    with w.a.write(stream=w.first) as lease:
        w.late(consumer.stream())
        consumer.take(lease).write(9)
    w.late(w.second, w.a)
    assert (w.contents() == 9 + LATE * SUMS).all()


def a_view_written_late_by_nobody_knows_whom(w):
    consumer = Consumer(stream=-1)
    with w.a.write(stream=w.first) as lease:
        view = consumer.take(lease)
    w.late(consumer.stream())
    late = view.read()
    view.drop()
    w.a.fill(1)
    assert (late.result() == w.values).all()


def a_view_read_late(w):
    consumer = Consumer(stream=w.second)
    with w.a.read(stream=w.first) as lease:
        view = consumer.take(lease)
    w.late(w.second)
    late = view.read()
    view.drop()
    w.a.fill(1)
    assert (late.result() == w.values).all()


def memory_freed_while_another_stream_reads_it(w):
    twin = w.a.copy()
    w.late(None)
    kept = twin.copy()
    twin.move_memory(kDLCUDA, device_id=1, stream=w.second, async_copy=True)
    twin.fill(0)
    kept.move_memory(kDLCPU)
    assert (look(kept) == w.values).all()


def a_fresh_block_lent_to_another_stream(w):
    view = w.a.__dlpack__(max_version=(1, 0))
    w.late(w.first)
    with w.a.write(stream=w.first, discard=True) as lease:
        Consumer(stream=w.second).take(lease).write(4)
    del view
    assert (w.contents() == 4).all()


def a_copy_for_a_stream(w):
    w.late(w.first, w.a)
    with w.a.read(stream=w.second) as lease:
        late = Consumer(stream=w.second).take(lease, copy=True).read()
    w.a.fill(0)
    assert (late.result() == w.values + LATE * SUMS).all()


def a_resize_after_a_kernel(w):
    w.late(w.first, w.a)
    w.a.resize([7, 5])
    assert (w.contents()[:6] == w.values + LATE * SUMS).all()


def memory_when_no_other_is_left(w):
    first = memarray.MemArray([100_000])
    first.move_memory(kDLCUDA, stream=w.first)
    w.late(w.first, first)
    del first
    second = memarray.MemArray([100_000])
    second.move_memory(kDLCUDA, stream=w.second)


PEERLESS = {"peer_access": False}
SCENARIOS = {
    scenario: options
    for options, scenarios in (
        (
            {},
            (
                *(a_kernel_then_a_fill, a_fill_then_a_kernel, a_move_then_a_kernel, a_move_back_later_then_a_read),
                *(a_read_later_then_a_write_on_the_host, a_copy_that_writes_what_another_reads),
                *(a_move_from_where_a_move_goes, a_move_to_another_device, a_move_to_another_device_by_the_first),
                *(a_lease_for_a_stream, a_reader_in_another_stream, a_writer_in_another_stream),
                *(readers_one_after_another, writers_one_after_another, the_next_owner_in_another_stream),
                *(a_view_written_late_by_nobody_knows_whom, a_view_read_late),
                *(memory_freed_while_another_stream_reads_it, a_fresh_block_lent_to_another_stream),
                *(a_copy_for_a_stream, a_resize_after_a_kernel),
            ),
        ),
        (PEERLESS, (a_move_through_the_host, a_large_move_through_the_host)),
        ({"memory": 1 << 20}, (memory_when_no_other_is_left,)),
    )
    for scenario in scenarios
}


def run(scenario, lost=None):
    """The waits that a scenario makes, as (driver function, where); ``lost`` is the function and number of one to lose.
    Raises what the scenario sees."""
    with simulated_devices(**SCENARIOS[scenario]) as sim:
        world = World()
        before = len(sim.waits())
        sim.delay(DELAY)
        if lost:
            sim.drop(*lost)
        scenario(world)
        return [tuple(wait.split(": ", 1)) for wait in sim.waits()[before:]]


@functools.cache
def seen_by(scenario):
    """The places of the waits whose loss a scenario sees."""
    counts = collections.Counter()
    seen = set()
    for function, *site in run(scenario):
        counts[function] += 1
        try:
            run(scenario, (function, counts[function]))
        except Exception:
            seen.update(site)
    return seen


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_losing_a_wait_is_seen(scenario):
    assert seen_by(scenario), "no wait of this scenario matters to it"


def sites_in_the_sources():
    """What names a place where something is waited for: the last argument of the functions that wait."""
    waits = re.compile(
        r'(?<!report_)\b(?:order|synchronize|wait|wait_for|wait_for_now|site)\((?:(?!report_wait)[^;{}"]|"[^"]*"(?=\s*:))*?"([^"]+)"'
    )
    either = re.compile(r'Use::read\s*\?\s*"([^"]+)"\s*:\s*"([^"]+)"')
    sites = set()
    for folder in ("memory", "array", "resource"):
        for path in sorted((ROOT / "src" / folder).rglob("*.cpp")):
            text = path.read_text()
            if "simulated/" not in path.as_posix():
                sites.update(waits.findall(text), *either.findall(text))
    return sites


def as_markdown(seen):
    lines = [
        "# Waits that were lost",
        "",
        "For people who change what memarray waits for. Each place in the library where a stream or the host waits,",
        "and the scenarios of `test/python/test_dropped_waits.py` that see when that wait is lost; written by it.",
        "",
        "| where | seen by |",
        "|---|---|",
    ]
    for site in sorted(set(seen) | set(EXPLAINED)):
        lines.append(f"| {site} | {', '.join(sorted(seen.get(site, ()))) or EXPLAINED[site]} |")
    return "\n".join(lines) + "\n"


def test_every_wait_is_in_the_list():
    seen = collections.defaultdict(set)
    for scenario in SCENARIOS:
        for site in seen_by(scenario):
            seen[site].add(scenario.__name__)
    if os.environ.get("MEMARRAY_WRITE_LIST"):
        LIST.write_text(as_markdown(seen))
    missed = sites_in_the_sources() - set(seen) - set(EXPLAINED)
    assert not missed, "no scenario misses these waits: remove them from the library, or explain them"
    assert not set(EXPLAINED) & set(seen), "these are explained, and seen"
    listed = dict(re.findall(r"^\| (.+?) \| (.+) \|$", LIST.read_text(), re.MULTILINE))
    assert set(listed) - {"where", "---"} == set(seen) | set(EXPLAINED), "MEMARRAY_WRITE_LIST=1 writes the list anew"
