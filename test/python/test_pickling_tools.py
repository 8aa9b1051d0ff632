"""Libraries that pickle for their users, mostly by a protocol below 5: queues, pools, shelves, joblib, dataclasses."""

import copy
import dataclasses
import multiprocessing
import pickle
import shelve
from concurrent.futures import ProcessPoolExecutor

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values, edges
from support import DTYPES

pytestmark = pytest.mark.sweep
SECONDS = 60


def double(memory):
    """Returns, in another process, a new array with the elements doubled."""
    return memarray.MemArray.from_numpy(np.asarray(memory) * 2)


def send_back(connection):
    connection.send(connection.recv())


@pytest.fixture(scope="module")
def context():
    # A forked child would inherit locks that other threads of this process hold.
    return multiprocessing.get_context("spawn")


def array_of(name):
    return memarray.MemArray.from_numpy(edges(name))


def view_of(name):
    return array_of(name).view()


MAKERS = {"array": array_of, "view": view_of}
kinds = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@kinds
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_keeps_every_value(make, name, protocol):
    original = make(name)
    back = pickle.loads(pickle.dumps(original, protocol))
    assert type(back) is type(original)
    assert_same_values(np.asarray(back), np.asarray(original))


@kinds
def test_queue_transfers_values(make, context):
    queue = context.Queue()
    original = make("float64")
    queue.put(original)
    assert_same_values(np.asarray(queue.get(timeout=SECONDS)), np.asarray(original))
    queue.close()
    queue.join_thread()


@kinds
def test_pipe_transfers_values_in_both_directions(make, context):
    here, there = context.Pipe()
    process = context.Process(target=send_back, args=(there,))
    process.start()
    original = make("int32")
    here.send(original)
    assert here.poll(SECONDS)
    assert_same_values(np.asarray(here.recv()), np.asarray(original))
    process.join(SECONDS)
    assert process.exitcode == 0
    here.close()
    there.close()


@kinds
def test_process_pool_transfers_arguments_and_results(make, context):
    original = memarray.MemArray.from_numpy(np.arange(5.0))
    given = original.view() if make is view_of else original
    with context.Pool(1) as pool:
        results = pool.map(double, [given, given])
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        results.append(executor.submit(double, given).result(SECONDS))
    for result in results:
        assert np.asarray(result).tolist() == [0, 2, 4, 6, 8]


@kinds
def test_shelf_stores_and_restores_values(make, tmp_path):
    original = make("complex64")
    with shelve.open(str(tmp_path / "shelf")) as shelf:
        shelf["x"] = original
    with shelve.open(str(tmp_path / "shelf")) as shelf:
        assert_same_values(np.asarray(shelf["x"]), np.asarray(original))


@kinds
def test_joblib_dumps_and_hashes(make, tmp_path):
    joblib = pytest.importorskip("joblib")
    original = make("float32")
    joblib.dump(original, tmp_path / "x")
    assert_same_values(np.asarray(joblib.load(tmp_path / "x")), np.asarray(original))
    assert joblib.hash(original) == joblib.hash(make("float32"))


@dataclasses.dataclass
class State:
    field: object
    steps: int = 0


@kinds
def test_deep_copies_of_dataclasses_copy_memory(make):
    original = memarray.MemArray.from_numpy(np.arange(4.0))
    state = State(original.view() if make is view_of else original)
    for copied in (dataclasses.asdict(state)["field"], copy.deepcopy(state).field):
        assert copied is not state.field
        assert np.asarray(copied).tolist() == [0, 1, 2, 3]
        assert not np.shares_memory(np.asarray(copied), np.asarray(state.field))
    assert copy.copy(state).field is state.field
