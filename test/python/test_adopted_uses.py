"""Adopted arrays behave like arrays over our own memory: every use, policy, escaped view and lease."""

import gc

import memarray
import numpy as np
import pytest
from memarray import MemArray
from operations import READS, USES, WRITES, name_of
from support import look
from test_operations import LEASES

pytestmark = pytest.mark.sweep


def own(values):
    return MemArray.from_numpy(values)


def foreign(values):
    return MemArray.from_dlpack(values.copy())


def outcome(make, policy, kept, use):
    """Returns everything visible of a use of an array with an escaped view: None, "read-only" or "writable"."""
    array = make(np.arange(6.0).reshape(2, 3))
    array.escaped_views = policy
    view = None
    if kept:
        with array.write() if kept == "writable" else array.read() as lease:
            view = np.from_dlpack(lease)
    before = memarray.stats()["copies"]
    try:
        use(array)
        said = None
    except (memarray.LockError, BufferError) as refusal:
        said = type(refusal)
    copied = memarray.stats()["copies"] - before
    seen = None if view is None else view.tolist()
    del view
    gc.collect()
    return said, copied, seen, array.shape, array.lock_id, look(array).tolist()


@pytest.mark.parametrize("kept", [None, "read-only", "writable"])
@pytest.mark.parametrize("policy", ["snapshot", "error", "alias"])
@pytest.mark.parametrize("use", [*USES, *READS])
def test_adopted_array_matches_own_array_for_every_use_and_policy(use, policy, kept):
    perform = USES[use][0] if use in USES else READS[use]
    said, copied, *ours = outcome(own, policy, kept, perform)
    # Adopted memory is not resized: the array moves out of it, which is reported.
    moves_out = name_of(use) == "resize" and said is None
    got = outcome(foreign, policy, kept, perform)
    assert got[0] == said
    assert copied <= got[1] <= copied + moves_out
    assert list(got[2:]) == ours


@pytest.mark.parametrize("kind", LEASES)
@pytest.mark.parametrize("write", WRITES)
def test_writes_to_adopted_array_are_refused_under_any_lease(write, kind):
    x = np.arange(6.0).reshape(2, 3)
    array = MemArray.from_dlpack(x)
    leases = LEASES[kind](array)
    with pytest.raises(memarray.LockError):
        WRITES[write](array)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]] or "discard" in kind
    for lease in leases:
        lease.close()
    array.fill(1)
    assert array.is_foreign
    assert x.min() == x.max() == 1
