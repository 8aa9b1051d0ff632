"""Arrays on devices: coherence, moves, placement and refusals, on simulated devices."""

import memarray
import numpy as np
import pytest
from dlpack_structs import struct_of
from dtype_values import assert_same_values
from memarray.dlpack import kDLCPU, kDLCUDA
from support import filled, index_sums, look, numpy_dtype, pattern

REPRESENTATIVE = [("float32", 3), ("bool", 1), ("complex128", 2), ("bfloat16", 4), ("int8", 6)]


def on_host(array):
    """Returns a private copy of the contents, so that the array stays in its place."""
    return look(array.copy()) if array.device.type == "cpu" else _fetched(array.copy())


def _fetched(array):
    array.move_memory(kDLCPU)
    return look(array)


@pytest.mark.parametrize(("name", "ndim"), REPRESENTATIVE)
def test_device_results_match_host_results(device, name, ndim):
    shape = (4, 3, 2, 5, 1, 3)[:ndim]
    array, values = filled(shape, name)
    array.move_memory(kDLCUDA)
    assert str(array.device) == "cuda:0"
    array.add_index_tuple()
    values = (values.astype(numpy_dtype(name)) + index_sums(shape, name)).astype(numpy_dtype(name))
    assert_same_values(on_host(array), values)  # each processor has its own bits for NaN
    array.fill(name == "bool" or 1)
    array.add_index_tuple()
    assert str(array.device) == "cuda:0"
    expected = (np.ones(shape, numpy_dtype(name)) + index_sums(shape, name)).astype(numpy_dtype(name))
    array.move_memory(kDLCPU)
    assert str(array.device) == "cpu"
    assert look(array).tobytes() == expected.tobytes()


def test_move_to_valid_side_makes_no_copy_and_no_driver_call(simulated_devices, copies):
    array, _ = filled((5, 4))
    array.move_memory(kDLCUDA)
    assert copies() == 1
    calls = simulated_devices.calls()
    array.move_memory(kDLCPU)
    array.move_memory(kDLCUDA)
    array.move_memory(kDLCPU)
    assert copies() == 0
    assert simulated_devices.calls() == calls
    array.fill(2)  # the device's side is now stale
    array.move_memory(kDLCUDA)
    assert copies() == 1
    array.add_index_tuple()
    array.move_memory(kDLCPU)
    assert copies() == 1
    assert_same_values(look(array), np.full((5, 4), 2.0) + index_sums((5, 4), "float64"))


@pytest.mark.parametrize("peer_access", [True, False])
def test_moves_between_devices_preserve_contents(peer_access):
    with memarray.testing.simulated_devices(2, peer_access=peer_access) as sim:
        array, values = filled((300, 7), "int32")
        array.move_memory(kDLCUDA, device_id=0)
        array.add_index_tuple()
        array.move_memory(kDLCUDA, device_id=1, stream=memarray.Stream(1), async_copy=True)
        assert str(array.device) == "cuda:1"
        array.add_index_tuple(stream=memarray.Stream(1))
        array.move_memory(kDLCUDA, device_id=0)
        array.move_memory(kDLCPU)
        assert_same_values(look(array), values + 2 * index_sums((300, 7), "int32"))
        assert (sim.calls("cuMemcpyPeerAsync") > 0) == peer_access
        del array
    assert not any(sim.live().values())


def test_large_moves_are_split_into_chunks(simulated_devices):
    array, values = filled((3, 1 << 21), "float64")  # three times the size of the pinned staging memory
    array.move_memory(kDLCUDA, async_copy=True)
    array.add_index_tuple()
    array.move_memory(kDLCPU, async_copy=True)
    assert_same_values(look(array), values + index_sums(values.shape, "float64"))
    assert simulated_devices.calls("cuMemcpyHtoDAsync") == 3
    assert simulated_devices.calls("cuMemcpyDtoHAsync") == 3


def test_work_on_several_streams_is_ordered(device):
    streams = [memarray.Stream(), memarray.Stream(nonblocking=False), None]
    array, values = filled((50, 3), "int64")
    array.move_memory(kDLCUDA, async_copy=True, stream=streams[0])
    device.delay(0.002)
    for step in range(9):
        array.add_index_tuple(stream=streams[step % 3])
    device.delay(0)
    array.move_memory(kDLCPU)
    assert_same_values(look(array), values + 9 * index_sums((50, 3), "int64"))


@pytest.mark.trap("T09")
def test_synchronous_move_is_complete_when_it_returns(simulated_devices):
    array, values = filled((50, 3))
    stream = memarray.Stream()
    simulated_devices.delay(0.01)
    array.move_memory(kDLCUDA, stream=stream, async_copy=False)
    array.add_index_tuple(stream=stream)
    array.move_memory(kDLCPU, stream=stream, async_copy=False)
    waits = memarray.stats()["waits"]
    assert_same_values(look(array), values + index_sums((50, 3), "float64"))
    assert memarray.stats()["waits"] == waits  # no work was pending


def test_switching_streams_inserts_one_wait(simulated_devices):
    first, second = memarray.Stream(), memarray.Stream()
    array, _ = filled((8,))
    array.move_memory(kDLCUDA)
    array.add_index_tuple(stream=first)
    waits = simulated_devices.calls("cuStreamWaitEvent")
    records = simulated_devices.calls("cuEventRecord")
    array.add_index_tuple(stream=first)
    assert simulated_devices.calls("cuStreamWaitEvent") == waits
    array.add_index_tuple(stream=second)
    assert simulated_devices.calls("cuStreamWaitEvent") == waits + 1
    assert simulated_devices.calls("cuEventRecord") == records + 2


def test_live_device_memory_names_its_array_and_call_site(simulated_devices):
    array, _ = filled((8, 2), "float32")
    array.move_memory(kDLCUDA)
    (shown,) = [line for line in simulated_devices.live_resources() if line.startswith("device memory")]
    assert "MemArray<float32, 2> of shape (8, 2)" in shown
    assert "test_devices.py" in shown


def test_numpy_is_refused_device_memory_with_guidance(simulated_devices):
    array, _ = filled((3,))
    array.move_memory(kDLCUDA)
    for attempt in (np.from_dlpack, np.asarray, memoryview):
        with (
            array.write() as lease,
            pytest.raises((BufferError, RuntimeError), match=r"move_memory|unsupported|device"),
        ):
            attempt(lease)
    with pytest.raises(BufferError, match=r"move_memory\(kDLCPU\)"):
        np.asarray(array)
    with array.read() as lease:
        assert not hasattr(lease, "__array_interface__")
        assert not hasattr(lease, "__cuda_array_interface__")
        assert lease.__dlpack_device__() == (12, 0)  # an extension device


@pytest.mark.trap("T11")
def test_device_memory_can_be_exported_as_cuda():
    with memarray.testing.simulated_devices(lend_as_cuda=True):
        array, _ = filled((3, 2), "int16")
        stream = memarray.Stream()
        array.move_memory(kDLCUDA)
        with array.write(stream=stream) as lease:
            assert lease.__dlpack_device__() == (kDLCUDA, 0)
            interface = lease.__cuda_array_interface__
            assert interface["version"] == 3
            assert interface["stream"] == stream.handle
            assert interface["shape"] == (3, 2)
            address, read_only = interface["data"]
            assert read_only is False
            assert address > 2**32  # does not fit in an int
            capsule = lease.__dlpack__(max_version=(1, 0))
            assert address == struct_of(capsule).tensor.data
            del capsule
        with array.read() as lease:
            assert lease.__cuda_array_interface__["stream"] == 1
            assert lease.__cuda_array_interface__["data"][1] is True
        del lease


@pytest.mark.parametrize("stream", [None, -1, 1, 2])
def test_export_accepts_only_valid_consumer_streams(simulated_devices, stream):
    array, _ = filled((3,))
    array.move_memory(kDLCUDA)
    elsewhere = memarray.Stream(1)
    with array.write() as lease:
        lease.__dlpack__(stream=stream, max_version=(1, 0))
        with pytest.raises(ValueError, match="pass 1"):
            lease.__dlpack__(stream=0)
        with pytest.raises(BufferError, match="move_memory"):
            lease.__dlpack__(dl_device=(kDLCPU, 0))
        with pytest.raises(ValueError, match="cuda:1"):
            lease.__dlpack__(stream=elsewhere.handle)


def test_numpy_can_request_host_copy_of_device_memory(device):
    array, values = filled((3, 4))
    array.move_memory(kDLCUDA)
    with array.read() as lease:
        x = np.from_dlpack(_OnHost(lease))
    array.fill(0)
    assert_same_values(x, values)


class _OnHost:
    """A request for a copy on the CPU, like ``from_dlpack(x, device="cpu", copy=True)``."""

    def __init__(self, lease):
        self.lease = lease

    def __dlpack_device__(self):
        return (kDLCPU, 0)

    def __dlpack__(self, **_):
        return self.lease.__dlpack__(max_version=(1, 0), dl_device=(kDLCPU, 0), copy=True)


def test_leases_move_array_to_requested_device(simulated_devices):
    array, values = filled((4, 2))
    with array.write("cuda:1") as lease:
        assert str(array.device) == "cuda:1"
        assert lease.__dlpack_device__() == (12, 1)
    with array.read("cpu") as lease:
        assert_same_values(np.asarray(lease), values)
    with array.read("cuda:1") as lease:
        assert lease.__dlpack_device__() == (12, 1)
        # The host's side stays valid, and other readers are admitted there.
        with array.read("cpu") as other:
            assert_same_values(np.asarray(other), values)
    with array.read("cpu"), pytest.raises(memarray.LockError):
        array.write("cuda:0").__enter__()


def test_read_numpy_array_writes_the_hosts_side(device, copies):
    array, _ = filled((4, 2))
    array.move_memory(kDLCUDA)
    copies()
    array.read_numpy_array(pattern((4, 2), start=3))
    assert copies() == 0
    assert str(array.device) == "cpu"
    assert_same_values(look(array), pattern((4, 2), start=3))


@pytest.mark.parametrize("async_copy", [True, False])
def test_escaped_views_on_devices_are_snapshots(device, async_copy, copies):
    array, values = filled((6, 2))
    array.move_memory(kDLCUDA, async_copy=async_copy)
    kept = array.__dlpack__(max_version=(1, 0))
    memarray.cuda.synchronize(0)  # an asynchronous copy uses pinned memory until it completes
    copies()
    blocks = memarray.stats()["live_blocks"]
    array.add_index_tuple()  # continues in fresh memory, in one pass
    assert copies() == 0
    assert memarray.stats()["live_blocks"] == blocks + 1
    del kept
    array.move_memory(kDLCPU)
    assert_same_values(look(array), values + index_sums((6, 2), "float64"))


def test_out_of_memory_leaves_array_on_host():
    with memarray.testing.simulated_devices(1, memory=1 << 20) as sim:
        array, values = filled((1 << 18,))
        with pytest.raises(memarray.OutOfMemoryError, match=r"2097152 bytes"):
            array.move_memory(kDLCUDA)
        assert str(array.device) == "cpu"
        assert_same_values(look(array), values)
        del array
    assert not any(sim.live().values())


def test_an_array_outlives_its_devices():
    with memarray.testing.simulated_devices(1) as sim:
        array, values = filled((5,))
        array.move_memory(kDLCUDA)
        array.add_index_tuple()
    live = sim.live()
    assert live["device_memory"] == 1
    assert live["pinned_memory"] == live["streams"] == 0
    array.move_memory(kDLCPU)
    assert_same_values(look(array), values + index_sums((5,), "float64"))
    del array
    assert not any(sim.live().values())


def test_copies_are_reported_with_bytes_direction_and_line(simulated_devices, caplog):
    array, _ = filled((10, 8), "int16")
    before = memarray.stats()
    with caplog.at_level("INFO", "memarray"):
        array.move_memory(kDLCUDA)
        array.move_memory(kDLCUDA, device_id=1)
        array.add_index_tuple()
        with array.read("cpu"):
            pass
    after = memarray.stats()
    copies = [record for record in caplog.records if record.name == "memarray.copies"]
    assert [record.getMessage().split("went ")[1] for record in copies] == [
        "from cpu to cuda:0",
        "from cuda:0 to cuda:1",
        "from cuda:1 to cpu",
    ]
    assert all("160" in record.getMessage() and record.pathname == __file__ for record in copies)
    assert len({record.lineno for record in copies}) == 3
    assert {key: after[key] - before[key] for key in after if key.endswith(("_bytes", "copies", "waits"))} | {
        "live_bytes": 0,
        "pool_bytes": 0,
    } == {
        "copies": 3,
        "copied_bytes": 480,
        "to_device_bytes": 160,
        "between_devices_bytes": 160,
        "to_host_bytes": 160,
        "waits": 1,
        "live_bytes": 0,
        "pool_bytes": 0,
    }


def test_device_queries_report_memory_and_refuse_bad_ids(simulated_devices):
    assert memarray.cuda.is_available()
    assert memarray.cuda.device_count() == 2
    assert memarray.cuda.device_name(1)
    free, total = memarray.cuda.memory_info(1)
    assert 0 < free <= total
    array, _ = filled((1000,))
    array.move_memory(kDLCUDA, device_id=1)
    assert memarray.cuda.pool_stats(1)["used_bytes"] >= 8000
    memarray.cuda.synchronize(1)
    del array
    memarray.cuda.trim(1)
    assert memarray.cuda.pool_stats(1)["used_bytes"] == 0
    assert simulated_devices.live()["pinned_memory"] == 0
    for ask in (memarray.cuda.device_name, memarray.cuda.memory_info, memarray.cuda.trim, memarray.cuda.synchronize):
        with pytest.raises(memarray.CudaError, match="cuda:2"):
            ask(2)
        with pytest.raises(ValueError, match="start at 0"):
            ask(-1)
