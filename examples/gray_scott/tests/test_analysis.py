import gray_scott
import memarray
import numpy as np
import pytest


def test_points_are_counted_where_they_are():
    simulation = gray_scott.Simulation(32, 32)
    simulation.step(10)
    with simulation.fields.read() as lease:
        v = np.from_dlpack(lease)[1]
    for field in (v, v[::-1, ::2], v.T, memarray.BufferView(v)):
        assert gray_scott.count_above(field, 0.1) == np.count_nonzero(np.asarray(field) > 0.1)


def test_argument_that_is_not_a_field_is_refused():
    with pytest.raises(TypeError, match="two dimensions"):
        gray_scott.count_above(np.zeros(3), 0)
    with pytest.raises(TypeError):
        gray_scott.count_above([[1.0]], 0)


@pytest.mark.simulated_devices(count=1)
def test_a_field_on_a_device_is_refused(simulated_devices):
    field = memarray.BufferView(np.zeros((2, 3))).to_device("cuda:0")
    with pytest.raises(TypeError, match="on the host"):
        gray_scott.count_above(field, 0)
    assert gray_scott.count_above(field.to_device("cpu"), 0) == 0
