"""Leases that arguments on a device hold, for the call and in views that C++ keeps."""

import gc

import arguments
import memarray
import pytest
from test_kept import DROPS


@pytest.fixture
def sim():
    with memarray.testing.simulated_devices(count=2) as devices:
        yield devices


@pytest.fixture
def there(sim):
    """On cuda:0."""
    a = memarray.MemArray([4])
    a.fill(1)
    a.move_memory(memarray.dlpack.kDLCUDA)
    yield a
    arguments.drop()


def is_free_there(a):
    with a.write(device="cuda:0"):
        pass
    return a.lock_id == -1 and str(a.device) == "cuda:0"


def test_device_read_argument_holds_read_lease_during_call(there):
    tried = []

    def write():
        with pytest.raises(memarray.LockError, match="leased for reading by 1 lease"):
            arguments.fill_on_device(there, 2)
        with pytest.raises(memarray.LockError, match="leased for reading by 1 lease"):
            there.write(device="cuda:0").__enter__()
        with there.read(device="cuda:0"):
            tried.append(arguments.read_on_device_and_call(there, lambda: None))

    assert arguments.read_on_device_and_call(there, write) == 4
    assert tried == [4]
    with pytest.raises(ZeroDivisionError):
        arguments.read_on_device_and_call(there, lambda: 1 / 0)
    assert is_free_there(there)
    assert there.view().sum() == 4


def test_device_write_argument_holds_write_lease_during_call(there):
    tried = []

    def read():
        with pytest.raises(memarray.LockError, match="leased for writing"):
            there.read(device="cuda:0").__enter__()
        with pytest.raises(memarray.LockError, match="leased for writing"):
            there.read().__enter__()
        with pytest.raises(memarray.LockError, match="leased for writing"):
            arguments.read_on_device_and_call(there, lambda: None)
        tried.append(there.lock_id)

    arguments.write_on_device_and_call(there, 3, read)
    assert len(tried) == 1 and tried[0] >= 0
    with pytest.raises(ZeroDivisionError):
        arguments.write_on_device_and_call(there, 5, lambda: 1 / 0)
    assert is_free_there(there)
    assert there.view().sum() == 20


@pytest.mark.parametrize("device", [None, "cuda:0"])
def test_device_argument_is_refused_under_conflicting_lease(there, device):
    called = []
    with there.read(device=device):
        with pytest.raises(memarray.LockError, match="leased for reading by 1 lease"):
            arguments.write_on_device_and_call(there, 3, lambda: called.append("write"))
        assert arguments.read_on_device_and_call(there, lambda: called.append("read")) == 4
    with there.write(device="cuda:0"):
        for call in (
            lambda: arguments.read_on_device_and_call(there, lambda: called.append("read")),
            lambda: arguments.write_on_device_and_call(there, 3, lambda: called.append("write")),
        ):
            with pytest.raises(memarray.LockError, match="leased for writing"):
                call()
    assert called == ["read"]
    assert is_free_there(there)
    assert there.view().sum() == 4


@DROPS
def test_stored_device_view_holds_its_lease(there, drop):
    # In another stream, too.
    arguments.keep_in_stream(there, memarray.Stream())
    gc.collect()
    with pytest.raises(memarray.LockError, match="leased for reading by 1 lease"):
        arguments.fill_on_device(there, 2)
    with there.read(device="cuda:0"):
        pass
    drop()
    assert is_free_there(there)
    arguments.fill_on_device(there, 2)
    assert there.view().sum() == 8
