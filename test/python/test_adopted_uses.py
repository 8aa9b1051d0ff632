"""Adopted arrays behave like arrays over our own memory: every use, policy, escaped view and lease."""

import gc

import memarray
import numpy as np
import pytest
from memarray import MemArray
from operations import READS, WRITES
from support import look
from test_operations import LEASES

pytestmark = pytest.mark.sweep


def own(values):
    return MemArray.from_numpy(values)


def foreign(values):
    return MemArray.from_dlpack(values.copy())


def outcome(make, policy, escaped, use):
    """Returns everything visible of a use of an array with an escaped view: None, "read-only" or "writable"."""
    array = make(np.arange(6.0).reshape(2, 3))
    array.escaped_views = policy
    view = None
    if escaped:
        with array.write() if escaped == "writable" else array.read() as lease:
            view = np.from_dlpack(lease)
    before = memarray.stats()["copies"]
    try:
        use(array)
        refused = None
    except (memarray.LockError, BufferError) as error:
        refused = type(error)
    copied = memarray.stats()["copies"] - before
    seen = None if view is None else view.tolist()
    del view
    gc.collect()
    return refused, copied, seen, array.shape, array.lock_id, look(array).tolist()


@pytest.mark.parametrize("escaped", [None, "read-only", "writable"])
@pytest.mark.parametrize("policy", ["snapshot", "error", "alias"])
@pytest.mark.parametrize("use", [*WRITES, *READS])
def test_adopted_array_matches_own_array_for_every_use_and_policy(use, policy, escaped):
    perform = WRITES[use].use if use in WRITES else READS[use].call
    refused, copied, *ours = outcome(own, policy, escaped, perform)
    # Adopted memory is not resized: the array moves out of it, which is reported.
    moves_out = use.startswith("resize") and refused is None
    got = outcome(foreign, policy, escaped, perform)
    assert got[0] == refused
    assert copied <= got[1] <= copied + moves_out
    assert list(got[2:]) == ours


@pytest.mark.parametrize("kind", LEASES)
@pytest.mark.parametrize("write", [name for name, write in WRITES.items() if not write.waits])
def test_writes_to_adopted_array_are_refused_under_any_lease(write, kind):
    x = np.arange(6.0).reshape(2, 3)
    array = MemArray.from_dlpack(x)
    leases = LEASES[kind](array)
    with pytest.raises(memarray.LockError):
        WRITES[write].enter(array)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]] or "discard" in kind
    for lease in leases:
        lease.close()
    array.fill(1)
    assert array.is_foreign
    assert x.min() == x.max() == 1
