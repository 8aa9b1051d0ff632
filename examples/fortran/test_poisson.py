"""A solver in Fortran on arrays of memarray and on memory of NumPy, without a copy."""

import gc
import os
import shutil
import threading

import memarray
import numpy as np
import pytest

HAS_FORTRAN = bool(shutil.which(os.environ.get("FC", "gfortran")))
if HAS_FORTRAN:
    import poisson

pytestmark = pytest.mark.skipif(not HAS_FORTRAN, reason="there is no Fortran compiler, so nothing was built")

ROWS, COLUMNS = 7, 5


@pytest.fixture(autouse=True)
def without_copies():
    before = memarray.stats()
    yield
    gc.collect()
    after = memarray.stats()
    assert after["copies"] == before["copies"]
    assert after["live_blocks"] == before["live_blocks"], "Fortran released its leases and views"


def plate(rows=ROWS, columns=COLUMNS):
    """Returns u(rows, columns) with u(i, j) = i·j at its edges."""
    potential = memarray.MemArray([columns, rows], float)
    with potential.write() as lease:
        u = np.asarray(lease.view().T)
        u[...] = np.outer(np.arange(rows), np.arange(columns))
        u[1:-1, 1:-1] = 0
        del u
    return potential


def values(potential):
    """Returns u, where u[i, j] is u(i + 1, j + 1) in Fortran."""
    with potential.read() as lease:
        return np.array(lease.view().T)


def expected(u, f, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - f[1:-1, 1:-1]) / 4
    return u


def test_steps_are_those_of_numpy():
    potential = plate()
    f = np.asfortranarray(np.random.default_rng(0).random((ROWS, COLUMNS)))
    before = values(potential)
    assert poisson.relax(potential, f, 0) == 0
    change = poisson.relax(potential, f, 3)
    np.testing.assert_allclose(values(potential), expected(before, f, 3), rtol=1e-13)
    last = np.abs(expected(before, f, 3) - expected(before, f, 2)).max()
    assert change == pytest.approx(last, rel=1e-12)


def test_it_converges_to_the_solution():
    potential = plate()
    change = poisson.relax(potential, np.zeros((ROWS, COLUMNS), order="F"), 400)
    assert change < 1e-12
    np.testing.assert_allclose(values(potential), np.outer(np.arange(ROWS), np.arange(COLUMNS)), atol=1e-10)


def test_fortran_sees_the_addresses_of_python():
    potential = plate()
    f = np.zeros((ROWS, COLUMNS), order="F")
    with potential.read() as lease:
        u = np.asarray(lease.view().T)
        assert u.shape == (ROWS, COLUMNS) and u.flags.f_contiguous
        assert poisson.addresses(potential, f) == (u.ctypes.data, f.ctypes.data)
        del u
    block = np.zeros((ROWS + 4, 2 * COLUMNS), order="F")[2 : 2 + ROWS, ::2]
    for charge in (block, block[:, :1], memarray.BufferView(block), f[:1], np.zeros((COLUMNS, ROWS)).T):
        assert poisson.addresses(potential, charge)[1] == memarray.BufferView(charge).data_ptr


def test_charge_may_be_a_block_of_columns_or_an_array():
    block = np.random.default_rng(1).random((2 * COLUMNS, ROWS + 4)).T[2 : 2 + ROWS, ::2]
    array = memarray.MemArray([COLUMNS, ROWS], float)
    array.read_numpy_array(np.ascontiguousarray(block.T))
    results = []
    for charge in (block, array.view().T):
        potential = plate()
        poisson.relax(potential, charge, 5)
        results.append(values(potential))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], expected(values(plate()), block, 5), rtol=1e-13)


def test_leases_exclude_python_and_fortran():
    potential = plate()
    f = np.zeros((ROWS, COLUMNS), order="F")
    with potential.read():
        with pytest.raises(memarray.LockError, match="relaxing failed: a write lease is refused"):
            poisson.relax(potential, f, 1)
        poisson.addresses(potential, f)
    with potential.write(), pytest.raises(memarray.LockError, match="a read lease is refused"):
        poisson.addresses(potential, f)
    poisson.relax(potential, f, 1)
    before = values(potential)
    with pytest.raises(ValueError, match="the charge has shape"):
        poisson.relax(potential, np.zeros((ROWS, COLUMNS + 1), order="F"), 1)
    np.testing.assert_array_equal(values(potential), before)
    potential.fill(0)  # no lease is left open


def test_other_types_and_orders_are_refused():
    potential = plate()
    for array, charge in (
        (potential, np.zeros((ROWS, COLUMNS), "float32", order="F")),
        (potential, np.zeros(ROWS)),
        (memarray.MemArray([COLUMNS, ROWS], "float32"), np.zeros((ROWS, COLUMNS), order="F")),
        (memarray.MemArray([ROWS], float), np.zeros((ROWS, COLUMNS), order="F")),
        (np.zeros((COLUMNS, ROWS)), np.zeros((ROWS, COLUMNS), order="F")),
    ):
        with pytest.raises(TypeError):
            poisson.relax(array, charge, 1)
    wide = np.zeros((2 * ROWS, COLUMNS), order="F")
    for charge in (
        np.zeros((ROWS, COLUMNS)),
        wide[::2],
        wide[:ROWS, ::-1],
        np.broadcast_to(wide[:ROWS, :1], (ROWS, 5)),
    ):
        with pytest.raises(ValueError, match="is not column-major"):
            poisson.relax(potential, charge, 1)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 1), (2, 5)])
def test_plate_without_inner_elements_does_not_change(shape):
    potential = memarray.MemArray(shape[::-1], float)
    potential.fill(2)
    assert poisson.relax(potential, np.ones(shape, order="F"), 2) == 0
    assert (values(potential) == 2).all()


def test_threads_relax_plates_at_once():
    f = np.zeros((ROWS, COLUMNS), order="F")
    plates = [plate() for _ in range(4)]
    threads = [threading.Thread(target=poisson.relax, args=(potential, f, 200)) for potential in plates]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for potential in plates:
        np.testing.assert_array_equal(values(potential), values(plates[0]))
