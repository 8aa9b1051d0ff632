"""A producer of DLPack tensors with arbitrary field values, which counts the calls of its deleter."""

import ctypes
import weakref

import dlpack_structs as dl
import memarray

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

I64 = ctypes.c_int64


class Producer:
    """A producer of one int32 tensor of shape (2, 3), with changes.

    The changes are ``fields`` of the tensor, or ``version``, ``flags``, ``deleter``, ``name``; ``shape`` and
    ``strides`` may be None.
    """

    #: The stream function of its exchange table, if it has one.
    stream = None

    def __init__(self, *, versioned=True, name=None, version=(1, 3), flags=0, deleter=True, on_delete=None, **fields):
        self.deleted = 0
        self.on_delete = on_delete
        # Aligned to 64 bytes: some consumers copy other memory.
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
        # 32 entries, whatever `ndim` is: an array shorter than `ndim` would only crash the test itself.
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
    """Imports through the exchange table of a type that exports the producer's own struct."""
    # A weak reference: free-threaded Python may keep the type, and the objects of its functions, for ever.
    known = weakref.ref(producer)

    def export(_, out):
        out[0] = dl.ManagedPointer(known().managed)
        return 0

    kind, _ = dl.make_type(export, stream=producer.stream and (lambda *device: known().stream(*device)))
    return memarray.from_dlpack(kind(), **words)


def _by_our_table(producer):
    """Makes a view as another library does, from a tensor that the library holds."""
    made = ctypes.py_object()
    dl.table_of(memarray.BufferView).make(dl.ManagedPointer(producer.managed), made)
    result = made.value
    _api.Py_DecRef(made)  # ctypes acquired a reference of its own
    return result


#: All entrances, by name. Each gets a producer; those with a capsule or a table do not call its methods.
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
    """Asserts that the import raises `error` with a message."""
    try:
        take(producer)
    except error as refusal:
        assert str(refusal)
    else:
        raise AssertionError(f"{error.__name__} was expected")
