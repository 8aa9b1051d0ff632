"""The simulated devices themselves, as a tool for tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

import memarray
import pytest
from memarray.testing import Violation, simulated_devices


def test_simulated_devices_are_entered_once_and_queried_afterwards():
    sim = simulated_devices(count=3)
    with pytest.raises(RuntimeError, match="enter their 'with' block"):
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


def test_simulated_devices_may_be_nested():
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
def test_bad_options_are_refused(options, error):
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
    with pytest.raises(ValueError, match="0 to 3600 seconds, not -1"):
        simulated_devices.delay(-1)
    for call in (simulated_devices.fail, simulated_devices.drop):
        with pytest.raises(ValueError, match="nth counts from 1; it is 0"):
            call("cuEventRecord", 0)


@pytest.mark.parametrize(("given", "words"), [({"count": 0}, "it is 0"), ({"memory": 511}, "it is 511")])
def test_unusable_simulated_devices_are_refused(given, words):
    with pytest.raises(ValueError, match=words), simulated_devices(**given):
        pass


def test_dropped_driver_call_returns_success(simulated_devices):
    stream, event = memarray.Stream(), memarray.Event()
    simulated_devices.delay(0.05)
    simulated_devices.drop("cuEventRecord")
    event.record(stream)
    assert event.query(), "the record was lost"


def test_live_resources_name_their_creator(simulated_devices):
    stream = memarray.Stream()
    (line,) = (line for line in simulated_devices.live_resources() if line.startswith("stream"))
    assert "test_testing.py" in line and "test_live_resources_name_their_creator" in line
    del stream


TESTS = """
import unittest
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

class TestThings:
    def test_that_keeps_them_in_itself(self, simulated_devices):
        self.stream = memarray.Stream()

class TestCase(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def on_devices(self, simulated_devices):
        pass

    def setUp(self):
        self.stream = memarray.Stream()

    def test_that_is_set_up(self):
        self.stream.synchronize()
"""


def run_tests(folder, tests):
    (folder / "test_it.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "memarray.pytest_plugin", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "--strict-markers", str(folder)], capture_output=True, text=True, check=False, timeout=120
    )


def line_of(tests, words):
    """Returns the number of the one line that contains the words."""
    (number,) = (number for number, line in enumerate(tests.splitlines(), 1) if words in line)
    return number


def test_the_plugin_fails_tests_that_leave_resources(tmp_path):
    done = run_tests(tmp_path, TESTS)
    assert "1 failed, 6 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "left resources" in done.stdout and "test_it.py" in done.stdout and "test_leaves_a_stream" in done.stdout


TOUCHES = """
import ctypes, memarray, pytest
from memarray.testing import Consumer

def touched():
    array = memarray.MemArray([7], "int32")
    array.move_memory(memarray.dlpack.kDLCUDA)  # allocated here
    with array.read() as lease, Consumer().take(lease) as view:
        ctypes.string_at(view.address, 4)

def test_touches(simulated_devices):
    touched()

@pytest.mark.xfail(strict=True)
def test_is_expected_to_touch(simulated_devices):
    touched()

def test_fails_after_a_touch(simulated_devices):
    touched()
    raise KeyError("another reason")

def test_the_next_one(simulated_devices):
    assert simulated_devices.violations() == []
"""


def test_host_touch_fails_the_test_that_made_it(tmp_path):
    done = run_tests(tmp_path, TOUCHES)
    assert "2 failed, 1 passed, 1 xfailed" in done.stdout, done.stdout + done.stderr
    assert "another reason" in done.stdout
    assert "the test broke rules that every program must keep:\n  host touch" in done.stdout
    touches = re.findall(r"(?m)^.*touch.*0x.*$", done.stdout)
    where = f"test_it.py:{line_of(TOUCHES, 'allocated here')}"
    assert [line for line in touches if where in line and "int32" in line], done.stdout


def test_marker_makes_host_touch_end_the_process(tmp_path):
    tests = TOUCHES.replace(
        "def test_touches", "@pytest.mark.simulated_devices(continue_after_touch=False)\ndef test_touches"
    )
    done = run_tests(tmp_path, tests)
    assert done.returncode < 0 and "failed" not in done.stdout


FAILS = """
import memarray

def test_fails(simulated_devices):
    stream = memarray.Stream()
    address = stream.handle
    event = memarray.Event(1)
    del stream
    try:
        event.record(address)
    except memarray.CudaError:
        pass
    assert event is None

def test_fails_with_nothing(simulated_devices):
    assert simulated_devices is None
"""


def test_failure_report_lists_live_resources(tmp_path):
    done = run_tests(tmp_path, FAILS)
    assert "2 failed in" in done.stdout, done.stdout + done.stderr
    (section,) = re.findall(r"(?s)-+ simulated devices -+\n(.*?)\n(?=[_=-]{3})", done.stdout)
    assert re.search(rf"alive: event .*test_it.py:{line_of(FAILS, 'Event(1)')}", section), section
    assert "which was destroyed" in section and "alive: stream" not in section


def use_destroyed_stream():
    stream = memarray.Stream()
    address = stream.handle
    del stream
    with pytest.raises(memarray.CudaError):
        memarray.Event().record(address)


def test_violations_are_raised_at_block_exit():
    with pytest.raises(Violation, match=r"stream .* which was destroyed"):
        with simulated_devices() as sim:
            use_destroyed_stream()
            assert len(sim.violations()) == 1


def test_exception_of_block_takes_precedence_over_violations():
    with pytest.raises(KeyError):
        with simulated_devices():
            use_destroyed_stream()
            raise KeyError


@pytest.mark.parametrize("given", ["", "31"])
def test_pytest_run_prints_its_seed(given):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_element_values.py"]
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # Other plugins of this environment may refuse to run within a worker of pytest-xdist.
    settings = {**others, "MEMARRAY_SEED": given, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    folder = Path(__file__).parent
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    (said,) = re.findall(r"MEMARRAY_SEED=(\d+)", done.stdout)
    assert said == (given or said)


@pytest.mark.parametrize("file", sorted(Path(__file__).parent.glob("test_*.py")), ids=lambda file: file.stem)
def test_no_test_uses_an_unreported_seed(file):
    assert not re.search(r"\b(?<!self\.)random\.(?!Random|default_rng)\w+\(|Random\(\)|rng\(\)", file.read_text())
