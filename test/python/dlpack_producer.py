"""A producer of DLPack tensors that says of each field what it is told to, and counts the calls of its deleter."""

import ctypes

import dlpack_structs as dl

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

I64 = ctypes.c_int64


class Producer:
    """One tensor of int32, shape (2, 3), and what is changed of it.

    ``fields`` of the tensor, or ``version``, ``flags``, ``deleter``, ``name``; ``shape`` and ``strides`` may be None.
    """

    def __init__(self, *, versioned=True, name=None, version=(1, 3), flags=0, deleter=True, on_delete=None, **fields):
        self.deleted = 0
        self.on_delete = on_delete
        self.memory = (ctypes.c_int32 * 64)(*range(64))
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
