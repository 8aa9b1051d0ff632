"""A Cython module that uses memarray through memarray.pxd alone, compiled as C and as C++."""

import gc
import threading

import memarray
import numpy as np
import pytest
import waves_c
import waves_cpp
from memarray.testing import simulated_devices


@pytest.fixture(params=[waves_c, waves_cpp], ids=["c", "cpp"])
def waves(request):
    return request.param


def expected(length, at, height, steps, speed=0.25):
    now, before = np.zeros(length), np.zeros(length)
    now[at] = height
    for _ in range(steps):
        after = before.copy()
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + speed * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, after
    return now


def test_the_wave_is_numpys(waves):
    wave = waves.Wave(50)
    wave.pluck(25, 1.0)
    assert wave.step(30) == 30
    heights = wave.heights
    assert heights.shape == (50,) and heights.dtype == np.float64
    # Both arrays start alike but for the pluck.
    np.testing.assert_allclose(np.asarray(heights), expected(50, 25, 1.0, 30), atol=1e-12)


def test_python_and_cython_exclude_each_other(waves):
    wave = waves.Wave(10)
    with wave.heights.read() as lease:
        seen = np.asarray(lease)
        with pytest.raises(memarray.LockError, match="stepping failed: "):
            wave.step(1)
        assert waves.try_to_fill(wave.heights, 3.0) is False
    assert waves.try_to_fill(wave.heights, 3.0) is True
    assert np.asarray(wave.heights).tolist() == [3.0] * 10
    assert seen.tolist() == [0.0] * 10, "a view that outlives its lease is a snapshot"
    with pytest.raises(TypeError, match=r"a memarray\.MemArray is needed"):
        waves.try_to_fill(np.zeros(3), 1.0)


def test_heights_outlive_the_wave(waves):
    wave = waves.Wave(4)
    wave.pluck(2, 5.0)
    heights = wave.heights
    del wave
    gc.collect()
    assert np.asarray(heights).tolist() == [0, 0, 5, 0]
    with pytest.raises(ValueError, match="making a wave failed: "):
        waves.Wave(-1)


def test_threads_step_one_wave_at_once(waves):
    wave = waves.Wave(20)
    wave.pluck(10, 1.0)
    done, failed = [], []

    def work():
        try:
            done.extend(wave.step(1, timeout=30) for _ in range(50))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and sum(done) == 200
    np.testing.assert_allclose(np.asarray(wave.heights), expected(20, 10, 1.0, 200), atol=1e-9)


def test_loops_over_any_memory(waves):
    numbers = np.arange(24.0).reshape(4, 6)
    assert waves.energy(numbers) == (numbers**2).sum()
    assert waves.energy(numbers[::-2, 5:0:-3].T) == (numbers[::-2, 5:0:-3] ** 2).sum()
    assert waves.energy(numbers[2]) == (numbers[2] ** 2).sum()
    array = memarray.MemArray([3], float)
    array.fill(2)
    assert waves.energy(array) == 12
    for wrong in (np.zeros((2, 2, 2)), np.zeros(3, np.float32)):
        with pytest.raises(TypeError, match="float64 are wanted"):
            waves.energy(wrong)
    with pytest.raises(TypeError, match="got 5"):
        waves.energy(5)
    with simulated_devices():
        field = memarray.BufferView(numbers).to_device("cuda:0")
        with pytest.raises(TypeError, match="on the host"):
            waves.energy(field)
        del field


def test_views_go_both_ways(waves):
    numbers = np.arange(12.0).reshape(3, 4)
    result = waves.means(numbers[:, ::2], 0)
    assert isinstance(result, memarray.BufferView)
    assert np.asarray(result).tolist() == numbers[:, ::2].mean(axis=0).tolist()
    with pytest.raises(IndexError, match="averaging failed: "):
        waves.means(numbers, 2)


def on_host(array):
    array.move_memory(memarray.dlpack.kDLCPU, async_copy=False)
    return np.asarray(array).tolist()


def left(sim):
    """Returns the numbers of live streams and blocks of device memory after all work has completed."""
    gc.collect()
    memarray.synchronize()
    assert sim.violations() == []
    return sim.live()["streams"], sim.live()["device_memory"]


def test_streams_and_events_without_the_gil(waves):
    with simulated_devices() as sim:
        arrays = [memarray.MemArray([length], float) for length in (100, 1, 7)]
        sim.delay(0.01)
        waves.fill_on_device(arrays, 1, 7.0)
        assert {str(array.device) for array in arrays} == {"cuda:1"}
        assert (sim.calls("cuStreamCreateWithPriority"), sim.calls("cuEventSynchronize")) == (3, 3)
        assert not any("cuStreamWaitEvent" in wait for wait in sim.waits()), "no stream waits for another"
        assert [on_host(array) for array in arrays] == [[7.0] * 100, [7.0], [7.0] * 7]
        with pytest.raises(memarray.CudaError, match="filling on a device failed: "):
            waves.fill_on_device(arrays, 5, 1.0)
        waves.fill_on_device([], 1, 1.0)
        del arrays
        assert left(sim) == (0, 0)


def test_all_streams_have_work_before_the_first_is_waited_for(waves):
    with simulated_devices() as sim:
        arrays = [memarray.MemArray([10], float) for _ in range(3)]
        sim.fail("cuEventSynchronize")
        with pytest.raises(memarray.CudaError, match="filling on a device failed: "):
            waves.fill_on_device(arrays, 0, 1.0)
        assert (sim.calls("cuStreamCreateWithPriority"), sim.calls("cuEventSynchronize")) == (3, 1)
        sim.clear()
        assert [on_host(array) for array in arrays] == [[1.0] * 10] * 3
        with pytest.raises(memarray.LockError, match="filling on a device failed: "):
            waves.fill_on_device([arrays[0], arrays[0]], 0, 2.0)
        arrays[0].fill(0)  # no lease holds it
        del arrays
        assert left(sim) == (0, 0)


def test_pointers_stay_good(waves):
    view = memarray.BufferView(np.arange(10.0))
    assert waves.count("grö" + "ßer", view, 6.5) == "größer: 3"
    with pytest.raises(TypeError):
        waves.count(5, view, 1)
    with pytest.raises(BufferError, match="not dense"):
        waves.count("text", memarray.BufferView(np.arange(10.0)[::2]), 1)
