"""Every way in which a value leaves a view."""

import copy
import pickle

import numpy as np
from memarray import BufferView
from support import numpy_dtype


def of_numbers(x, numbers):
    """Returns an array like `x` with the numbers, which were exported one by one."""
    made = np.empty(x.shape, x.dtype)
    for index, number in zip(np.ndindex(x.shape), numbers, strict=True):
        made[index] = number
    return made


def of_parts(view, x, read):
    """Returns an array like `x` of the results of `read` on the view of each element."""
    return of_numbers(x, [read(view[(*(slice(i, i + 1) for i in at), ...)]) for at in np.ndindex(x.shape)])


def bool_of(view):
    assert int(view) in (0, 1)
    return bool(int(view))


def iterated(view):
    if view.ndim == 0:
        return [view.item()]
    return [number for row in view for number in (iterated(row) if isinstance(row, BufferView) else [row])]


def flat(nested):
    return [number for row in nested for number in flat(row)] if isinstance(nested, list) else [nested]


def parsed(view):
    dtype = numpy_dtype(view._dtype_name)
    return np.frombuffer(view.tobytes(), dtype).reshape(view.shape)


def of_buffer(view):
    # bfloat16 has no buffer format; negative strides are exported over the other protocols only.
    return np.array(memoryview(view)) if view._dtype_name != "bfloat16" else np.asarray(view)


def of_dlpack(view):
    if view._dtype_name == "bfloat16" or any(stride < 0 for stride in view.strides):
        view = view.copy()
    return np.from_dlpack(view) if view._dtype_name != "bfloat16" else np.asarray(view)


#: Functions from (view, array with its values) to an array with the exported values.
WAYS = {
    "view[index]": lambda v, x: of_numbers(x, [v[index] if index else v.item() for index in np.ndindex(x.shape)]),
    "view[i][j]": lambda v, x: of_numbers(x, iterated(v)),
    "item()": lambda v, x: of_parts(v, x, lambda part: part.item()),
    "complex()": lambda v, x: of_parts(v, x, complex if x.dtype.kind == "c" else lambda part: part.item()),
    "int() and float()": lambda v, x: of_parts(
        v, x, {"c": complex, "b": bool_of, "i": int, "u": int}.get(x.dtype.kind, float)
    ),
    "tolist()": lambda v, x: of_numbers(x, flat(v.tolist())),
    "tobytes()": lambda v, x: parsed(v),
    "tobytes('F')": lambda v, x: np.frombuffer(v.tobytes("F"), x.dtype).reshape(x.shape[::-1]).T,
    "copy()": lambda v, x: np.asarray(v.copy()),
    "copy.copy": lambda v, x: np.asarray(copy.copy(v)),
    "copy.deepcopy": lambda v, x: np.asarray(copy.deepcopy(v)),
    "cast()": lambda v, x: np.asarray(v.cast(x.dtype)),
    "np.asarray": lambda v, x: np.asarray(v),
    "np.array": lambda v, x: np.array(v),
    "__array__": lambda v, x: v.__array__(),
    "memoryview": lambda v, x: of_buffer(v),
    "np.from_dlpack": lambda v, x: of_dlpack(v),
    "np.array(list)": lambda v, x: np.array(v.tolist(), x.dtype).reshape(x.shape),
    "min()": lambda v, x: of_parts(v, x, lambda part: part.min()),
    "max()": lambda v, x: of_parts(v, x, lambda part: part.max()),
    **{
        f"pickle, protocol {protocol}": lambda v, _, p=protocol: np.asarray(pickle.loads(pickle.dumps(v, p)))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}
