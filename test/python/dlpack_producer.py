"""A producer of DLPack tensors that says of each field what it is told to, and counts the calls of its deleter."""

import ctypes
import weakref

import dlpack_structs as dl
import memarray

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

I64 = ctypes.c_int64


class Producer:
    """One tensor of int32, shape (2, 3), and what is changed of it.

    ``fields`` of the tensor, or ``version``, ``flags``, ``deleter``, ``name``; ``shape`` and ``strides`` may be None.
    """

    #: What its table says of streams, if it has one.
    stream = None

    def __init__(self, *, versioned=True, name=None, version=(1, 3), flags=0, deleter=True, on_delete=None, **fields):
        self.deleted = 0
        self.on_delete = on_delete
        # At a multiple of 64 bytes, as consumers want it who would else copy.
        storage = ctypes.create_string_buffer(4 * 64 + 63)
        self.memory = (ctypes.c_int32 * 64).from_buffer(storage, -ctypes.addressof(storage) % 64)
        self.memory[:] = range(64)
        self.managed = (dl.ManagedVersioned if versioned else dl.Managed)()
        tensor = self.managed.tensor
        tensor.data = ctypes.addressof(self.memory)
        tensor.device = dl.Device(1, 0)
        tensor.ndim = 2
        tensor.dtype = dl.DataType(0, 32, 1)
        self.lists = [fields.pop("shape", (2, 3)), fields.pop("strides", (3, 1))]
        # A pointer that says more than it has would only crash the test itself.
        self.arrays = [None if values is None else (I64 * 32)(*values) for values in self.lists]
        tensor.shape, tensor.strides = (array and ctypes.cast(array, ctypes.POINTER(I64)) for array in self.arrays)
        for field, value in fields.items():
            setattr(tensor, field, value)
        self.callback = dl.Deleter(self._delete)
        self.managed.deleter = ctypes.cast(self.callback, ctypes.c_void_p) if deleter else None
        if versioned:
            self.managed.version = dl.Version(*version)
            self.managed.flags = flags
        self.name = (name or ("dltensor_versioned" if versioned else "dltensor")).encode()

    def _delete(self, address):
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1
        if self.on_delete:
            self.on_delete()

    def capsule(self):
        return _api.PyCapsule_New(ctypes.addressof(self.managed), self.name, None)

    def __dlpack__(self, **_):
        return self.capsule()

    def __dlpack_device__(self):
        return (self.managed.tensor.device.type, self.managed.tensor.device.id)


def _by_table(producer, **words):
    """Through the table of a type that lends the producer's own struct."""
    # A Python without the GIL may keep the type, and what its functions know, for ever.
    known = weakref.ref(producer)

    def lend(_, out):
        out[0] = dl.ManagedPointer(known().managed)
        return 0

    kind, _ = dl.make_type(lend, stream=producer.stream and (lambda *device: known().stream(*device)))
    return memarray.from_dlpack(kind(), **words)


def _by_our_table(producer):
    """As another library makes a view, of a tensor that it has."""
    made = ctypes.py_object()
    dl.table_of(memarray.BufferView).make(dl.ManagedPointer(producer.managed), made)
    result = made.value
    _api.Py_DecRef(made)  # ctypes took a reference of its own
    return result


#: All ways in, by name; each gets a producer, which those with a capsule or a table do not ask.
ENTRANCES = {
    "memarray.from_dlpack": lambda producer: memarray.from_dlpack(producer),
    "BufferView": lambda producer: memarray.BufferView(producer),
    "BufferView.from_dlpack": lambda producer: memarray.BufferView.from_dlpack(producer),
    "MemArray.from_dlpack": lambda producer: memarray.MemArray.from_dlpack(producer),
    "a capsule": lambda producer: memarray.from_dlpack(producer.capsule()),
    "an array of a capsule": lambda producer: memarray.MemArray.from_dlpack(producer.capsule()),
    "the type's table": _by_table,
    "our table": _by_our_table,
}


def refused(error, take, producer):
    """Asserts that it is, in words."""
    try:
        take(producer)
    except error as refusal:
        assert str(refusal)
    else:
        raise AssertionError(f"{error.__name__} was expected")
