"""`read_numpy_array` replaces all contents or none, whatever its source and other users do."""

import logging

import memarray
import numpy as np
import pytest
from memarray.dlpack import kDLCUDA


def test_subclass_of_a_source_runs_no_code_while_contents_are_replaced():
    class Source(np.ndarray):
        def __array_function__(self, function, types, args, kwargs):
            raise RuntimeError(function.__name__)

    array = memarray.MemArray.from_numpy(np.full(4, 5.0))
    array.read_numpy_array(np.arange(4.0).view(Source))
    assert np.asarray(array).tolist() == [0, 1, 2, 3]


def test_shape_is_checked_when_the_array_is_locked(caplog):
    """A handler of the report of a conversion resizes the array."""

    class Handler(logging.Handler):
        def emit(self, record):
            array.resize([5])
            array.fill(8)

    logger = logging.getLogger("memarray.copies")
    caplog.set_level(logging.DEBUG, logger.name)
    for source in (np.array([7.0]), np.arange(4.0)):
        array = memarray.MemArray([source.size], "bfloat16")
        handler = Handler()
        logger.addHandler(handler)
        try:
            with pytest.raises(ValueError, match="shape"):
                array.read_numpy_array(source)
        finally:
            logger.removeHandler(handler)
        assert array.view().tolist() == [8] * 5


@pytest.mark.parametrize("escaped", [False, True])
def test_lease_of_another_shape_than_expected_changes_nothing(device, escaped):
    array = memarray.MemArray.from_numpy(np.arange(4.0))
    array.move_memory(kDLCUDA)
    array.fill(8)
    kept = array.view() if escaped else None
    for where in ("cpu", None):
        lease = array.write(where, discard=True)
        lease._expect((5,))
        with pytest.raises(ValueError, match=r"expected an array of shape \(5,\)"):
            lease.__enter__()
        assert array.device.type == "cuda" and array.lock_id == -1
    assert array.view().to_device("cpu").tolist() == [8] * 4
    del kept
