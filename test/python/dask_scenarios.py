"""The scenarios that test_dask.py runs on a cluster of two processes. Each prints at its end whether it passed."""

import os
import traceback

import dask
import memarray
import numpy as np
from distributed import Client, LocalCluster, get_worker
from memarray import MemArray

LARGE = 1 << 17


def make(start):
    values = np.arange(start, start + LARGE, dtype="float64").reshape(-1, 64)
    return MemArray.from_numpy(values)


def total(array):
    with array.read() as lease:
        return lease.view().sum(), os.getpid(), array.is_foreign, memarray.stats()["copies"]


def held(start):
    array = make(start)
    worker = get_worker()
    worker.held = array.write()  # as C++ would hold it
    worker.held.__enter__()
    return array


def close_held(dask_worker):
    dask_worker.held.close()


def part(start):
    array = make(start)
    return {"transposed": array.view().T, "row": array.view()[3], "whole": array}


def expected(start):
    return np.arange(start, start + LARGE, dtype="float64").reshape(-1, 64)


def results_are_adopted(client):
    copies = memarray.stats()["copies"]
    result = client.submit(make, 5).result()
    assert type(result) is MemArray
    assert result.is_foreign  # over the buffer that the message arrived in
    assert memarray.stats()["copies"] == copies
    assert (np.asarray(result) == expected(5)).all()
    result.fill(1)
    small = client.submit(MemArray, [3]).result()
    assert np.asarray(small).tolist() == [0, 0, 0]


def workers_give_each_other_arrays(client):
    first, second = client.scheduler_info()["workers"]
    made = client.submit(make, 7, workers=[first])
    value, there, foreign, _ = client.submit(total, made, workers=[second]).result()
    assert value == expected(7).sum()
    assert there == client.run(os.getpid)[second]
    assert foreign
    here = client.submit(total, made, workers=[first], key="where it was made").result()
    assert not here[2]


def nothing_is_copied_on_the_workers(client):
    before = client.run(lambda: memarray.stats()["copies"])
    arrays = client.map(make, range(4), key="none copied")
    client.gather(arrays)
    client.gather(client.map(total, arrays))
    assert client.run(lambda: memarray.stats()["copies"]) == before


def an_array_under_a_write_lease_is_not_gathered(client):
    future = client.submit(held, 3)
    try:
        future.result()
    except TypeError as error:
        assert "LockError" in str(error), error
    else:
        raise AssertionError("it was sent while it was written")
    (worker,) = client.who_has(future)[future.key]
    client.run(close_held, workers=[worker])
    assert (np.asarray(future.result()) == expected(3)).all()


def arrays_are_scattered(client):
    array = make(11)
    copies = memarray.stats()["copies"]
    future = client.scatter(array, direct=True)
    assert memarray.stats()["copies"] == copies
    assert client.submit(total, future).result()[0] == expected(11).sum()


def views_are_results(client):
    result = client.submit(part, 2).result()
    assert (np.asarray(result["transposed"]) == expected(2).T).all()
    assert (np.asarray(result["row"]) == expected(2)[3]).all()
    assert (np.asarray(result["whole"]) == expected(2)).all()
    assert not result["row"].writable


def unhappy(client):
    assert client.submit(make, 1).result().shape == (1, 1)


SCENARIOS = (
    results_are_adopted,
    workers_give_each_other_arrays,
    nothing_is_copied_on_the_workers,
    an_array_under_a_write_lease_is_not_gathered,
    arrays_are_scattered,
    views_are_results,
    unhappy,
)

if __name__ == "__main__":
    # Dask's memory manager drops spare copies every two seconds, also the one on the worker that made an array.
    dask.config.set({"distributed.scheduler.active-memory-manager.start": False})
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        for scenario in SCENARIOS:
            try:
                scenario(client)
            except Exception:
                traceback.print_exc()
                print(f"{scenario.__name__}: failed", flush=True)
            else:
                print(f"{scenario.__name__}: passed", flush=True)
