"""The table of docs/guide/exchange.md, consumer by consumer, against what happens."""

import re
from pathlib import Path

import numpy as np
import pytest
from support import filled, look

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "exchange.md"
ROW = re.compile(r"^\| `([\w.]+)` \|(.*)\|$", re.MULTILINE)
COLUMNS = ("read lease", "array", "write lease", "writable")


def address(view):
    for ask in ("data_ptr", "unsafe_buffer_pointer"):
        if hasattr(view, ask):
            return getattr(view, ask)()
    return (np.from_dlpack(view) if hasattr(view, "__dlpack__") else np.asarray(view)).ctypes.data


def outcome(consume, source):
    """What the table says: shared, a copy, or refused, with the exception's name."""
    try:
        view = consume(source)
    except Exception as error:
        return f"`{type(error).__name__}`"
    return "shared" if address(view) == np.asarray(source).ctypes.data else "a copy"


def can_write(consume, lease):
    """Whether the consumer lets its user write into what a read lease lends."""
    try:
        view = consume(lease)
        view[0] = 1
    except (TypeError, ValueError):
        return "no"
    except Exception:
        return "–"
    return "**yes**"


def observed(consume):
    array, _ = filled((8,), "float32")
    with array.read() as lease:
        read = outcome(consume, lease)
        writable = can_write(consume, lease)
    array, values = filled((8,), "float32")
    whole = outcome(consume, array)
    with array.write() as lease:
        write = outcome(consume, lease)
    np.testing.assert_array_equal(look(array), values)
    return dict(zip(COLUMNS, (read, whole, write, writable if read == "shared" else "–"), strict=True))


def rows():
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in ROW.findall(GUIDE.read_text())}


# torch.asarray warns of memory that cannot be written.
@pytest.mark.filterwarnings("ignore:The given buffer is not writable", "ignore:The given NumPy array is not writable")
@pytest.mark.parametrize("name", rows())
def test_the_table_says_what_happens(name):
    if name == "memoryview":
        consume = memoryview
    else:
        module, function = re.sub(r"^jnp\.", "jax.numpy.", re.sub(r"^np\.", "numpy.", name)).rsplit(".", 1)
        consume = getattr(pytest.importorskip(module, reason=f"{module} is not installed"), function)
    assert dict(zip(COLUMNS, rows()[name], strict=True)) == observed(consume)


def test_the_table_has_every_consumer():
    assert {"np.from_dlpack", "np.asarray", "memoryview", "torch.from_dlpack", "jax.dlpack.from_dlpack"} <= set(rows())
