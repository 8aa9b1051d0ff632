"""The same kernels on the host, on simulated devices and on a real one, whichever compiler made them."""

import heat
import memarray
import numpy as np
import pytest
from memarray.testing import simulated_devices

SHAPE = (37, 52)


def contents(array):
    with array.read(device="cpu") as lease:
        return np.array(lease, copy=True)


class InNumPy:
    """The kernels in NumPy, with the same order of operations."""

    def __init__(self):
        self.temperature = sum(np.indices(SHAPE)).astype(np.float64)
        self.lost = np.zeros(SHAPE, np.float32)
        self.counts = np.zeros(SHAPE[0], np.int64)

    def spread(self, rate):
        t = np.pad(self.temperature, 1)
        around = ((t[:-2, 1:-1] + t[2:, 1:-1]) + t[1:-1, :-2]) + t[1:-1, 2:]
        self.temperature = self.temperature + rate * (around - 4 * self.temperature)

    def count_above(self, limit):
        self.counts += (self.temperature > limit).sum(axis=1)

    def cool(self, factor):
        before = self.temperature
        self.temperature = before * factor
        self.lost += (before - self.temperature).astype(np.float32)

    def heat(self, first, by):
        self.temperature[first:] += by


def run(plate):
    for step in range(6):
        plate.spread(0.2)
        plate.count_above(30.5)
        plate.cool(0.75)
        plate.heat(step * 5, 1.5)


def expect_as_in_numpy(plate, exactly=True):
    expected = InNumPy()
    run(expected)
    same = np.testing.assert_array_equal if exactly else lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-6)
    same(contents(plate.temperature), expected.temperature)
    same(contents(plate.lost), expected.lost)
    np.testing.assert_array_equal(contents(plate.counts), expected.counts)


def test_kernels_match_numpy_on_the_host():
    plate = heat.Plate(*SHAPE)
    run(plate)
    assert plate.total() == pytest.approx(contents(plate.temperature).sum(), rel=1e-12)
    expect_as_in_numpy(plate)


@pytest.mark.parametrize("delay", [0, 0.002])
def test_kernels_match_numpy_on_simulated_device(delay):
    copies = memarray.stats()["copies"]
    with simulated_devices(2) as sim:
        plate = heat.Plate(*SHAPE)
        plate.move(1)
        moved = memarray.stats()["copies"] - copies
        sim.delay(delay)
        run(plate)
        sim.delay(0)
        assert str(plate.temperature.device) == "cuda:1"
        assert memarray.stats()["copies"] - copies == moved <= 4
        assert any(wait.startswith("cuStreamWaitEvent") for wait in sim.waits()), "two streams take turns"
        total = plate.total()
        expect_as_in_numpy(plate)
        plate.move(-1)
        assert plate.total() == total
        del plate
    assert not any(sim.live().values())


def test_escaped_view_keeps_values_on_simulated_device():
    with simulated_devices(1):
        plate = heat.Plate(*SHAPE)
        plate.move(0)
        with plate.temperature.read(device="cpu") as lease:
            kept = np.from_dlpack(lease)
        before = kept.copy()
        plate.move(0)
        run(plate)
        np.testing.assert_array_equal(kept, before)
        expect_as_in_numpy(plate)
        del plate


def test_kernel_compiled_as_cpp_runs_on_simulated_device():
    with simulated_devices(1):
        plate = heat.Plate(*SHAPE)
        plate.move(0)
        plate.double()
        np.testing.assert_array_equal(contents(plate.temperature), 2 * sum(np.indices(SHAPE)))
        del plate


def test_kernel_with_arrays_on_host_and_device_is_refused():
    with simulated_devices(1):
        plate = heat.Plate(*SHAPE)
        plate.move(0)
        plate.lost.move_memory(memarray.dlpack.kDLCPU)
        with pytest.raises(memarray.Error, match=r"cuda:0.*cpu.*move_memory"):
            plate.cool(0.5)
        del plate


def test_move_to_missing_device_is_refused():
    if memarray.cuda.is_available():
        pytest.skip("there is one")
    plate = heat.Plate(2, 2)
    with pytest.raises(memarray.CudaError, match="moving the plate") as refused:
        plate.move(0)
    assert refused.value.code == 100  # CUDA_ERROR_NO_DEVICE
    plate.cool(0.5)
    assert plate.total() == 2.0


@pytest.mark.skipif(not memarray.cuda.is_available(), reason="no CUDA device on this machine")
def test_kernels_match_numpy_on_real_device():
    plate = heat.Plate(*SHAPE)
    plate.move(0)
    if not plate.is_compiled_by_nvcc():
        with pytest.raises(memarray.CudaError, match="nvcc"):
            plate.cool(0.5)
        return
    run(plate)
    expect_as_in_numpy(plate, exactly=False)  # a device fuses multiplications and additions
    plate.move(0)
    with pytest.raises(memarray.CudaError, match="nvcc"):
        plate.double()


def test_kernel_file_computes_with_complex_numbers():
    waves = memarray.MemArray.from_numpy(np.array([1j, 2, 3 - 1j]))
    x = np.array([1j, 2, 3 - 1j]) + np.arange(3)
    assert heat.total_of_sums(waves) == x.sum() + np.concatenate([[0], np.cumsum(x)[:-1]]).sum()


def forms_in_numpy(n):
    mass, speed = np.arange(n) % 7.0, np.arange(n, dtype="f8")
    found = [(mass * speed).sum()]
    speed[1:] += 3 * mass[1:]
    found += [max(0.0, speed.max()), mass.max() / 2, max(0.0, speed.max())]
    every_second = speed[::-2]
    every_second[:] = mass[: len(every_second)] - every_second
    keys = mass.astype("i4")
    found += [speed.sum(), keys.sum(), speed[-1], keys.sum() + 5]
    order = np.argsort(keys, kind="stable")
    return [*found, keys[order].argmax(), mass @ speed[order]]


@pytest.mark.parametrize("n", [1, 2, 7, 1000, 100_003])
def test_each_form_of_kernels_matches_numpy(n):
    assert heat.use_each_form(n, -1) == forms_in_numpy(n)


def test_each_form_of_kernels_matches_numpy_on_simulated_device():
    with simulated_devices():
        assert heat.use_each_form(1000, 0) == forms_in_numpy(1000)


@pytest.mark.skipif(not memarray.cuda.is_available(), reason="no CUDA device on this machine")
def test_each_form_of_kernels_matches_numpy_on_real_device():
    if not heat.Plate(2, 2).is_compiled_by_nvcc():
        pytest.skip("compiled for the host alone")
    np.testing.assert_allclose(heat.use_each_form(100_003, 0), forms_in_numpy(100_003), rtol=1e-12)


def planes_in_numpy(rows, columns):
    i, j = np.indices((rows, columns))
    heights = ((7 * i + 3 * j) % 11).astype("f8")
    inside = np.s_[1:-1, 1:-1]
    heights[inside] += (i + 2 * j)[inside]

    def totals(plane, part=np.s_[:, :]):
        return [plane[part].sum(), (plane * (i + 10 * j))[part].sum()]

    def place(plane, find=np.argmin):
        return list(np.unravel_index(find(plane), plane.shape))

    later = np.s_[1:, 2:]
    found = [rows * columns, *totals(heights), (rows - 1) * (columns - 2), *totals(heights, later)]
    found += [heights[inside].min(), 5 + heights.sum()]
    found += [heights.min(), heights.min(), heights.max(), heights.min()]
    found += [0, 0, *place(heights, np.argmax)]
    for limit in (0, heights.max(), heights.max() + 1):
        found += [(heights < limit).all(), (heights[inside] < limit).any()]
    turned = heights[:, ::-1]
    back = heights.copy()
    back[1:] = turned[1:, ::-1]
    for plane in (turned, back):
        found += [*totals(plane), place(plane)[1]]
    return found


@pytest.mark.parametrize("shape", [(3, 3), (4, 70), (301, 257)])
def test_forms_of_planes_match_numpy(shape):
    assert heat.use_forms_of_planes(*shape, -1) == planes_in_numpy(*shape)


def test_forms_of_planes_match_numpy_on_simulated_device():
    with simulated_devices():
        assert heat.use_forms_of_planes(40, 33, 0) == planes_in_numpy(40, 33)


@pytest.mark.skipif(not memarray.cuda.is_available(), reason="no CUDA device on this machine")
def test_forms_of_planes_match_numpy_on_real_device():
    if not heat.Plate(2, 2).is_compiled_by_nvcc():
        pytest.skip("compiled for the host alone")
    assert heat.use_forms_of_planes(301, 257, 0) == planes_in_numpy(301, 257)


def volumes_in_numpy():
    def checksum(a):
        return (a * (1 + np.arange(a.size).reshape(a.shape) % 97)).sum()

    def weighed(a):
        return a * (1 + np.arange(a.size).reshape(a.shape) % 97)

    i, j, k = np.indices((4, 5, 6)).astype("f8")
    cube = 7 * i + 3 * j + k - 20
    other = np.zeros((4, 5, 6))
    line = (3 * np.arange(50.0) + 5) % 17
    block = np.stack([cube, cube + 100, cube + 200])
    found = [checksum(cube), checksum(line), checksum(block)]

    inside, part = np.s_[1:-1, 1:-1, 1:-1], np.s_[1:3, 0:4, 2:4, 1:5]
    cube[inside] += (i + 10 * j + 100 * k)[inside]
    first, _, _, last = np.indices(block.shape)
    block[part] += (first * last)[part]
    found += [checksum(cube), checksum(block), 1 + weighed(cube)[inside].sum()]
    found += [max(0, weighed(block)[part].max()), min(1e9, weighed(block)[part].min())]

    block[:, 1:4] = (cube * np.arange(1, 4).reshape(3, 1, 1, 1))[:, 1:4]
    line = 2 * line + 50
    found += [checksum(block), checksum(line)]

    cube += k
    strided = cube[:, ::-2]
    strided += k[:, :3]
    other[:, :3] = strided[:, ::-1]
    other += 2 * cube
    found += [(strided * (1 + i + 2 * j + 3 * k)[:, :3]).sum(), checksum(cube), checksum(other)]

    layers = 3 * line * np.arange(50)
    layers += np.resize([0, 0, 9, 0, 0, 0], 50)  # 3 × 3, in the last plane
    found += [layers.sum(), layers[7:31].sum()]

    line = (3 * np.arange(50.0) + 5) % 17
    found += [checksum(np.maximum.accumulate(line)), checksum(np.full(50, line[0]))]
    before = np.maximum.accumulate(np.concatenate([[-5], line]))
    found += [before[-1], checksum(before[:-1])]
    before = np.cumsum(np.concatenate([[0], line]))
    found += [before[-1], checksum(before[:-1]), checksum(np.cumsum(cube).reshape(cube.shape))]

    keys = np.arange(50) * 7 % 10 - 4.5
    order = np.argsort(keys, kind="stable")
    found += [checksum(np.arange(150.0).reshape(50, 3)[order]), keys.min(), keys[order].argmax()]
    for low, high in zip(
        np.unravel_index(block.argmin(), block.shape), np.unravel_index(block.argmax(), block.shape), strict=True
    ):
        found += [low, high]
    found += [block.min(), block.max(), cube.min(), cube.max(), (cube * cube).sum()]
    return [*found, max(cube.flat, key=abs), 4 + block.sum()]


def test_forms_of_volumes_match_numpy():
    assert heat.use_forms_of_volumes(-1) == volumes_in_numpy()


def test_forms_of_volumes_match_numpy_on_simulated_device():
    with simulated_devices():
        assert heat.use_forms_of_volumes(0) == volumes_in_numpy()


@pytest.mark.skipif(not memarray.cuda.is_available(), reason="no CUDA device on this machine")
def test_forms_of_volumes_match_numpy_on_real_device():
    if not heat.Plate(2, 2).is_compiled_by_nvcc():
        pytest.skip("compiled for the host alone")
    assert heat.use_forms_of_volumes(0) == volumes_in_numpy()
