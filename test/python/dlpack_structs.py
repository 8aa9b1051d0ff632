"""DLPack's structs in ctypes, and a consumer that opens a capsule as a C program does."""

import ctypes

READ_ONLY = 1
IS_COPIED = 2
CPU = (1, 0)
#: The code and the bits of each dtype.
DTYPE_CODES = {
    "bool": (6, 8),
    **{f"int{bits}": (0, bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
    "bfloat16": (4, 16),
    "complex64": (5, 64),
    "complex128": (5, 128),
}


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("version", Version),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


_api = ctypes.pythonapi
_api.PyCapsule_GetName.restype = ctypes.c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

# A capsule keeps the pointer to its name without a copy, so the names must stay alive.
USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}
STRUCTS = {b"dltensor": Managed, b"dltensor_versioned": ManagedVersioned}


def name_of(capsule):
    return _api.PyCapsule_GetName(capsule).decode()


def struct_of(capsule):
    """Returns the managed tensor in an unused capsule, without consuming the capsule."""
    name = _api.PyCapsule_GetName(capsule)
    return STRUCTS[name].from_address(_api.PyCapsule_GetPointer(capsule, name))


class Taken:
    """A managed tensor consumed from its capsule. Only `drop` calls its deleter."""

    def __init__(self, capsule):
        name = _api.PyCapsule_GetName(capsule)
        self.address = _api.PyCapsule_GetPointer(capsule, name)
        self.managed = STRUCTS[name].from_address(self.address)
        _api.PyCapsule_SetName(capsule, USED[name])
        self.dropped = False

    @property
    def deleter(self):
        """Returns the address of the deleter's code."""
        return self.managed.deleter

    @property
    def size(self):
        tensor = self.managed.tensor
        count = 1
        for d in range(tensor.ndim):
            count *= tensor.shape[d]
        return count

    def bytes(self):
        tensor = self.managed.tensor
        return ctypes.string_at(tensor.data, self.size * tensor.dtype.bits // 8)

    def write(self, data):
        ctypes.memmove(self.managed.tensor.data, data, len(data))

    def drop(self):
        assert not self.dropped
        self.dropped = True
        Deleter(self.deleter)(self.address)


SetError = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
ManagedPointer = ctypes.POINTER(ManagedVersioned)


class Table(ctypes.Structure):
    _fields_ = [
        ("version", Version),
        ("older", ctypes.c_void_p),
        (
            "allocate",
            ctypes.CFUNCTYPE(
                ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(ManagedPointer), ctypes.c_void_p, SetError
            ),
        ),
        ("export", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ManagedPointer))),
        ("make", ctypes.PYFUNCTYPE(ctypes.c_int, ManagedPointer, ctypes.POINTER(ctypes.py_object))),
        ("look", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))),
        (
            "stream",
            ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)),
        ),
    ]


def table_of(kind):
    return Table.from_address(_api.PyCapsule_GetPointer(kind.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


def make_type(export, version=(1, 3), older=None, name=b"dlpack_exchange_api", stream=None):
    """Returns a type with an exchange table. `export` writes the tensor of an object; `__dlpack__` exports its `view`.

    ``stream(device_type, device_id)`` returns the address of the library's current stream, or None to fail.
    """
    table = Table()
    table.version = Version(*version)
    table.older = ctypes.addressof(older) if older else None
    if export:
        table.export = dict(Table._fields_)["export"](export)
    if stream:

        def say(device_type, device_id, out):
            address = stream(device_type, device_id)
            if address is None:
                return -1
            out[0] = address
            return 0

        table.stream = dict(Table._fields_)["stream"](say)
    kind = type("Foreign", (), {"__dlpack__": lambda self, **_: self.view.__dlpack__(max_version=(1, 0))})
    kind.kept = (table, name)
    kind.__dlpack_c_exchange_api__ = _api.PyCapsule_New(ctypes.addressof(table), name, None)
    return kind, table


class ExportedTensor:
    """A managed tensor exported over the C exchange API. `drop` and its finalizer call the deleter."""

    def __init__(self, producer):
        self.managed = ManagedPointer()
        table_of(type(producer)).export(producer, self.managed)

    def take(self):
        """Returns the pointer to the tensor and transfers its ownership."""
        managed, self.managed = self.managed, None
        return managed

    def capsule(self):
        """Transfers the tensor to a capsule without a destructor: a consumer must take it."""
        return _api.PyCapsule_New(ctypes.addressof(self.take().contents), b"dltensor_versioned", None)

    def drop(self):
        if self.managed:
            managed = self.take().contents
            Deleter(managed.deleter)(ctypes.addressof(managed))

    __del__ = drop


def view_through_table(producer, maker):
    """Returns the object of type `maker` that a consumer of the C exchange API makes."""
    managed = ExportedTensor(producer).take()
    made = ctypes.py_object()
    table_of(maker).make(managed, made)
    result = made.value
    _api.Py_DecRef(made)  # ctypes acquired a reference of its own
    return result
