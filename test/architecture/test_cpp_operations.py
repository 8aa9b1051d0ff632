"""Each C++ operation on a MemArray, as read from its headers, is classed and tried under every kind of lease."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from public_names import public_text

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "memarray"
READ, WRITE, BOTH, NEUTRAL = "read", "write", "both", "neutral"


class Operation(NamedTuple):
    """The access that an operation needs, the pattern of its trials (its name if empty), and the file with them."""

    needs: str
    pattern: str = ""
    file: str = "test_conflicts.cpp"


def operations(needs: str, names: str) -> dict[str, Operation]:
    return dict.fromkeys(names.split(), Operation(needs))


#: Members and free functions. `BOTH`: the const form reads, the other writes.
OPERATIONS = {
    **operations(WRITE, "write fill copy_from resize move_memory enter exchange throw_invalid_lock_access"),
    **operations(WRITE, "overwrite update add_index_tuple WriteLease"),
    **operations(READ, "sum read view ReadLease"),
    **operations(READ, "reduce min max minmax argmin argmax dot"),
    # The free function and the member of `Held`.
    "transform_reduce_into": Operation(WRITE, r" transform_reduce_into\(\s*a, (?s:.*)\.transform_reduce_into\(a, "),
    **operations(WRITE, "sort_by_key"),
    **operations(BOTH, "ptr get_indexer host_view get_dlpack_tensor exclusive_scan for_each_index leases"),
    **operations(BOTH, "inclusive_scan hold transform_reduce"),
    "operator()": Operation(READ, r"a\(\{"),
    "operator=": Operation(READ, "copy = a"),
    "MemArray": Operation(READ, r"Array const copy\(a\)"),
    # The host has no device side.
    "device_view": Operation(BOTH, file="test_mem_array.cpp"),
    "thrust_range": Operation(BOTH, file="test_thrust.cpp"),
    # Operations on the array and not its contents, or on its ownership.
    **operations(NEUTRAL, "is_foreign swap exit share state state_ptr take_state escaped_views get_dlpack_device"),
    **operations(NEUTRAL, "get_shape get_size size get_device_id get_on_device get_lock_id adopt"),
    # Operations on memory that processes share, and on leases of processes that have exited.
    **operations(NEUTRAL, "create_shared recover"),
}
FUNCTION = re.compile(
    r"^(?:  )?(?:\[\[nodiscard\]\] |explicit |static |friend |inline |constexpr )*(?:[\w:<>, *&.]+? )??"
    r"([\*&]*)(MemArray|ReadLease|WriteLease|operator\(\)|operator=|[a-z]\w*)\(",
    re.MULTILINE,
)


def functions(text: str) -> set[str]:
    keywords = {"requires", "if", "return", "for", "while", "throw", "sizeof", "static_assert", "decltype", "switch"}
    return {match.group(2) for match in FUNCTION.finditer(public_text(text))} - keywords


def members() -> set[str]:
    return functions((INCLUDE / "array" / "mem_array.hpp").read_text())


def free_functions() -> set[str]:
    """Returns the public functions whose parameters name a MemArray or an access made from one."""
    found = set()
    layers = ("state", "view", "array", "kernel")
    for path in [
        *(path for layer in layers for path in sorted((INCLUDE / layer).glob("*.hpp"))),
        INCLUDE / "thrust.hpp",
    ]:
        if path.name == "mem_array.hpp":
            continue
        text = public_text(path.read_text())
        shown = functions(text)
        for match in re.finditer(r"^[^\n(]*?\b(\w+)\(((?:[^;{]|\{\})*?)\)\s*(?:noexcept\s*)?[{:;]", text, re.MULTILINE):
            if match.group(1) in shown and re.search(r"\bMemArray<|ArrayAccess<|Access const&", match.group(2)):
                found.add(match.group(1))
    return found


def test_table_has_an_entry_for_each_operation():
    # The leases are classes, whose constructors acquire the array.
    assert members() | free_functions() | {"ReadLease", "WriteLease"} == set(OPERATIONS)


def test_operations_are_parsed_from_headers():
    assert {"fill", "ptr", "operator()", "operator=", "resize", "swap", "get_dlpack_tensor", "MemArray"} <= members()
    assert {"sum", "for_each_index", "exclusive_scan", "add_index_tuple", "leases", "thrust_range"} <= free_functions()
    assert "clear" in functions("  void clear(int lock_id = -1) { state().clear(lock_id); }\n")


def body(name: str, text: str) -> str:
    return re.search(rf"^std::vector<Operation> {name}\(\) \{{(.*?)^\}}", text, re.MULTILINE | re.DOTALL).group(1)


def test_every_read_and_write_is_tested_under_every_lease():
    missing = []
    for name, operation in OPERATIONS.items():
        text = (ROOT / "test" / "cpp" / "array" / operation.file).read_text()
        if operation.file != "test_conflicts.cpp":
            missing += [] if f"{name}(" in text and "LockError" in text else [f"{name} in {operation.file}"]
            continue
        pattern = operation.pattern or rf"\b{re.escape(name)}(?: [a-z]+)*\("
        for trials, kinds in (("reads", (READ, BOTH)), ("writes", (WRITE, BOTH))):
            if operation.needs in kinds and not re.search(pattern, body(trials, text)):
                missing.append(f"{name} among the {trials} of {operation.file}")
    assert missing == []
