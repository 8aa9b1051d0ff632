"""The scenarios of test_mpi.py; ``mpiexec -n 2 python -m mpi4py mpi_scenarios.py NAME`` runs one.

Every rank calls the function of that name. Under ``-m mpi4py`` a failed assertion on one rank ends all ranks.
"""

import ctypes
import os
import sys

import memarray
import numpy as np
from dtype_values import assert_same_values
from memarray import MemArray
from mpi4py import MPI
from support import DTYPES, INTEGERS, NUMPY_DTYPES, SEED, look, pattern

comm = MPI.COMM_WORLD
right = (comm.rank + 1) % comm.size
left = (comm.rank - 1) % comm.size
# Larger than the messages that MPI sends before the receiver asks for them.
LARGE = 1 << 18


def memory_of(lease):
    """Returns the bytes at the lease's address."""
    view = lease.view()
    assert MPI.Get_address(lease) == view.data_ptr
    return np.frombuffer((ctypes.c_char * view.nbytes).from_address(view.data_ptr), np.uint8)


def refused(error, words, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except error as raised:
        assert words in str(raised), raised
    else:
        raise AssertionError(f"{call} took what it should refuse")


class NothingIsCopied:
    KEYS = ("copies", "copied_bytes", "versions", "waits")

    def __enter__(self):
        self.before = {key: memarray.stats()[key] for key in self.KEYS}

    def __exit__(self, *raised):
        if raised == (None, None, None):
            assert {key: memarray.stats()[key] for key in self.KEYS} == self.before


def every_dtype_goes_round():
    """Sends a write lease, a read lease, a view and the array itself; receives into a write lease and its view."""
    for name in DTYPES:
        sent, received = MemArray([3, 5], name), MemArray([3, 5], name)
        sent.read_numpy_array(pattern((3, 5), name, comm.rank))
        expected = pattern((3, 5), name, left)
        with NothingIsCopied():
            for open_lease in (sent.read, sent.write):
                with open_lease() as source, received.write() as target:
                    there = memory_of(target)
                    for views in (False, True):
                        there[:] = 0
                        status = MPI.Status()
                        if views:
                            comm.Sendrecv(source.view(), right, 7, target.view(), left, 7, status)
                        else:
                            comm.Sendrecv(source, right, 7, target, left, 7, status)
                        assert status.Get_count(MPI.BYTE) == expected.nbytes
                        assert there.tobytes() == expected.tobytes(), name
            with received.write() as target:
                there = memory_of(target)
                comm.Sendrecv(sent, right, 8, target, left, 8)
                assert there.tobytes() == expected.tobytes(), name
        assert look(received).tobytes() == expected.tobytes()


def elements_are_known():
    """Checks that MPI knows the right datatype: it adds elements up as numbers of their dtype."""
    for name in NUMPY_DTYPES:  # bfloat16 is bytes to every MPI
        a, b = MemArray([17], name), MemArray([17], name)
        x, y = pattern((17,), name), pattern((17,), name, 5)
        a.read_numpy_array(x)
        b.read_numpy_array(y)
        add = MPI.LOR if name == "bool" else MPI.SUM
        with a.read() as one, b.write() as other:
            try:
                add.Reduce_local(one, other)
            except MPI.Exception:
                assert name == "float16", name  # not every MPI adds it up
                continue
        assert_same_values(look(b), x + y)


def collectives_in_place():
    size, n = comm.size, 6
    for name in (*INTEGERS, "float32", "float64", "complex64", "complex128"):
        blocks = np.stack([pattern((n,), name, start) for start in range(size)])
        whole = MemArray([size, n], name)
        part = MemArray([n], name)
        part.read_numpy_array(blocks[comm.rank])
        with NothingIsCopied():
            with part.write() as lease:
                here = memory_of(lease)
                comm.Allreduce(MPI.IN_PLACE, lease)
                assert here.tobytes() == blocks.sum(axis=0, dtype=name).tobytes(), name
        part.read_numpy_array(blocks[comm.rank])
        for gather in ("out of a lease", "in place"):
            with whole.write() as lease, part.read() as own:
                here = memory_of(lease)
                lease.view().fill(0)
                if gather == "in place":
                    np.asarray(lease)[comm.rank] = blocks[comm.rank]
                    comm.Allgather(MPI.IN_PLACE, lease)
                else:
                    comm.Allgather(own, lease)
                assert here.tobytes() == blocks.tobytes(), (name, gather)


def collectives_from_a_root():
    n = 4
    a = MemArray([comm.size, n])
    own = MemArray([n])
    own.fill(comm.rank + 1)
    with NothingIsCopied(), a.write() as lease, own.write() as mine:
        here, there = np.asarray(lease), np.asarray(mine)
        comm.Gather(mine, lease if comm.rank == 0 else None)
        if comm.rank == 0:
            assert here[:, 0].tolist() == list(range(1, comm.size + 1))
        comm.Bcast(lease)
        assert here.sum() == n * sum(range(1, comm.size + 1))
        comm.Reduce(MPI.IN_PLACE if comm.rank == 0 else lease, lease if comm.rank == 0 else None)
        if comm.rank == 0:
            assert here[:, 0].tolist() == [comm.size * r for r in range(1, comm.size + 1)]
        comm.Scatter(lease if comm.rank == 0 else None, mine)
        assert there.tolist() == [comm.size * (comm.rank + 1)] * n
        here[...] = comm.rank
        comm.Alltoall(MPI.IN_PLACE, lease)
        assert here[:, 0].tolist() == list(range(comm.size))


def a_read_lease_receives_nothing():
    """Checks that a read lease, its view and the array itself are refused before MPI receives anything."""
    a = MemArray([8])
    a.fill(3)
    with a.read() as lease:
        for target in (lease, lease.view(), a):
            refused(BufferError, "not writable", comm.Recv, target, left, 1)
            refused(BufferError, "not writable", comm.Irecv, target, left, 1)
            refused(BufferError, "not writable", comm.Allreduce, MPI.IN_PLACE, target)
            refused(BufferError, "not writable", comm.Bcast, target, root=right)
    assert look(a).tolist() == [3] * 8
    source = np.full(8, float(comm.rank))
    with a.write() as lease:
        comm.Sendrecv(source, right, 1, lease, left, 1)
    assert look(a).tolist() == [left] * 8


def a_lease_that_is_not_open():
    a = MemArray([4])
    a.escaped_views = "error"
    lease = a.write()
    refused(memarray.LockError, "", comm.Send, lease, right, 1)
    with lease:
        comm.Sendrecv(lease, right, 1, np.zeros(4), left, 1)
    refused(memarray.LockError, "", comm.Send, lease, right, 1)
    refused(memarray.LockError, "", comm.Recv, lease, left, 1)
    view = a.view()
    view.close()
    refused(Exception, "closed", comm.Send, view, right, 1)
    a.resize([5])  # with the policy "error" this needs zero exports: MPI has released all


def held_while_a_message_is_on_its_way():
    """Checks that the lease stays open, and the array locked, until the request is complete."""
    sent, received = MemArray([LARGE]), MemArray([LARGE])
    sent.fill(comm.rank)
    with NothingIsCopied():
        with memarray.leases(sent.read(), received.write()) as (source, target):
            requests = [comm.Irecv(target, left, 2), comm.Isend(source, right, 2)]
            refused(memarray.LockError, "", received.fill, 0)
            refused(memarray.LockError, "", sent.fill, 0)
            refused(memarray.LockError, "", received.read().__enter__)
            with sent.read() as other:  # other readers are admitted
                assert other.view()[0] == comm.rank
            MPI.Request.Waitall(requests)
        del requests
        sent.fill(-1)
    with received.read() as lease:
        assert lease.view().min() == lease.view().max() == left


def a_lease_closed_too_early():
    """Checks that a message stays whole and nothing dangles, because MPI keeps the memory.

    A read lease sends the contents that it had under the lease. A late message into a write lease is not in the array
    if the array was used meanwhile.
    """
    sent, received = MemArray([LARGE]), MemArray([LARGE])
    sent.fill(comm.rank)
    received.fill(-5)
    with sent.read() as source:
        sending = comm.Issend(source, right, 3)
    with received.write() as target:
        late = target.view().data_ptr
        receiving = comm.Irecv(target, left, 4)
    sent.fill(-1)
    assert received.view().max() == -5
    with received.read() as lease:
        assert lease.view().data_ptr != late
    scratch = np.zeros(LARGE)
    comm.Recv(scratch, left, 3)
    sending.Wait()
    assert scratch.min() == scratch.max() == left
    del source, target
    with sent.read() as source:
        comm.Send(source, right, 4)
        receiving.Wait()
    with received.read() as lease:
        assert lease.view().max() == -5


def views_with_strides():
    """Checks that rows and dense transposed views are accepted in memory order; columns are refused or need a
    datatype."""
    n = 6
    grid = MemArray([n, n])
    grid.read_numpy_array(np.arange(n * n, dtype="float64").reshape(n, n) + 100 * comm.rank)
    theirs = np.arange(n * n, dtype="float64").reshape(n, n) + 100 * left
    with NothingIsCopied(), grid.write() as lease:
        view, x = lease.view(), np.asarray(lease)
        comm.Sendrecv(view[1:3], right, 5, view[4:6], left, 5)
        assert (x[4:6] == theirs[1:3]).all()
        comm.Sendrecv(view[1], right, 5, view[0], left, 5)
        assert (x[0] == theirs[1]).all()
        for strided in (view[:, 1], view[::2], view[::-1], view[1:3, 1:3], view[:, ::-1]):
            refused(BufferError, "", comm.Send, strided, right, 5)
            refused(BufferError, "", comm.Recv, strided, left, 5)
        column = MPI.DOUBLE.Create_vector(n, 1, n).Commit()
        try:
            mine = x[:, 2].copy()
            expected = comm.sendrecv(mine, right, source=left)
            flat = view.reshape(n * n)
            comm.Sendrecv([flat[2:], 1, column], right, 5, [flat[3:], 1, column], left, 5)
        finally:
            column.Free()
        assert (x[:, 3] == expected).all()
        x[...] = np.arange(n * n).reshape(n, n)
        received = np.zeros((n, n))
        comm.Sendrecv(view.T, right, 5, received, left, 5)
        assert (received == x).all()  # not x.T


def messages_in_any_order():
    """Sends many messages of random dtypes and sizes between random ranks, begun and completed in random orders."""
    seed = comm.bcast(SEED)
    both, own = np.random.default_rng(seed), np.random.default_rng([seed, comm.rank])
    for _ in range(500 if os.environ.get("MEMARRAY_NIGHTLY") else 15):
        count = int(both.integers(1, 20))
        ends = both.integers(comm.size, size=(count, 2))
        names = both.choice(DTYPES, count)
        # Also empty messages, and messages too large to be sent before the receiver asks.
        sizes = np.where(both.random(count) < 0.2, both.integers(10**4, 10**5, count), both.integers(0, 50, count))
        requests, open_leases, received = [], [], []
        with NothingIsCopied():
            for tag in own.permutation(count):
                (source, target), name, size = ends[tag], str(names[tag]), int(sizes[tag])
                if comm.rank == target:
                    array = MemArray([size], name)
                    lease = array.write()
                    requests.append(comm.Irecv(lease.__enter__(), source, tag))
                    open_leases.append(lease)
                    received.append((array, pattern((size,), name, int(tag)), name))
                if comm.rank == source:
                    array = MemArray([size], name)
                    array.read_numpy_array(pattern((size,), name, int(tag)))
                    with array.read() as lease:  # the request keeps the memory alive
                        requests.append(comm.Isend(lease, target, tag))
            own.shuffle(requests)
            for request in requests:
                request.Wait()
            for lease in open_leases:
                lease.close()
        for array, expected, name in received:
            assert look(array).tobytes() == expected.tobytes(), name


def one_sided():
    """Opens a window over a write lease: other ranks write into the array, which stays locked as long as the window."""
    a = MemArray([comm.size])
    with NothingIsCopied(), a.write() as lease:
        window = MPI.Win.Create(lease, disp_unit=8, comm=comm)
        window.Fence()
        for rank in range(comm.size):
            window.Put(np.array([10.0 + comm.rank]), rank, comm.rank)
        window.Fence()
        window.Free()
    assert look(a).tolist() == [10.0 + rank for rank in range(comm.size)]


def errors_leave_all_as_it_was():
    a = MemArray([4])
    a.escaped_views = "error"
    a.fill(1)
    with a.write() as lease:
        request = comm.Isend(np.ones(8), right, 6)
        try:
            comm.Recv(lease, left, 6)
        except MPI.Exception as raised:
            assert raised.Get_error_class() == MPI.ERR_TRUNCATE
        else:
            raise AssertionError("eight elements do not fit into four")
        request.Wait()
        refused(MPI.Exception, "rank", comm.Send, lease, comm.size)
        assert lease.is_open
        comm.Sendrecv(np.full(4, 2.0), right, 6, lease, left, 6)
    assert look(a).tolist() == [2.0] * 4
    a.resize([2])  # no export is left


def device_memory_through_the_host():
    with memarray.testing.simulated_devices(1):
        a = MemArray([4])
        a.fill(comm.rank)
        a.move_memory(memarray.dlpack.kDLCUDA)
        received = np.zeros(4)
        with a.read("cpu") as lease:
            comm.Sendrecv(lease, right, 0, received, left, 0)
        assert received.tolist() == [left] * 4
        del a, lease


def device_memory_passed_to_mpi():
    """MPI accepts any address as host memory; access to a simulated device's memory then faults, as anywhere."""
    with memarray.testing.simulated_devices(1):
        a = MemArray([4])
        a.move_memory(memarray.dlpack.kDLCUDA)
        with a.read() as lease:
            comm.Sendrecv(lease, right, 0, np.zeros(4), left, 0)


def one_rank_fails():
    assert comm.rank == 0, "this rank fails"


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        every_dtype_goes_round,
        elements_are_known,
        collectives_in_place,
        collectives_from_a_root,
        a_read_lease_receives_nothing,
        a_lease_that_is_not_open,
        held_while_a_message_is_on_its_way,
        a_lease_closed_too_early,
        views_with_strides,
        messages_in_any_order,
        one_sided,
        errors_leave_all_as_it_was,
        device_memory_through_the_host,
    )
}
ENDS_BADLY = {scenario.__name__: scenario for scenario in (device_memory_passed_to_mpi, one_rank_fails)}

if __name__ == "__main__":
    for name in sys.argv[1:]:
        (SCENARIOS | ENDS_BADLY)[name]()
        comm.Barrier()
        print(f"{name}: rank {comm.rank} of {comm.size} succeeded", flush=True)
