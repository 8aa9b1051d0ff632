"""Processes that are killed while they use an array in shared memory."""

import logging
import multiprocessing
import random
import threading
import time

import memarray
import pytest
from shared_segments import (
    EXPORTS,
    METHODS,
    OWNER,
    READERS,
    SLOT_BYTES,
    SLOTS,
    START_BITS,
    WORD,
    die_somewhere,
    get,
    holding,
    kill,
    look,
    mapped,
    put,
    start,
)
from support import SEED


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("waiting", [False, True])
def test_lock_error_names_killed_writer(make_shared, method, waiting):
    a = make_shared()
    with holding(a, "write", method) as child:
        refused = []

        def wait():
            with pytest.raises(memarray.LockError) as info:
                a.read(timeout=None).__enter__()
            refused.append(str(info.value))

        if waiting:
            waiter = threading.Thread(target=wait)
            waiter.start()
            time.sleep(0.05)
            kill(child)
            waiter.join(60)
            assert not waiter.is_alive()
        else:
            kill(child)
            wait()
        words = f"process {child.pid} exited while it held it for writing, so its contents may be half written"
        assert words in refused[0]
        for use in (a.read, a.write):
            with pytest.raises(memarray.LockError, match="call recover"):
                use(timeout=None).__enter__()
        with pytest.raises(memarray.LockError, match="call recover"):
            a.fill(1)
        assert a.recover() == [(child.pid, "write")]
        assert a.recover() == []
    assert look(a)[0, 0] == 13
    a.fill(1)


def test_lease_of_killed_reader_is_cleared_and_reported(make_shared, caplog):
    a = make_shared()
    with holding(a, "read") as child:
        kill(child)
        with caplog.at_level(logging.WARNING, "memarray.deaths"):
            a.fill(1)
        (record,) = [record for record in caplog.records if record.name == "memarray.deaths"]
        assert record.levelno == logging.WARNING
        assert f"process {child.pid} exited while it held" in record.getMessage()
        assert "for reading" in record.getMessage()
        assert a.shared_memory in record.getMessage()
        caplog.clear()
        a.fill(2)
        assert not caplog.records


@pytest.mark.parametrize("kind", ["views", "writable views"])
def test_views_of_killed_process_do_not_count(make_shared, kind, caplog):
    a = make_shared()
    with holding(a, kind) as child:
        with pytest.raises(memarray.LockError, match=r"1 exported view\(s\)"):
            a.fill(1)
        if kind == "writable views":
            with pytest.raises(memarray.LockError, match="1 writable"):
                a.read().__enter__()
        else:
            look(a)
        kill(child)
        a.fill(1)
        with caplog.at_level(logging.WARNING, "memarray.deaths"):
            assert a.recover() == [(child.pid, "views")]
        assert "as exported views" in caplog.text


def test_recycled_pid_is_not_taken_for_exited_holder(make_shared):
    a = make_shared()
    with holding(a, "write") as child, mapped(a.shared_memory) as memory:
        slot = SLOTS + ((get(memory, WORD) & 0xFFFFFF) - 1) * SLOT_BYTES
        owner = get(memory, slot + OWNER)
        assert owner >> START_BITS == child.pid
        with open(f"/proc/{child.pid}/stat") as stat:
            assert owner & (2**START_BITS - 1) == int(stat.read().rpartition(")")[2].split()[19])
        assert a.recover() == []
        # An earlier start time: as if the holder had exited, and this child had got its pid.
        put(memory, slot + OWNER, owner - 1)
        with pytest.raises(memarray.LockError, match=f"process {child.pid} exited while it held it for writing"):
            a.read(timeout=None).__enter__()
        assert a.recover() == [(child.pid, "write")]
    a.fill(1)


def kill_at_random(array, rounds, processes):
    """Kills processes at random points. Their holds are always known, and `recover` releases them."""
    array.escaped_views = "alias"
    chance = random.Random(SEED)
    context = multiprocessing.get_context("fork")
    found = {"write": 0, "read": 0, "views": 0}
    for _ in range(rounds):
        children = [
            context.Process(target=die_somewhere, args=(array, chance.random()), daemon=True) for _ in range(processes)
        ]
        start(*children)
        pids = {child.pid for child in children}
        time.sleep(0.02 + chance.random() * 0.03)
        for child in children:
            kill(child)
        for pid, held in array.recover():
            assert pid in pids, "only the killed processes are reported"
            found[held] += 1
        array.fill(0)
        with array.write():
            pass
        assert array.recover() == []
        with mapped(array.shared_memory) as memory:
            for slot in range(20):
                at = SLOTS + slot * SLOT_BYTES
                assert get(memory, at + READERS) == get(memory, at + EXPORTS) == 0
        for child in children:
            child.join()
    return found


def test_array_recovers_from_randomly_killed_processes(make_shared):
    kill_at_random(make_shared((64, 64)), rounds=8, processes=3)


@pytest.mark.slow
def test_array_recovers_from_randomly_killed_processes_in_long_run(make_shared):
    found = kill_at_random(make_shared((256, 256)), rounds=600, processes=5)
    assert all(found.values()), found
