"""Chains of views of views, however long, are freed with little stack."""

import pytest
from support import run_python

CHAIN = """
    import threading
    import numpy as np
    import memarray
    from memarray import BufferView

    class Wrapped:
        def __init__(self, view):
            self.view = view
        def __dlpack__(self, **kwargs):
            return self.view.__dlpack__(**kwargs)
        def __dlpack_device__(self):
            return self.view.__dlpack_device__()

    class Interface:
        def __init__(self, view):
            self.view = view
        @property
        def __array_interface__(self):
            return self.view.__array_interface__

    class NamedArray(np.ndarray):
        pass

    def named(view):
        result = np.asarray(view).view(NamedArray)
        result.view = view
        return result

    def closed(view):
        interface = Interface(BufferView(np.asarray(view)))
        result = BufferView(interface)
        interface.view.close()
        return result

    def adopted(array):
        with array.write() as lease:
            return memarray.MemArray.from_dlpack(lease, copy=False)

    def chain(links):
        value = START
        for _ in range(links):
            value = LINK(value)
        assert value.nbytes == 8 * 8
        del value
        assert memarray.stats()["live_blocks"] == before

    before = memarray.stats()["live_blocks"]
    chain(60_000)
    threading.stack_size(64 * 1024)
    thread = threading.Thread(target=chain, args=(4_000,))
    thread.start()
    thread.join()
    print("freed")
"""

VIEW = "BufferView(np.arange(8.0))"
CHAINS = {
    "NumPy arrays": (VIEW, "lambda v: BufferView(np.asarray(v))"),
    "from_numpy": (VIEW, "lambda v: BufferView.from_numpy(np.asarray(v))"),
    "subclasses of NumPy arrays": (VIEW, "lambda v: BufferView(named(v))"),
    "memoryviews": (VIEW, "lambda v: BufferView.from_buffer(memoryview(v))"),
    "buffers as another dtype": (VIEW, "lambda v: BufferView.from_buffer(v, 'float64')"),
    "capsules": (VIEW, "lambda v: BufferView.from_dlpack(v.__dlpack__(max_version=(1, 0)))"),
    "old capsules": (VIEW, "lambda v: BufferView.from_dlpack(v.__dlpack__())"),
    "NumPy arrays over DLPack": (VIEW, "lambda v: BufferView(np.from_dlpack(v))"),
    "objects with __dlpack__": (VIEW, "lambda v: BufferView(Wrapped(v))"),
    "objects with __array_interface__": (VIEW, "lambda v: BufferView(Interface(v))"),
    "parts": (VIEW, "lambda v: BufferView(np.asarray(v[::-1]))"),
    "objects with a closed view": (VIEW, "closed"),
    "arrays": ("memarray.MemArray([8])", "adopted"),
}


@pytest.mark.parametrize("start, link", CHAINS.values(), ids=CHAINS)
def test_long_chains_are_freed_with_little_stack(start, link):
    program = CHAIN.replace("START", start).replace("LINK", f"({link})")
    assert "freed" in run_python(program).stdout
