import gray_scott
import memarray
import numpy as np
import pytest
from memarray.dlpack import kDLCPU


@pytest.fixture
def simulation():
    return gray_scott.Simulation(64, 48)


def expected(fields, feed=0.037, kill=0.06):
    """Returns the fields after one step, by NumPy."""
    u, v = fields
    around = [np.roll(f, 1, 0) + np.roll(f, -1, 0) + np.roll(f, 1, 1) + np.roll(f, -1, 1) - 4 * f for f in fields]
    reaction = u * v * v
    return np.stack(
        [u + 0.16 * around[0] - reaction + feed * (1 - u), v + 0.08 * around[1] + reaction - (feed + kill) * v]
    )


def test_steps_are_those_of_numpy(simulation):
    for _ in range(5):
        before = np.array(simulation.fields)
        simulation.step()
        np.testing.assert_allclose(np.asarray(simulation.fields), expected(before), rtol=1e-12, atol=1e-14)


def test_the_seed_spreads(simulation):
    seeds = np.count_nonzero(np.asarray(simulation.fields)[1])
    simulation.step(100)
    v = np.asarray(simulation.fields)[1]
    assert np.count_nonzero(v > 1e-6) > 2 * seeds
    assert simulation.mean_v() == pytest.approx(v.mean())


def test_largest_change_is_that_of_the_last_step(simulation):
    assert simulation.largest_change() == 0
    simulation.step(5)
    before = np.array(simulation.fields)
    simulation.step()
    assert simulation.largest_change() == np.abs(np.asarray(simulation.fields) - before).max() > 0


def test_python_writes_into_the_simulation(simulation):
    with simulation.fields.write() as lease:
        np.from_dlpack(lease)[:] = [[[1.0]], [[0.0]]]
    simulation.step(10)
    assert simulation.mean_v() == 0


def test_frames_are_kept_without_a_copy(simulation):
    copies = memarray.stats()["copies"]
    frames = []
    for _ in range(4):
        with simulation.fields.read() as lease:
            frames.append(np.from_dlpack(lease))
        simulation.step(10)
    assert memarray.stats()["copies"] == copies
    assert len({frame[1].sum() for frame in frames}) == 4


def test_nothing_changes_under_a_read_lease(simulation):
    with simulation.fields.read() as lease:
        before = np.array(lease)
        with pytest.raises(memarray.LockError, match="leased for reading"):
            simulation.step()
        np.testing.assert_array_equal(np.asarray(lease), before)


def test_a_grid_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match="8 rows"):
        gray_scott.Simulation(4, 64)


@pytest.mark.simulated_devices(count=1)
def test_a_device_computes_the_same(simulated_devices):
    here, there = (gray_scott.Simulation(32, 32) for _ in range(2))
    there.move_to(0)
    for simulation in (here, there):
        simulation.step(20)
    assert there.mean_v() == pytest.approx(here.mean_v(), rel=1e-12)
    assert there.largest_change() == pytest.approx(here.largest_change(), rel=1e-9)
    there.fields.move_memory(kDLCPU)
    np.testing.assert_allclose(np.asarray(there.fields), np.asarray(here.fields), rtol=1e-12)
    there.move_to(-1)
