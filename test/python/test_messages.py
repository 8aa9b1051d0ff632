"""Messages of errors carry no user data: every refusal of an object whose repr is huge is short."""

import re

import memarray
import numpy as np
import pytest
from memarray import BufferView, MemArray, _core

pytestmark = pytest.mark.sanitize
LONG = "x" * 100_000


class Huge:
    """An object that no function accepts, with a huge repr."""

    def __repr__(self):
        return LONG

    __str__ = __repr__


class Lines:
    def __repr__(self):
        return "several\nlines"


class HugeNumber(int):
    def __repr__(self):
        return LONG


class HugeBytes(bytes):
    def __repr__(self):
        raise AssertionError("a buffer's contents are not looked at for a message")


def array():
    return MemArray([2, 3])


def view():
    return BufferView(np.zeros((2, 3)))


def interface(**entries):
    class Exporter:
        def __init__(self):
            self.__array_interface__ = {"shape": (2,), "typestr": "<f8", "version": 3, "data": np.zeros(2), **entries}

    return Exporter()


class Dlpack:
    def __init__(self, **answers):
        self.answers = answers

    def __dlpack_device__(self):
        return self.answers.get("device", (1, 0))

    def __dlpack__(self, **_):
        return self.answers["capsule"]


REFUSING = {
    "MemArray": lambda x: MemArray(x),
    "extent": lambda x: MemArray([2, x]),
    "dtype": lambda x: MemArray([2], x),
    "device_id": lambda x: MemArray([2], device_id=x),
    "uninitialized": lambda x: MemArray([2], uninitialized=x),
    "MemArray.from_dlpack": lambda x: MemArray.from_dlpack(x),
    "copy": lambda x: MemArray.from_dlpack(np.zeros(2), copy=x),
    "MemArray.from_numpy": lambda x: MemArray.from_numpy(x),
    "read_numpy_array": lambda x: array().read_numpy_array(x),
    "fill": lambda x: array().fill(x),
    "fill an integer": lambda x: MemArray([2], "int8").fill(x),
    "resize": lambda x: array().resize(x),
    "exchange": lambda x: array().exchange(x),
    "read(device)": lambda x: array().read(device=x),
    "read(stream)": lambda x: array().read(stream=x),
    "read(timeout)": lambda x: array().read(timeout=x),
    "write(discard)": lambda x: array().write(discard=x),
    "get_dlpack": lambda x: array().get_dlpack(x),
    "get_dlpack(device_id)": lambda x: array().get_dlpack(2, x),
    "move_memory": lambda x: array().move_memory(x),
    "async_copy": lambda x: array().move_memory(1, async_copy=x),
    "escaped_views": lambda x: setattr(array(), "escaped_views", x),
    "max_version": lambda x: array().__dlpack__(max_version=x),
    "dl_device": lambda x: array().__dlpack__(dl_device=x),
    "__dlpack__(stream)": lambda x: array().__dlpack__(stream=x),
    "__dlpack__(copy)": lambda x: array().__dlpack__(copy=x),
    "leases": lambda x: memarray.leases(x),
    "BufferView": lambda x: BufferView(x),
    "BufferView(copy)": lambda x: BufferView(np.zeros(2), copy=x),
    "BufferView.from_numpy": lambda x: BufferView.from_numpy(x),
    "BufferView.from_buffer": lambda x: BufferView.from_buffer(x),
    "from_buffer(dtype)": lambda x: BufferView.from_buffer(bytes(8), x),
    "from_dlpack": lambda x: memarray.from_dlpack(x),
    "cast": lambda x: view().cast(x),
    "__array__": lambda x: view().__array__(x),
    "__array__ of an array": lambda x: array().__array__(x),
    "index": lambda x: view()[x],
    "axis": lambda x: view().sum(x),
    "keepdims": lambda x: view().sum(keepdims=x),
    "plan": lambda x: view().plan(x),
    "tobytes": lambda x: view().tobytes(x),
    "reshape": lambda x: view().reshape(x),
    "broadcast_to": lambda x: view().broadcast_to([x]),
    "to_device": lambda x: view().to_device(x),
    "view fill": lambda x: view().fill(x),
    "Device": lambda x: memarray.Device(x),
    "DLDeviceType": lambda x: memarray.dlpack.DLDeviceType(x),
    "Stream": lambda x: memarray.Stream(x),
    "Stream(priority)": lambda x: memarray.Stream(0, x),
    "Event(device_id)": lambda x: memarray.Event(x),
    "MemoryPool(release_threshold)": lambda x: memarray.MemoryPool(0, x),
    "MemoryPool(max_size)": lambda x: memarray.MemoryPool(0, max_size=x),
    "trim": lambda x: _core.trim(x),
    "device_name": lambda x: memarray.cuda.device_name(x),
    "options.threads": lambda x: setattr(memarray.options, "threads", x),
    "options.escaped_views": lambda x: setattr(memarray.options, "escaped_views", x),
    "options.trace_leases": lambda x: setattr(memarray.options, "trace_leases", x),
    "shared_memory.create": lambda x: memarray.shared_memory.create(x),
    "shared_memory.attach": lambda x: memarray.shared_memory.attach(x),
    "__dlpack_device__": lambda x: BufferView(Dlpack(device=x)),
    "__dlpack__": lambda x: BufferView(Dlpack(capsule=x)),
    "typestr": lambda x: BufferView(interface(typestr=x)),
    "descr": lambda x: BufferView(interface(typestr="|V8", descr=x)),
    "shape": lambda x: BufferView(interface(shape=x)),
    "extents": lambda x: BufferView(interface(shape=(x,))),
    "data": lambda x: BufferView(interface(data=(x, False))),
    "instance": lambda x: MemArray._TYPE_INSTANCE_MAP["float64", 1](MemArray, [x], 0, False),
}
OBJECTS = {
    "object": lambda: Huge(),
    "text": lambda: LONG,
    "other text": lambda: "é" * 100_000,
    "surrogates": lambda: "\ud800" * 100,
    "bytes": lambda: HugeBytes(b"\xff" * 100_001),
    "list": lambda: [LONG] * 3,
    "long list": lambda: [0.5] * 100_000,
    "dict": lambda: {LONG: 1},
    "number": lambda: HugeNumber(2**70),
    "long number": lambda: 10**4000,
    "type": lambda: type("T" * 10_000, (), {}),
    "structs": lambda: np.zeros(2, [("f" * 10_000, "M8[s]"), ("g", "U3")]),
    "struct dtype": lambda: np.dtype([("f" * 10_000, "M8[s]")]),
    "unknown keyword": lambda: np.zeros((1,) * 30, "U1"),
}


@pytest.mark.parametrize("refuse", REFUSING.values(), ids=REFUSING)
def test_error_does_not_print_the_given_object(refuse):
    for make in OBJECTS.values():
        x = make()
        try:
            refuse(x)
        except Exception as error:
            if isinstance(error, (OSError, UnicodeError, AttributeError)):
                continue  # raised by Python itself
            # The limit leaves room for the expected and the given type.
            assert len(str(error)) < 700, (make, str(error)[:300])
            assert "xxxxxxxxxx" * 9 not in str(error)


def test_shown_values_are_short_and_descriptive():
    shown = _core.shown
    assert shown(5) == "5" and shown("text") == "'text'" and shown(None) == "None" and shown((1, "a")) == "(1, 'a')"
    assert shown(np.zeros((3, 4))) == "a numpy.ndarray of shape (3, 4)"
    assert shown([1] * 100) == "a list of 100 items"
    assert shown(bytes(1000)) == "a bytes of 1000 bytes"
    assert shown(LONG) == "a str of 100000 characters"
    assert shown(memarray.BufferView(bytes(5))[:0]) == "a memarray.BufferView of shape (0,)"
    assert shown(range(10**9)) == "a range of 1000000000 items"
    assert shown(Lines()) == "several..."
    assert shown(np.dtype(">f4")) == ">f4" and shown(np.dtype("U3")) == "<U3" and shown(np.dtype("O")) == "object"
    assert shown(np.dtype("M8[s]")) == "datetime64[s]" and len(shown(np.dtype([("x" * 100, "f4")]))) == 80
    assert shown(Huge()) == "x" * 77 + "..."
    assert len(shown(10**3000)) == 80
    assert shown("\ud800") == r"'\ud800'"


def test_long_names_are_cut_between_characters():
    name = "x" + "\u4e2d" * 30  # three bytes each
    fields = BufferView(np.zeros(2, [(name, "<f4")]))
    assert fields._dtype_name == "struct{x" + fields._dtype_name.count("\u4e2d") * "\u4e2d" + "...}"
    assert fields._dtype_name in repr(fields)
    stranger = type(name, (), {"__repr__": lambda self: ""})()
    cut = re.escape("x" + "\u4e2d" * 18 + "...")
    with pytest.raises(TypeError, match=cut):
        BufferView(stranger)
    with pytest.raises(TypeError, match=cut):
        memarray.MemArray([2]).read(stream=stranger)


def test_error_message_works_when_repr_raises():
    class Broken:
        def __repr__(self):
            raise ZeroDivisionError

    with pytest.raises(TypeError, match="got a Broken"):
        BufferView(Broken())


def test_error_for_image_is_short():
    image = pytest.importorskip("PIL.Image").new("RGB", (2000, 2000))
    view = BufferView(image)
    assert view.shape == (2000, 2000, 3)
    with pytest.raises(TypeError) as raised:
        memarray.from_dlpack(image)
    assert len(str(raised.value)) < 300


def test_tobytes_refuses_unknown_order():
    for order in ("\u0143", "\u0246", "c", "CF", "", 1):  # the first two are C and F in their lower eight bits
        with pytest.raises(TypeError, match="order is 'C', 'F' or 'A'"):
            view().tobytes(order)
    assert view().tobytes("F") == bytes(48)


@pytest.mark.parametrize("x", [Huge(), LONG, [LONG]], ids=["object", "text", "list"])
def test_errors_of_streams_and_events_are_short(simulated_devices, x):
    stream, event, pool = memarray.Stream(), memarray.Event(), memarray.MemoryPool()
    uses = (stream.wait, stream.record, event.record, event.wait, event.elapsed, pool.trim)
    for use in uses:
        with pytest.raises(TypeError) as raised:
            use(x)
        assert len(str(raised.value)) < 200


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_errors_of_simulated_devices_are_short(simulated_devices, make):
    class Wrong:
        """Accepted nowhere: some objects are a number or a str."""

        def __init__(self, given):
            self.given = given

        def __repr__(self):
            return repr(self.given)

    simulate, devices = memarray.testing.simulated_devices, simulated_devices
    seen = memarray.testing.Consumer().take(view())
    options = ("memory", "peer_access", "pools", "lend_as_cuda", "continue_after_touch", "late_copies")
    uses = [
        simulate,
        *(lambda x, name=name: simulate(**{name: x}) for name in options),
        devices.fail,
        devices.drop,
        devices.calls,
        devices.delay,
        *(lambda x, name=name: devices.fail("cuMemAlloc", **{name: x}) for name in ("nth", "code", "times")),
        *(lambda x, name=name: devices.drop("cuMemAlloc", **{name: x}) for name in ("nth", "times")),
        lambda x: seen.drop(in_stream=x),
    ]
    for use in uses:
        with pytest.raises(TypeError) as raised:
            use(Wrong(make()))
        assert len(str(raised.value)) < 200
    for use in (devices.fail, devices.drop, devices.calls):
        with pytest.raises(ValueError, match="is not a driver function") as named:
            use("no such function " + LONG)
        assert len(str(named.value)) < 200


def test_errors_for_wrong_arguments_print_none_of_them(simulated_devices):
    x = Huge()
    seen = memarray.testing.Consumer().take(view())
    owners = (_core, memarray.Stream(), memarray.Event(), memarray.MemoryPool(), simulated_devices, seen)
    uses = [getattr(owner, name) for owner in owners for name in dir(owner) if not name.startswith("__")]
    uses = [use for use in uses if callable(use) and not (isinstance(use, type) and issubclass(use, BaseException))]
    assert len(uses) > 60
    for use in uses:
        for arguments, keywords in (((x,) * 20, {}), ((), {"no_such_argument": x})):
            with pytest.raises(TypeError) as raised:
                use(*arguments, **keywords)
            assert "x" * 81 not in str(raised.value), use
            assert len(str(raised.value)) < 1500, use


def test_ctrl_c_during_a_repr_is_not_lost():
    class Interrupted:
        def __repr__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        try:
            BufferView(Interrupted())
        except TypeError:
            for _ in range(1000):
                pass


def test_shape_of_many_extents_is_counted():
    array = MemArray([2, 3])
    for shape in (range(200_000), [1] * 1000):
        with pytest.raises((ValueError, TypeError)) as raised:
            array.resize(list(shape))
        assert len(str(raised.value)) < 300
    assert array.shape == (2, 3)
