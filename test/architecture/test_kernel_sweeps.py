"""Each public kernel function, as read from its header, is in the sweeps of faults, dropped waits and orders, and in
the matrix against NumPy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from public_names import public_text

ROOT = Path(__file__).resolve().parents[2]
TEST = ROOT / "test"
#: Functions at the left margin, and those of `Held`. `constexpr` ones make ranges and extents; others are deleted.
FREE = re.compile(r"^(?!#| |.*\bconstexpr\b)[\w:<>\[\], &]+? (\w+)\((?:[^;{]|\{\})*?\)[^;{=]*\{", re.MULTILINE)
MEMBER = re.compile(r"^  (?:\[\[nodiscard\]\] )?(?:void|T) (\w+)\((?:[^;{]|\{\})*?\) \{", re.MULTILINE)

#: Functions that a sweep does not call, and the reason for each.
ABSENT = {
    ("atomic_add", "dropped waits"): "it is a part of kernels, and waits for nothing",
    ("atomic_add", "kernels of Python"): "arrays of few dtypes have it: test_atomic_add.cpp has them all",
    ("add_index_tuple", "kernels of Python"): "test_order_sweep.py and test_device_types.cpp call it",
    ("held.transform_reduce", "dropped waits"): "it waits in the code of transform_reduce",
    ("held.transform_reduce_into", "dropped waits"): "it waits for nothing, as transform_reduce_into",
}


def kernel_functions() -> set[str]:
    headers = sorted((ROOT / "include" / "memarray" / "kernel").glob("*.hpp"))
    texts = {header.stem: public_text(header.read_text()) for header in headers}
    return {name for text in texts.values() for name in FREE.findall(text)} | {
        f"held.{name}" for name in MEMBER.findall(texts["hold"])
    }


def programs(file: str) -> str:
    text = (TEST / "cpp" / "array" / file).read_text()
    return re.search(r"^Program const programs\[\] = \{\n(.*?)^\};", text, re.MULTILINE | re.DOTALL)[1]


def module_text() -> str:
    return "".join((TEST / "cpp" / "python" / f"{file}.hpp").read_text() for file in ("kernel_changes", "kernels_of"))


SWEEPS = {
    "faults": lambda: programs("test_device_faults.cpp"),
    "dropped waits": lambda: programs("test_dropped_waits.cpp"),
    # The sweep of orders and the matrix call all operations of the module.
    "kernels of Python": module_text,
}


def calls(function: str, text: str) -> bool:
    """True if the text calls the function of memarray, and not a member or its own function of that name."""
    name = function.removeprefix("held.")
    if function != name:
        return bool(re.search(rf"\bheld\.{name}\(", text))
    qualified = "memarray::" if "namespace kernels" in text else r"(?<![\w.:])(?:memarray::)?"
    return bool(re.search(rf"{qualified}{name}(?:<[\w, ]+>)?\(", text))


def operations_of_module() -> set[str]:
    return set(re.findall(r'\.def\("(\w+)"', (TEST / "cpp" / "python" / "kernels.cpp").read_text()))


@pytest.mark.parametrize("sweep", SWEEPS)
def test_sweep_calls_each_kernel_function(sweep):
    text = SWEEPS[sweep]()
    absent = {function for function in kernel_functions() if not calls(function, text)}
    assert absent == {function for function, where in ABSENT if where == sweep}


def test_matrix_calls_each_operation_of_the_module():
    text = (TEST / "python" / "test_kernels.py").read_text()
    assert {name for name in operations_of_module() if f"kernels.{name}(" not in text} == set()


def test_sweep_of_orders_calls_each_operation_of_the_module():
    text = (TEST / "python" / "order_kernels.py").read_text()
    assert {name for name in operations_of_module() if f"kernels.{name}(" not in text} == {"overwrite_rows"}


def test_functions_and_operations_are_found():
    assert {"for_each_index", "hold", "min", "sort_by_key", "atomic_add", "add_index_tuple"} <= kernel_functions()
    assert {"held.for_each_index", "held.transform_reduce_into"} <= kernel_functions()
    assert not {"range", "interior", "launch", "requires", "held.launch", "Held"} & kernel_functions()
    assert {"change", "hold", "scan_wide"} <= operations_of_module()
    assert not calls("min", "x.min(); std::min(a, b); minmax(a)")
    assert not calls("sum", "namespace kernels {\npy::bytes sum(py::handle array) {")
    assert calls("for_each_index", "for_each_index<int, 1>(view)")
