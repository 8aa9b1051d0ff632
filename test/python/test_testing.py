"""The simulated devices themselves, as a tool for tests."""

import subprocess
import sys

import memarray
import pytest
from memarray.testing import Violation, simulated_devices


def test_a_block_is_entered_once_and_asked_afterwards():
    sim = simulated_devices(count=3)
    with pytest.raises(RuntimeError, match="inside their 'with' block"):
        sim.calls()
    with sim:
        assert memarray.cuda.device_count() == 3
        stream = memarray.Stream(2)
        assert sim.live()["streams"] == 1
        assert sim.calls() > 0
    assert memarray.cuda.device_count() == 0 or memarray.cuda.is_available()
    assert sim.live()["streams"] == 1, "still held"
    stream.synchronize()
    del stream
    assert sim.live() == dict.fromkeys(sim.live(), 0)
    with pytest.raises(RuntimeError, match="entered already"):
        sim.__enter__()


def test_blocks_may_be_nested():
    with simulated_devices(count=1) as outer:
        with simulated_devices(count=2) as inner:
            assert memarray.cuda.device_count() == 2
            memarray.Stream(1).synchronize()
        assert memarray.cuda.device_count() == 1
        assert outer.calls("cuStreamSynchronize") == 0
        assert inner.calls("cuStreamSynchronize") == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [({"count": 0}, ValueError), ({"memory": 0}, ValueError), ({"memory": -1}, TypeError), ({"count": "2"}, TypeError)],
)
def test_bad_options(options, error):
    with pytest.raises(error):
        simulated_devices(**options).__enter__()
    assert memarray.cuda.device_count() == 0 or memarray.cuda.is_available()


def test_injected_faults_are_counted(simulated_devices):
    simulated_devices.fail("cuEventCreate", nth=2, code=304, times=1)
    memarray.Event()
    with pytest.raises(memarray.CudaError) as caught:
        memarray.Event()
    assert caught.value.code == 304
    memarray.Event()
    assert simulated_devices.calls("cuEventCreate") == 3
    for call in (simulated_devices.fail, simulated_devices.drop, simulated_devices.calls):
        with pytest.raises(ValueError):
            call("cuNothing")
    with pytest.raises(ValueError):
        simulated_devices.drop("cuEventCreate")
    with pytest.raises(ValueError):
        simulated_devices.delay(-1)


def test_a_dropped_call_says_success(simulated_devices):
    stream, event = memarray.Stream(), memarray.Event()
    simulated_devices.delay(0.05)
    simulated_devices.drop("cuEventRecord")
    event.record(stream)
    assert event.query(), "the record was lost"


def test_live_resources_say_who_made_them(simulated_devices):
    stream = memarray.Stream()
    (line,) = (line for line in simulated_devices.live_resources() if line.startswith("stream"))
    assert "test_testing.py" in line and "test_live_resources_say_who_made_them" in line
    del stream


TESTS = """
import memarray, pytest
kept = []

def test_leaves_a_stream(simulated_devices):
    kept.append(memarray.Stream())

@pytest.mark.simulated_devices(count=5)
def test_marker(simulated_devices):
    assert memarray.cuda.device_count() == 5

def test_clean(simulated_devices):
    memarray.Stream().synchronize()

@pytest.fixture
def stream(simulated_devices):
    return memarray.Stream()

def test_with_a_fixture_of_its_own(stream):
    stream.synchronize()

def test_that_fails(simulated_devices):
    stream = memarray.Stream()
    assert stream is None
"""


def test_the_plugin_fails_tests_that_leave_resources(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "memarray.pytest_plugin", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, "--strict-markers", str(tmp_path)], capture_output=True, text=True, check=False)
    assert "1 failed, 4 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "left resources" in done.stdout and "test_it.py" in done.stdout and "test_leaves_a_stream" in done.stdout


def use_destroyed_stream():
    stream = memarray.Stream()
    address = stream.handle
    del stream
    with pytest.raises(memarray.CudaError):
        memarray.Event().record(address)


def test_violations_are_raised_at_the_end():
    with pytest.raises(Violation, match=r"stream .* which was destroyed"):
        with simulated_devices() as sim:
            use_destroyed_stream()
            assert len(sim.violations()) == 1


def test_another_exception_goes_first():
    with pytest.raises(KeyError):
        with simulated_devices():
            use_destroyed_stream()
            raise KeyError
