"""Kernels, copies and consumers on a real GPU, and on simulated devices with smaller sizes."""

import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer
from support import DTYPES, RANKS, filled, index_sums, look, no_gpu, numpy_dtype, pattern, small_numbers

SHAPES = {1: (1003,), 2: (37, 16), 3: (5, 7, 13), 4: (3, 2, 5, 8), 5: (2, 3, 1, 5, 4), 6: (2, 1, 3, 2, 2, 7)}
REPRESENTATIVE = [("float32", 3), ("int8", 2), ("bfloat16", 1), ("complex128", 4), ("bool", 2), ("uint64", 6)]
EVERY = [(name, ndim) for name in DTYPES for ndim in RANKS]


def fetched(array):
    array.move_memory(kDLCPU)
    return look(array)


def expect_index_sums_added(shape, name):
    array, values = filled(shape, name, values_of=small_numbers)
    array.move_memory(kDLCUDA)
    with array.read() as lease:
        kept = lease.__dlpack__(stream=1, max_version=(1, 0))  # the next version is written from here to fresh memory
    array.add_index_tuple()
    del kept
    array.add_index_tuple()  # in place
    dtype = numpy_dtype(name)
    once = (values.astype(dtype) + index_sums(shape, name)).astype(dtype)
    assert fetched(array).tobytes() == (once + index_sums(shape, name)).astype(dtype).tobytes()


@pytest.mark.parametrize(("name", "ndim"), REPRESENTATIVE)
def test_add_index_tuple_matches_numpy(device, name, ndim):
    expect_index_sums_added(SHAPES[ndim], name)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "ndim"), EVERY)
def test_add_index_tuple_matches_numpy_for_every_dtype_and_rank(device, name, ndim):
    expect_index_sums_added(SHAPES[ndim], name)


@pytest.mark.parametrize("shape", [(1,), (31,), (4097,), (64, 3), (128, 4096), (3, 1 << 18)])
def test_add_index_tuple_handles_small_and_large_sizes(device, shape):
    if not device.simulated:
        shape = (*shape[:-1], shape[-1] * 64 + 1)  # with a tail after the last whole vector
    expect_index_sums_added(shape, "float32")


@pytest.mark.parametrize("async_copy", [False, True])
@pytest.mark.parametrize("size", [1, 1000, (1 << 22) + 3])
def test_repeated_moves_preserve_contents(device, size, async_copy):
    array, values = filled((size,), "float32")
    stream = memarray.Stream()
    for _ in range(3):
        array.move_memory(kDLCUDA, stream=stream, async_copy=async_copy)
        array.add_index_tuple(stream=stream)
        array.move_memory(kDLCPU, stream=stream, async_copy=async_copy)
        values = values + np.arange(size, dtype="float32")
        assert_same_values(look(array), values)
        array.fill(0)
        array.read_numpy_array(values)


@pytest.mark.parametrize("name", ["int8", "float64", "complex64"])
def test_fill_sets_every_element_on_device(device, name):
    array, _ = filled((1000, 7), name)
    array.move_memory(kDLCUDA)
    array.fill(5)
    assert str(array.device) == "cuda:0"
    assert_same_values(fetched(array), np.full((1000, 7), 5, name))


def test_timing_events_measure_elapsed_time(device):
    stream = memarray.Stream()
    first, last = memarray.Event(timing=True), memarray.Event(timing=True)
    array, _ = filled((1000,))
    array.move_memory(kDLCUDA)
    stream.record(first)
    array.add_index_tuple(stream=stream)
    stream.record(last)
    last.synchronize()
    assert 0 <= first.elapsed(last) < 60_000


def test_move_to_missing_device_is_refused(device):
    with pytest.raises(memarray.CudaError):
        filled((3,))[0].move_memory(kDLCUDA, device_id=77)


class InTorch:
    """A reader on PyTorch's own stream; on simulated devices, a `memarray.testing.Consumer`."""

    def __init__(self, device):
        self.torch = None if device.simulated else pytest.importorskip("torch", reason="PyTorch is not installed")
        if self.torch and not self.torch.cuda.is_available():
            pytest.skip("this PyTorch was built without CUDA")
        self.stream = self.torch.cuda.Stream() if self.torch else None
        self.consumer = Consumer() if device.simulated else None

    def read_later(self, lease):
        """Returns a function that gives the contents at this point of the stream's order."""
        if self.consumer:
            with self.consumer.take(lease) as view:
                return view.read().result
        with self.torch.cuda.stream(self.stream):
            copied = self.torch.from_dlpack(lease).clone()

        def read():
            with self.torch.cuda.stream(self.stream):  # the default stream does not wait for this one
                return copied.cpu().numpy()

        return read

    def add_one(self, lease):
        if self.consumer:
            with self.consumer.take(lease) as view:
                view.add(1)
            return
        with self.torch.cuda.stream(self.stream):
            self.torch.from_dlpack(lease).add_(1)


class InCuPy:
    def __init__(self, device):
        if device.simulated:
            pytest.skip("CuPy takes memory of real devices only; the rounds of the test above are the same")
        self.cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
        self.stream = self.cupy.cuda.Stream(non_blocking=True)

    def read_later(self, lease):
        with self.stream:
            copied = self.cupy.from_dlpack(lease).copy()
        return lambda: copied.get(stream=self.stream)

    def add_one(self, lease):
        with self.stream:
            view = self.cupy.from_dlpack(lease)
            view += 1


@pytest.fixture(params=[InTorch, InCuPy])
def consumer(request, device):
    """Yields the consumer. Its import of a library is over before the test makes arrays."""
    return request.param(device)


def test_consumers_on_own_streams_never_see_stale_data(device, consumer):
    """Runs kernels of memarray, and reads and writes of the peer; only the device waits."""
    rounds = 30 if device.simulated else 10_000
    size = 1000 if device.simulated else 1 << 20
    array, values = filled((size,), "float32", values_of=small_numbers)
    values = values.astype("float64")
    ramp = np.arange(size)
    array.move_memory(kDLCUDA)
    streams = [memarray.Stream(), memarray.Stream()]
    device.delay(0.001)
    for i in range(rounds):
        array.add_index_tuple(stream=streams[i % 2])
        values += ramp
        with array.read(stream=streams[i % 2]) as lease:
            seen = consumer.read_later(lease)
        with array.write(stream=streams[(i // 2) % 2]) as lease:
            consumer.add_one(lease)
        expected = values.astype("float32")
        values += 1
        assert np.array_equal(seen(), expected), f"round {i}"
        if i % 8 == 7:  # before floats round
            array.fill(0)
            values[:] = 0
    device.delay(0)
    assert np.array_equal(fetched(array), values.astype("float32"))


@pytest.fixture
def gpu():
    if reason := no_gpu():
        pytest.skip(reason)


@pytest.mark.gpu
def test_demo_energy_agrees_on_gpu_and_host(gpu, tmp_path):
    """The numbers agree only for a short time: a device fuses operations, and the motion is chaotic."""
    import json

    demo = pytest.importorskip("memarray.lennard_jones.demo", reason="built without the demo")
    results = []
    for place in ("cpu", "cuda"):
        assert demo.main(["--cells", "4", "--steps", "40", "--device", place, "--out", str(tmp_path / place)]) == 0
        results.append(json.loads((tmp_path / place / "summary.json").read_text()))
    on_host, on_device = results
    assert on_device["device"] == "cuda:0"
    assert on_device["energy_per_particle"] == pytest.approx(on_host["energy_per_particle"], rel=1e-6)


CHECKED = """
import numpy as np, memarray
for shape in [(1003,), (64, 3), (512, 4096)]:
    array = memarray.MemArray.from_numpy(np.zeros(shape, "float32"))
    array.move_memory(memarray.dlpack.kDLCUDA, async_copy=True)
    for stream in (memarray.Stream(), memarray.Stream()):
        array.add_index_tuple(stream=stream)
    array.move_memory(memarray.dlpack.kDLCPU)
    assert np.array_equal(np.asarray(array), 2 * sum(np.indices(shape)))
"""


@pytest.mark.gpu
@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
def test_compute_sanitizer_finds_nothing(gpu, tool):
    sanitizer = shutil.which("compute-sanitizer")
    if not sanitizer:
        pytest.skip("compute-sanitizer is not on the PATH")
    command = [sanitizer, "--tool", tool, "--error-exitcode", "9", sys.executable, "-c", CHECKED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_for_compute_sanitizer_runs(device):
    exec(compile(CHECKED, "checked", "exec"), {})


def test_numpy_values_survive_device_round_trip(device):
    values = pattern((33, 5), "float64")
    array = memarray.MemArray.from_numpy(values)
    array.move_memory(kDLCUDA)
    assert_same_values(fetched(array), values)


@pytest.mark.parametrize("row", ["small-arrays", pytest.param("", marks=pytest.mark.slow)])
def test_gpu_benchmark_runs_on_simulated_devices(row):
    pytest.importorskip("pybind11", reason="pybind11, which its native part is built with, is not installed")
    root = Path(__file__).resolve().parents[2]
    # Kept, because its native part compiles slowly; each memarray has a folder of its own.
    out = root / "build" / "bench" / f"gpu-{zlib.crc32(memarray._core.__file__.encode()):08x}"
    command = [sys.executable, root / "bench" / "gpu.py", "--simulated", "--out", out, *(["--row", row] if row else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "comparisons, simulated: the figures mean nothing" in done.stdout
