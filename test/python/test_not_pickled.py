"""pickle and copy refuse objects that belong to this process, with a clear message and without a crash."""

import copy
import pickle

import memarray
import pytest
from memarray import _core
from memarray.testing import simulated_devices

#: Types of the extension that define their own pickling, and abstract ones. Exceptions have tests of their own.
OTHERS = {"BufferView", "ArrayBase", "Instance"}


def objects(sim):
    lease = memarray.MemArray([3]).read()
    return {
        "Stream": memarray.Stream(),
        "Event": memarray.Event(),
        "MemoryPool": memarray.MemoryPool(),
        "Lease": lease,
        "leases": memarray.leases(lease),
        "SimulatedDevices": sim,
        "ConsumerBacklog": _core.make_consumer_backlog(),
    }


WAYS = {
    **{f"protocol {p}": lambda x, p=p: pickle.dumps(x, p) for p in range(pickle.HIGHEST_PROTOCOL + 1)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "reduce": lambda x: x.__reduce__(),
    "reduce_ex": lambda x: x.__reduce_ex__(2),
}


@pytest.mark.parametrize("way", WAYS)
def test_pickling_and_copying_is_a_type_error(way):
    with simulated_devices(1) as sim:
        for name, thing in objects(sim).items():
            with pytest.raises(TypeError):
                WAYS[way](thing)
                pytest.fail(name)


def test_every_extension_type_is_tested_or_defines_reduce_ex():
    types = {name for name, x in vars(_core).items() if isinstance(x, type) and not issubclass(x, Exception)} - OTHERS
    with simulated_devices(1) as sim:
        tried = set(objects(sim))
    for name in types - tried:
        assert "__reduce_ex__" in vars(getattr(_core, name)), name
