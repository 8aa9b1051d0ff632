"""Tests of the gas against exact solutions, conservation laws and itself; run with the build folder on PYTHONPATH."""

import memarray
import numpy as np
import pytest
import riemann
from hydro import GAMMA, Simulation
from memarray.dlpack import kDLCPU
from memarray.testing import simulated_devices

SOD = riemann.Gas(1, 0, 1), riemann.Gas(0.125, 0, 0.1)


def fill(simulation, density, velocity_x, velocity_y, pressure):
    """Writes a state of the gas into the simulation's own memory."""
    energy = pressure / (GAMMA - 1) + 0.5 * density * (velocity_x**2 + velocity_y**2)
    with simulation.cells.write() as lease:
        cells = np.from_dlpack(lease)
        for field, values in enumerate((density, density * velocity_x, density * velocity_y, energy)):
            cells[..., field] = values


def flow(simulation):
    """Returns density, velocity in x and y, and pressure."""
    with simulation.cells.read() as lease:
        density, momentum_x, momentum_y, energy = np.moveaxis(np.from_dlpack(lease), -1, 0)
    kinetic = 0.5 * (momentum_x**2 + momentum_y**2) / density
    return density, momentum_x / density, momentum_y / density, (GAMMA - 1) * (energy - kinetic)


def tube(length, gases=SOD):
    """Returns a shock tube along x, and the positions of its cells."""
    simulation = Simulation(2, length, width=1 / length)
    x = (np.arange(length) + 0.5) / length - 0.5
    left, right = (np.array([gas.density, gas.velocity, 0, gas.pressure]) for gas in gases)
    fill(simulation, *np.where(x < 0, left[:, None], right[:, None]))
    return simulation, x


def errors(length, gases=SOD, time=0.2, within=0.5):
    """Returns the mean errors of density, velocity and pressure in a shock tube, within a distance of the membrane."""
    simulation, x = tube(length, gases)
    simulation.run_until(time)
    assert simulation.time == time
    density, along, across, pressure = flow(simulation)
    assert not across.any() and (density[0] == density[1]).all()
    difference = np.stack([density[0], along[0], pressure[0]], axis=1) - riemann.solution(*gases, x / time)
    return np.abs(difference[np.abs(x) < within]).mean(axis=0)


def turbulent(rows=48, columns=40, periodic=True, seed=1):
    """Returns gas with waves and eddies of every direction."""
    simulation = Simulation(rows, columns, width=1 / 32, periodic=periodic)
    random = np.random.default_rng(seed)
    density, velocity_x, velocity_y, pressure = random.uniform(-1, 1, (4, rows, columns))
    fill(simulation, 2 + density, velocity_x, velocity_y, 2 + pressure)
    return simulation


def bits(simulation):
    return np.asarray(simulation.cells).tobytes()


def test_exact_solution_of_sods_tube_is_the_published_one():
    pressure, velocity = riemann.between_waves(*SOD)
    assert pressure == pytest.approx(0.30313, abs=1e-5) and velocity == pytest.approx(0.92745, abs=1e-5)
    beside_contact = riemann.solution(*SOD, np.array([velocity - 1e-6, velocity + 1e-6]))[:, 0]
    assert beside_contact == pytest.approx([0.42632, 0.26557], abs=1e-5)


def test_sods_shock_tube_converges_to_the_exact_solution():
    coarse, fine = errors(100), errors(400)
    assert (fine < [0.002, 0.004, 0.0015]).all(), fine
    assert (fine < 0.4 * coarse).all(), (coarse, fine)


@pytest.mark.parametrize(
    ("gases", "time"),
    [
        ((riemann.Gas(1, -1, 0.4), riemann.Gas(1, 1, 0.4)), 0.1),
        ((riemann.Gas(1, 1, 1), riemann.Gas(1, -1, 1)), 0.1),
        ((riemann.Gas(1, 3, 1), riemann.Gas(0.5, 3, 0.5)), 0.05),
    ],
    ids=["rarefactions", "shocks", "supersonic"],
)
def test_other_tubes_are_near_the_exact_solution(gases, time):
    assert (errors(400, gases, time, within=0.25) < 0.015).all()  # the waves from the walls are farther away


def test_a_smooth_wave_is_of_second_order():
    def error(length):
        simulation = Simulation(2, length, width=1 / length, periodic=True)
        x = (np.arange(length) + 0.5) / length
        fill(simulation, 1 + 0.2 * np.sin(2 * np.pi * x), 1.0, 0.5, 1.0)
        simulation.run_until(1.0)
        return np.abs(flow(simulation)[0] - (1 + 0.2 * np.sin(2 * np.pi * x))).mean()

    assert error(128) < error(64) / 3


def test_a_periodic_box_keeps_mass_momentum_and_energy():
    simulation = turbulent()
    before = simulation.total()
    simulation.step(100)
    for name, value in simulation.total().items():
        assert value == pytest.approx(before[name], abs=1e-12), name
    density, *_, pressure = flow(simulation)
    assert density.min() > 0 and pressure.min() > 0


def test_a_closed_box_keeps_mass_and_energy():
    simulation = turbulent(periodic=False)
    before = simulation.total()
    simulation.step(100)
    after = simulation.total()
    for name in ("mass", "energy"):
        assert after[name] == pytest.approx(before[name], abs=1e-12), name
    assert abs(after["momentum_x"] - before["momentum_x"]) > 1e-3, "the walls push"


def test_total_is_the_sum_over_the_cells():
    simulation = turbulent()
    sums = np.asarray(simulation.cells).sum(axis=(0, 1)) / 32**2
    assert list(simulation.total().values()) == pytest.approx(sums, rel=1e-12)


@pytest.mark.parametrize("periodic", [False, True])
def test_transposed_and_mirrored_gas_moves_likewise_to_the_last_bit(periodic):
    simulation, transposed, mirrored = (Simulation(24, 24, width=1 / 24, periodic=periodic) for _ in range(3))
    density, u, v, pressure = np.random.default_rng(2).uniform(-1, 1, (4, 24, 24))
    fill(simulation, 2 + density, u, v, 2 + pressure)
    fill(transposed, 2 + density.T, v.T, u.T, 2 + pressure.T)
    with simulation.cells.read() as lease, mirrored.cells.write() as other:
        np.from_dlpack(other)[:] = np.from_dlpack(lease)[:, ::-1] * [1, -1, 1, 1]
    for each in (simulation, transposed, mirrored):
        each.step(20)
    cells = np.asarray(simulation.cells)
    np.testing.assert_array_equal(np.asarray(transposed.cells), cells.transpose(1, 0, 2)[..., [0, 2, 1, 3]])
    np.testing.assert_array_equal(np.asarray(mirrored.cells), cells[:, ::-1] * [1, -1, 1, 1])


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    def run(threads):
        monkeypatch.setattr(memarray.options, "threads", threads)
        simulation = turbulent(rows=300, columns=200)  # 1.9 MB: several pieces of work
        simulation.step(3)
        return bits(simulation), simulation.total(), simulation.time

    assert run(1) == run(2) == run(3)


def test_frames_are_kept_without_a_copy():
    simulation = turbulent()
    copies = memarray.stats()["copies"]
    frames = []
    for _ in range(4):
        with simulation.cells.read() as lease:
            frames.append(np.from_dlpack(lease))
        simulation.step(5)
    assert memarray.stats()["copies"] == copies
    assert len({frame[..., 3].max() for frame in frames}) == 4


def test_step_under_a_lease_is_refused_and_changes_nothing():
    simulation, undisturbed = turbulent(), turbulent()
    with simulation.cells.read() as lease:
        before = np.array(lease)
        with pytest.raises(memarray.LockError, match="leased for reading"):
            simulation.step()
        np.testing.assert_array_equal(np.asarray(lease), before)
    assert simulation.time == 0
    for each in (simulation, undisturbed):
        each.step(3)
    assert bits(simulation) == bits(undisturbed) and simulation.time == undisturbed.time > 0


@pytest.mark.parametrize("arguments", [(1, 5, 1.0), (5, 1, 1.0), (5, 5, 0.0), (5, 5, float("nan")), (-9, 5, 1.0)])
def test_impossible_boxes_are_refused(arguments):
    rows, columns, width = arguments
    with pytest.raises(ValueError):
        Simulation(rows, columns, width=width)


def test_steps_stay_on_a_device_without_a_wait_and_give_the_same():
    with simulated_devices(count=1) as sim:
        here, there = turbulent(), turbulent()
        there.move_to(0)
        there.step()
        before = memarray.stats()
        sim.delay(0.002)
        there.step(4)
        after = memarray.stats()
        assert {name: after[name] - before[name] for name in ("copies", "waits")} == {"copies": 0, "waits": 0}
        here.step(5)
        assert there.time == here.time
        assert there.total() == pytest.approx(here.total(), rel=1e-12)
        there.cells.move_memory(kDLCPU)
        assert bits(there) == bits(here)
        del there
