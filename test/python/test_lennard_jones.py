"""The physics of the example, and its Python views, which cost no copy."""

import hashlib
import threading
from pathlib import Path

import lj_reference
import memarray
import numpy as np
import pytest

lennard_jones = pytest.importorskip("memarray.lennard_jones", reason="built without the demo")
analysis = pytest.importorskip("memarray.lennard_jones.analysis")
Simulation = lennard_jones.Simulation

A12, A6 = 12.13188, 14.45392


def look(array):
    """Returns a private copy, so that the test holds no view."""
    with array.read() as lease:
        return np.from_dlpack(lease).copy()


def set_positions(simulation, x):
    simulation.positions.read_numpy_array(x)
    simulation.compute_forces()


def melted(cells=4, steps=200, **options):
    simulation = Simulation(cells=cells, **options)
    simulation.step(steps)
    return simulation


@pytest.fixture
def threads():
    before = memarray.options.threads

    def set_threads(count):
        memarray.options.threads = count

    yield set_threads
    memarray.options.threads = before


@pytest.mark.parametrize("cutoff", [5.0, 6.0, 8.0])
@pytest.mark.parametrize("density", [0.8, 1.0, 1.2])
def test_crystal_energy_agrees_with_lattice_sums(density, cutoff):
    crystal = Simulation(cells=3, density=density, cutoff=cutoff, shifted_force=False)
    energy = crystal.potential_energy() / crystal.particles + analysis.tail_correction(density, cutoff)
    nearest = (np.sqrt(2.0) / density) ** (1.0 / 3.0)
    assert energy == pytest.approx(2.0 * (A12 * nearest**-12 - A6 * nearest**-6), rel=1e-3)
    assert np.abs(look(crystal.forces)).max() < 1e-9


@pytest.mark.parametrize("shifted_force", [True, False])
def test_box_smaller_than_cutoff_includes_periodic_images(shifted_force):
    one, many = (Simulation(cells=cells, cutoff=4.0, shifted_force=shifted_force) for cells in (1, 5))
    assert one.box < 2.0 < 8.0 < many.box
    assert one.potential_energy() / one.particles == pytest.approx(many.potential_energy() / many.particles, rel=1e-12)


def test_forces_are_the_negative_gradient():
    simulation = melted(cells=3)
    x, forces = look(simulation.positions), look(simulation.forces)
    h = 1e-5
    for particle, axis in [(0, 0), (17, 1), (50, 2), (107, 0)]:
        energies = []
        for sign in (1, -1):
            moved = x.copy()
            moved[particle, axis] += sign * h
            set_positions(simulation, moved)
            energies.append(simulation.potential_energy())
        assert -(energies[0] - energies[1]) / (2 * h) == pytest.approx(forces[particle, axis], rel=1e-6, abs=1e-6)


def test_force_and_energy_are_zero_at_cutoff():
    """Moves a pair across the cutoff: its force and energy start at zero, without a jump."""
    pair = Simulation(cells=1, density=4.0 / 1000.0)
    places = np.array([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0], [5.0, 5.0, 0.0], [5.0, 5.0, 5.0]])
    for distance, nothing in [(2.5 + 1e-9, True), (2.5, True), (2.5 - 1e-6, False)]:
        places[1, 0] = distance
        set_positions(pair, places)
        force, energy = look(pair.forces)[0, 0], pair.potential_energy()
        if nothing:
            assert force == energy == 0.0
        else:
            assert 0.0 < force < 1e-5 and -1e-10 < energy < 0.0
    places[1, 0] = 2.0 ** (1.0 / 6.0)
    set_positions(pair, places)
    shift = lj_reference.pair_terms(np.array([2.0 ** (1.0 / 3.0)]), 2.5, True)[0][0]
    assert pair.potential_energy() == pytest.approx(shift, rel=1e-12)


@pytest.mark.parametrize("shifted_force", [True, False])
@pytest.mark.parametrize("cells", [3, 4, 5])
def test_cell_lists_equal_the_all_pairs_sum(cells, shifted_force):
    simulation = melted(cells=cells, density=0.75, shifted_force=shifted_force)
    x = look(simulation.positions)
    x += 3.0 * simulation.box * np.random.default_rng(1).integers(-2, 3, x.shape)  # images are the same particle
    set_positions(simulation, x)
    forces, energies, virials = lj_reference.forces_and_energy(x, simulation.box, shifted_force=shifted_force)
    scale = np.abs(forces).max()
    np.testing.assert_allclose(look(simulation.forces), forces, rtol=0, atol=1e-10 * scale)
    np.testing.assert_allclose(look(simulation.energies), energies, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(look(simulation.virials), virials, rtol=0, atol=1e-10 * scale)


def test_density_counts_every_particle_in_its_cell():
    simulation = melted(cells=5)
    density = look(simulation.density)
    per_side = density.shape[0]
    x = look(simulation.positions)
    inside = x - simulation.box * np.floor(x / simulation.box)
    cells = np.minimum((inside / simulation.box * per_side).astype(int), per_side - 1)
    expected = np.zeros_like(density)
    np.add.at(expected, tuple(cells.T), 1)
    np.testing.assert_array_equal(density, expected)
    assert density.dtype == np.int64 and density.sum() == simulation.particles


def test_start_has_requested_temperature_and_zero_momentum():
    simulation = Simulation(cells=6, temperature=0.9, seed=5)
    velocities = look(simulation.velocities)
    assert simulation.temperature() == pytest.approx(0.9, rel=1e-12)
    assert np.abs(velocities.sum(axis=0)).max() < 1e-11
    assert analysis.sample(simulation).temperature == pytest.approx(0.9, rel=1e-12)
    # Maxwell-Boltzmann distribution: the fourth moment is three times the square of the second.
    moments = (velocities**4).mean() / (velocities**2).mean() ** 2
    assert moments == pytest.approx(3.0, abs=0.3)
    assert not np.array_equal(velocities, look(Simulation(cells=6, temperature=0.9, seed=6).velocities))
    assert Simulation(cells=2, temperature=0.0).temperature() == 0.0


def test_samples_match_numpy_reference():
    simulation = melted(cells=3)
    x, v = look(simulation.positions), look(simulation.velocities)
    _, energies, virials = lj_reference.forces_and_energy(x, simulation.box)
    kinetic = 0.5 * (v**2).sum()
    seen = analysis.sample(simulation)
    assert (seen.step, seen.kinetic) == (200, pytest.approx(kinetic, rel=1e-12))
    assert seen.potential == pytest.approx(energies.sum(), rel=1e-10)
    assert seen.temperature == pytest.approx(2 * kinetic / (3 * len(x) - 3), rel=1e-12)
    assert seen.pressure == pytest.approx((2 * kinetic + virials.sum()) / (3 * simulation.box**3), rel=1e-9)


def test_radial_distribution_matches_pair_histogram_and_a_liquid():
    simulation = Simulation(cells=6, temperature=1.44)
    frames = []
    for block in range(12):
        simulation.step(50)
        simulation.set_temperature(0.9)
        if block >= 6:
            frames.append(look(simulation.positions))
    box, count = simulation.box, simulation.particles
    r, g = analysis.radial_distribution(frames, box)
    edges = np.linspace(0.0, 5.0, 201)
    np.testing.assert_allclose(r, 0.5 * (edges[1:] + edges[:-1]))
    histogram = np.zeros(200)
    for x in frames:
        d = x[:, None] - x[None]
        d -= box * np.rint(d / box)
        distances = np.sqrt((d**2).sum(axis=2))[np.triu_indices(count, 1)]
        histogram += np.histogram(distances, edges)[0]
    shells = 4 / 3 * np.pi * (edges[1:] ** 3 - edges[:-1] ** 3)
    expected = histogram / (len(frames) * shells * count * (count - 1) / 2 / box**3)
    # A distance on an edge may be counted on either side of it.
    np.testing.assert_allclose(g, expected, atol=2 * expected.max() / histogram.max())
    # A liquid: no pairs within the core, a shell of neighbours, and no order at a distance.
    assert g[r < 0.8].max() == 0.0
    assert 1.0 < r[g.argmax()] < 1.15 and 2.3 < g.max() < 3.5
    assert abs(g[r > 4.0].mean() - 1.0) < 0.01 and np.abs(g[r > 4.0] - 1.0).max() < 0.1


@pytest.mark.parametrize("steps", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_energy_and_momentum_are_conserved(steps):
    simulation = Simulation(cells=6, density=0.8442, temperature=1.44, time_step=0.002)
    assert simulation.particles >= 864
    for block in range(50):
        simulation.step(20)
        if block < 35:
            simulation.set_temperature(0.7)
    simulation.zero_momentum()
    samples = []
    for _ in range(steps // 10):
        simulation.step(10)
        samples.append(analysis.sample(simulation))
    slope, deviation = analysis.energy_drift(samples)
    assert abs(slope) < 1e-4
    assert deviation < 1e-3
    assert np.mean([each.temperature for each in samples]) == pytest.approx(0.7, abs=0.07)
    momentum = np.abs(look(simulation.velocities).sum(axis=0)).max()
    assert momentum < 1e-10 * np.sqrt(simulation.particles)


@pytest.mark.parametrize("shifted_force", [True, False])
def test_energy_check_detects_discontinuous_force(shifted_force):
    """Shows that the check above can fail: a plain cutoff kicks the particles that cross it."""
    simulation = melted(cells=6, steps=300, cutoff=1.5, shifted_force=shifted_force)
    samples = []
    for _ in range(50):
        simulation.step(4)
        samples.append(analysis.sample(simulation))
    assert (analysis.energy_drift(samples)[1] < 1e-3) is shifted_force


def seconds_on_cpus():
    """Returns the run time of each thread of this process; empty if the system does not report it."""
    tasks = Path("/proc/self/task")
    return {file.parent.name: int(file.read_text().split()[0]) * 1e-9 for file in tasks.glob("*/schedstat")}


@pytest.mark.parametrize("count", [1, 2])
def test_hundred_steps_equal_the_numpy_reference(threads, count):
    threads(count)
    simulation = melted(cells=5)
    x, v = look(simulation.positions), look(simulation.velocities)
    before = seconds_on_cpus()
    simulation.step(100)
    after = seconds_on_cpus()
    x, v = lj_reference.velocity_verlet(x, v, simulation.box, 0.002, 100)
    for array, expected in ((simulation.positions, x), (simulation.velocities, v)):
        np.testing.assert_allclose(look(array), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).mean())
    if before:
        caller = str(threading.get_native_id())
        others = sum(after[thread] - before.get(thread, 0.0) for thread in after if thread != caller)
        # Other threads have at least a hundredth, however busy the machine is, or no work at all.
        assert (others > 0.01 * (after[caller] - before[caller])) is (count == 2)


@pytest.mark.threads
def test_trajectory_does_not_depend_on_the_number_of_threads(threads):
    trajectories = []
    for count in (1, 2, 3):
        threads(count)
        simulation = melted(cells=8, steps=30)
        trajectories.append((look(simulation.positions), look(simulation.velocities), look(simulation.density)))
    for other in trajectories[1:]:
        for one, another in zip(trajectories[0], other, strict=True):
            np.testing.assert_array_equal(one, another)


@pytest.mark.sanitize
def test_exported_frames_cost_no_copy_and_never_change():
    simulation = Simulation(cells=5)
    copies = memarray.stats()["copies"]
    frames = []
    for _ in range(60):
        simulation.step(2)
        for array in (simulation.positions, simulation.velocities, simulation.forces, simulation.density):
            with array.read() as lease:
                frame = np.from_dlpack(lease)
            frames.append((frame, hashlib.blake2b(frame).hexdigest()))
    assert memarray.stats()["copies"] == copies
    assert all(hashlib.blake2b(frame).hexdigest() == checksum for frame, checksum in frames)
    assert len({frame.ctypes.data for frame, _ in frames}) == len(frames) == 240
    assert not any(frame.flags.writeable for frame, _ in frames)


def test_numpy_and_cpp_share_addresses():
    simulation = Simulation(cells=3)
    for name, address in simulation.addresses().items():
        with getattr(simulation, name).read() as lease:
            assert np.from_dlpack(lease).ctypes.data == address


@pytest.mark.sanitize
def test_arrays_outlive_their_simulation():
    simulation = Simulation(cells=3)
    positions = simulation.positions
    with positions.read() as lease:
        frame = np.from_dlpack(lease)
    expected = frame.copy()
    del simulation
    np.testing.assert_array_equal(frame, expected)
    np.testing.assert_array_equal(look(positions), expected)


@pytest.mark.parametrize("name", ["positions", "velocities", "forces", "energies", "density"])
def test_step_refused_by_lease_is_completed_by_next_step(name):
    stopped, free = Simulation(cells=4), Simulation(cells=4)
    with getattr(stopped, name).read():
        with pytest.raises(memarray.LockError):
            stopped.step(1)
    stopped.step(0)
    stopped.step(10 - stopped.steps_done)
    free.step(10)
    np.testing.assert_array_equal(look(stopped.positions), look(free.positions))
    np.testing.assert_array_equal(look(stopped.velocities), look(free.velocities))


def test_restart_continues_the_same_trajectory(tmp_path):
    simulation = melted(cells=5, seed=3, time_step=0.0025)
    path = tmp_path / "checkpoint.npz"
    lennard_jones.save_checkpoint(simulation, path)
    simulation.step(150)
    again = lennard_jones.load_checkpoint(path)
    assert again.options == simulation.options and again.steps_done == 200
    again.step(150)
    for name in ("positions", "velocities", "forces", "energies", "density"):
        np.testing.assert_array_equal(look(getattr(simulation, name)), look(getattr(again, name)))
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint.npz"]


def test_a_failed_save_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    simulation = melted(cells=3, steps=5)
    path = tmp_path / "checkpoint.npz"
    lennard_jones.save_checkpoint(simulation, path)
    before = path.read_bytes()

    def full(*args, **kwargs):
        args[0].write(b"half a file")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full)
    simulation.step(5)
    with pytest.raises(OSError, match="no space"):
        lennard_jones.save_checkpoint(simulation, path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint.npz"]


def test_missing_or_damaged_checkpoint_is_refused_with_clear_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such checkpoint"):
        lennard_jones.load_checkpoint(tmp_path / "missing.npz")
    damaged = tmp_path / "damaged.npz"
    lennard_jones.save_checkpoint(Simulation(cells=2), damaged)
    damaged.write_bytes(damaged.read_bytes()[:1000])
    with pytest.raises(ValueError, match="not a checkpoint"):
        lennard_jones.load_checkpoint(damaged)
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(ValueError, match="not a checkpoint"):
        lennard_jones.load_checkpoint(tmp_path / "other.npz")


@pytest.mark.parametrize(
    "bad",
    [
        {"cells": 0},
        {"density": -1.0},
        {"density": float("nan")},
        {"time_step": 0.0},
        {"temperature": -1.0},
        {"cutoff": 0},
    ],
)
def test_error_for_bad_option_names_the_option(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Simulation(**bad)
    with pytest.raises(ValueError, match="count"):
        Simulation(cells=1).step(-1)
