"""Kernels over arrays that are leased, or whose views have escaped."""

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values, drawn
from kernel_model import (
    ACCESSES,
    WHOLE,
    array_of,
    change,
    contents,
    element,
    kernels_of,
    ranges,
    where,
)
from memarray import BufferView, LockError
from memarray.dlpack import kDLCUDA
from shared_segments import holding
from support import DTYPES, SEED, look
from test_operations import LEASES

pytestmark = pytest.mark.sanitize

SHAPE = (4, 5)
VALUES = np.arange(20, dtype="float64").reshape(SHAPE)
PARTS = ranges(SHAPE)
READING = {"read", "two readers", "leases reading", "leases reading twice"}
every_access = pytest.mark.parametrize("access", ACCESSES)
kernels = kernels_of("float64", 2)
zero = np.float64(0).tobytes()


one = np.array([7.0])


def total(memory, **settings):
    return element(kernels.transform_reduce(memory, "plus", zero, where(SHAPE, None, **settings)), "float64")


def changed(access, part):
    expected = VALUES.copy()
    change(expected, part, access, "float64")
    return expected


def writers(array):
    """Returns the operations that change an array."""
    keys = array_of(np.arange(4.0))
    other = array_of(VALUES)
    calls = [lambda a=access: kernels.change(array, a, where(SHAPE, PARTS[2])) for access in ACCESSES]
    calls.append(lambda: kernels.change(array, "element first", where(SHAPE, None)))
    calls.append(lambda: kernels.overwrite_rows(array, where(SHAPE[:1], ((1,), (3,)))))
    calls.append(lambda: kernels.hold(other, array, 1, where(SHAPE, PARTS[2])))
    calls.append(lambda: kernels.bundle(array, other, where(SHAPE, PARTS[2])))
    calls.append(lambda: kernels.scan(other, array, "plus"))
    calls.append(lambda: kernels.scan_wide(other, array))
    calls.append(lambda: kernels.sort_by_key(keys, array))
    return calls


def readers(array):
    """Returns the operations that read an array."""
    other = array_of(VALUES)
    result, value = array_of(VALUES), array_of(one)
    return [
        lambda: total(array),
        lambda: kernels.transform_reduce_into(value, array, "plus", zero, where(SHAPE, None)),
        lambda: kernels.hold(array, result, 1, where(SHAPE, None)),
        lambda: kernels.hold(array, result, 1, where(SHAPE, None), value),
        lambda: kernels.count(array, where(SHAPE, PARTS[2])),
        lambda: kernels.reduce_wide(array, zero),
        lambda: kernels.reduce(array, "plus", zero),
        lambda: kernels.extremes(array, "minmax"),
        lambda: kernels.position(array, "argmin"),
        lambda: kernels.dot(array, other),
        lambda: kernels.dot(array, array),
        lambda: kernels.sum(array),
        lambda: kernels.scan(array, result, "plus", zero),
    ]


@pytest.mark.parametrize("kind", sorted(READING))
def test_read_lease_refuses_changes_and_allows_reads(kind):
    array = array_of(VALUES)
    leases = LEASES[kind](array)
    for call in writers(array):
        with pytest.raises(LockError):
            call()
    for call in readers(array):
        call()
    assert all(np.array_equal(np.asarray(lease), VALUES) for lease in leases)
    for lease in leases:
        lease.close()
    assert np.array_equal(look(array), VALUES)
    for call in writers(array):
        call()


@pytest.mark.parametrize("kind", sorted(LEASES.keys() - READING))
def test_write_lease_refuses_others_kernels(kind):
    array = array_of(VALUES)
    (lease,) = LEASES[kind](array)
    np.asarray(lease)[...] = VALUES
    for call in writers(array) + readers(array):
        with pytest.raises(LockError):
            call()
    with pytest.raises(LockError):
        kernels.change(array, "update", where(SHAPE, None, lock_id=lease.lock_id + 1))
    assert np.array_equal(np.asarray(lease), VALUES)
    lease.close()
    for call in writers(array) + readers(array):
        call()


@pytest.mark.parametrize("kind", ["read", "write"])
def test_lease_of_another_process_refuses_kernels_over_shared_memory(make_shared, kind):
    array = make_shared(SHAPE)
    array.read_numpy_array(VALUES)
    changes, reads = writers(array), readers(array)
    with holding(array, kind) as child:
        for call in changes + (reads if kind == "write" else []):
            with pytest.raises(LockError, match=f"process {child.pid} holds it"):
                call()
        if kind == "read":
            for call in reads:
                call()
            assert np.array_equal(look(array), VALUES)
    array.recover()
    for call in changes + reads:
        call()


@every_access
def test_kernel_under_callers_write_lease_changes_leased_memory(access, place):
    for part in PARTS:
        array = place.array(VALUES)
        with array.write() as lease:
            kernels.change(array, access, where(SHAPE, part, lock_id=lease.lock_id, **place.settings))
            assert total(array, lock_id=lease.lock_id) == total(lease.view()) == changed(access, part).sum()
        assert np.array_equal(contents(array), changed(access, part))


@every_access
def test_kernels_over_leases_and_their_views_follow_the_lease(access):
    array = array_of(VALUES)
    with array.read() as lease:
        assert total(lease) == total(lease.view()) == VALUES.sum()
        for memory in (lease, lease.view(), lease.view()[:]):
            with pytest.raises((TypeError, BufferError)):
                kernels.change(memory, access, where(SHAPE, None))
    assert np.array_equal(look(array), VALUES)
    with array.write() as lease:
        kernels.change(lease, access, where(SHAPE, PARTS[2]))
        assert np.array_equal(np.asarray(lease), changed(access, PARTS[2]))
    view = BufferView(VALUES.copy())
    view.close()
    with pytest.raises(ValueError, match="closed"):
        kernels.change(view, access, where(SHAPE, None))


@pytest.mark.parametrize("name", DTYPES)
@every_access
def test_escaped_view_keeps_old_contents_after_kernel_over_part(name, access, place):
    values = drawn(np.random.default_rng([SEED, *name.encode()]), SHAPE, name)
    for part in PARTS:
        array = place.array(values)
        escaped = array.view()
        kernels_of(name, 2).change(array, access, where(SHAPE, part, **place.settings))
        expected = values.copy()
        change(expected, part, access, name)
        assert_same_values(contents(array), expected, (access, part))
        assert_same_values(np.asarray(escaped.to_device("cpu")), values)


@every_access
@pytest.mark.parametrize("policy", ["snapshot", "alias", "error"])
def test_policy_decides_what_an_escaped_view_sees(access, policy):
    for part in PARTS:
        array = array_of(VALUES)
        array.escaped_views = policy
        with array.read() as lease:
            escaped = np.asarray(lease)
        expected = changed(access, part)
        if policy == "error":
            for call in writers(array):
                with pytest.raises(LockError):
                    call()
            for call in readers(array):
                call()
            assert np.array_equal(escaped, VALUES)
            del escaped
            kernels.change(array, access, where(SHAPE, part))
        else:
            kernels.change(array, access, where(SHAPE, part))
            assert np.array_equal(escaped, expected if policy == "alias" else VALUES)
        assert np.array_equal(look(array), expected)


@every_access
def test_kernel_detaches_writable_escaped_view(access):
    array = array_of(VALUES)
    with array.write() as lease:
        escaped = np.asarray(lease)
    escaped[0, 0] = 100
    kernels.change(array, access, where(SHAPE, PARTS[2]))
    expected = changed(access, PARTS[2])
    expected[0, 0] = 100
    escaped[:] = -1
    assert np.array_equal(look(array), expected)


def test_reductions_beside_escaped_views_see_the_contents_and_copy_nothing(copies):
    array = array_of(VALUES)
    escaped = array.view()
    copies()
    for call in readers(array):
        call()
    assert total(array) == VALUES.sum()
    assert copies() == 0
    assert np.array_equal(np.asarray(escaped), VALUES)


def test_scan_and_sort_leave_escaped_views_unchanged(place):
    keys = VALUES[::-1, 0].copy()
    array, result, order = place.array(VALUES), place.array(VALUES), place.array(keys)
    escaped = [memory.view() for memory in (array, result, order)]
    kernels.scan(array, result, "plus", zero)
    kernels.sort_by_key(order, array)
    for view, values in zip(escaped, (VALUES, VALUES, keys), strict=True):
        assert np.array_equal(np.asarray(view.to_device("cpu")), values)
    assert np.array_equal(contents(result).ravel(), np.append(0, np.cumsum(VALUES))[:-1])
    assert np.array_equal(contents(array), VALUES[::-1])
    assert np.array_equal(contents(order), keys[::-1])


def test_an_array_given_twice_and_not_only_to_read_is_refused(place):
    array, keys = place.array(VALUES), place.array(np.arange(4.0))
    with pytest.raises(LockError, match="twice"):
        kernels.scan(array, array, "plus")
    with pytest.raises(LockError, match="twice"):
        kernels_of("float64", 1).sort_by_key(keys, keys)
    assert element(kernels.dot(array, array), "float64") == (VALUES * VALUES).sum()
    assert (array.lock_id, keys.lock_id) == (-1, -1)
    assert np.array_equal(contents(array), VALUES)


def test_refused_kernel_leaves_contents_views_and_lock_as_they_were():
    array = array_of(VALUES)
    escaped = array.view()
    for access in ("update", "update, by index", "overwrite"):
        with pytest.raises(ValueError, match="not within"):
            kernels.change(array, access, where(SHAPE, ((0, 0), (5, 5))))
    with memarray.leases(array.write()) as (lease,):
        assert np.array_equal(np.asarray(lease), VALUES)
    assert np.array_equal(np.asarray(escaped), VALUES)


def into(result, source):
    """Returns the operations that leave the sum of `source` in `result`."""
    other = result_place(source, VALUES)
    return [
        lambda: kernels.transform_reduce_into(result, source, "plus", zero, where(SHAPE, None)),
        lambda: kernels.hold(other, source, 0, where(SHAPE, None), result),
    ]


def result_place(array, values):
    """Returns an array in the place of another."""
    found = array_of(values)
    if array.device.type != "cpu":
        found.move_memory(kDLCUDA, device_id=array.device.index)
    return found


@pytest.mark.parametrize("which", [0, 1], ids=["transform_reduce_into", "hold"])
def test_result_of_reduction_is_refused_while_it_is_leased(which, place):
    source, result = place.array(VALUES), place.array(one)
    reduce = into(result, source)[which]
    for lease_of in (lambda a: a.read(), lambda a: a.write(), lambda a: a.get_dlpack()):
        with lease_of(result), pytest.raises(LockError):
            reduce()
        with source.write(), pytest.raises(LockError):
            reduce()
        assert (result.lock_id, source.lock_id) == (-1, -1)
        assert np.array_equal(contents(result.copy()), one)
        result = place.array(one)
        reduce = into(result, source)[which]
    reduce()
    assert contents(result)[0] == VALUES.sum()
    with pytest.raises(ValueError, match="one element"):
        into(place.array(np.zeros(2)), source)[which]()


@pytest.mark.parametrize("which", [0, 1], ids=["transform_reduce_into", "hold"])
@pytest.mark.parametrize("policy", ["snapshot", "alias", "error"])
def test_policy_decides_what_an_escaped_view_of_the_result_of_a_reduction_sees(which, policy, place):
    source, result = place.array(VALUES), place.array(one)
    result.escaped_views = policy
    reduce = into(result, source)[which]
    escaped = result.view()
    if policy == "error":
        with pytest.raises(LockError):
            reduce()
        assert escaped.to_device("cpu").tolist() == [7]
        escaped.close()
        reduce()
    else:
        reduce()
        assert escaped.to_device("cpu").tolist() == [VALUES.sum() if policy == "alias" else 7]
        escaped.close()
    result.escaped_views = "snapshot"
    assert contents(result)[0] == VALUES.sum()


def test_array_that_is_read_is_no_result_of_the_reduction(place):
    array = place.array(one)
    with pytest.raises(LockError, match="twice"):
        kernels_of("float64", 1).transform_reduce_into(array, array, "plus", zero, where((1,), None))
    assert array.lock_id == -1
    assert contents(array).tolist() == [7]


@pytest.mark.parametrize("access", [*ACCESSES, *WHOLE])
@pytest.mark.parametrize("policy", ["snapshot", "alias", "error"])
def test_kernel_over_writable_view_that_outlives_its_lease_follows_the_policy(access, policy, place):
    part = None if access in WHOLE else PARTS[2]
    array = place.array(VALUES)
    array.escaped_views = policy
    with array.write() as lease:
        escaped = lease.view()
    if policy == "error":
        with pytest.raises(LockError):
            total(array)
    elif policy == "snapshot":
        assert total(array) == VALUES.sum()  # this use leaves the view its own memory
    expected = changed(access, part)
    kernels.change(escaped, access, where(SHAPE, part, **place.settings))
    assert np.array_equal(np.asarray(escaped.to_device("cpu")), expected)
    assert total(escaped) == expected.sum()
    if policy == "error":
        with pytest.raises(LockError):
            total(array)
        escaped.close()
    assert total(array) == (VALUES if policy == "snapshot" else expected).sum()


def test_kernel_over_read_only_view_that_outlives_its_lease_sees_the_old_contents(place):
    array = place.array(VALUES)
    with array.read() as lease:
        escaped = lease.view()
    for access in (*ACCESSES, *WHOLE):
        with pytest.raises((TypeError, BufferError)):
            kernels.change(escaped, access, where(SHAPE, None))
    kernels.change(array, "overwrite", where(SHAPE, None))
    assert total(escaped) == VALUES.sum()
    assert total(array) == changed("overwrite", None).sum() != VALUES.sum()
