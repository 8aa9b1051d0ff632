"""Each C++ operation on a MemArray, as read from its headers, is classed and tried under every kind of lease."""

from __future__ import annotations

import re
from pathlib import Path

import rules

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "memarray"
READ, WRITE, BOTH, NEUTRAL = "read", "write", "both", "neutral"

#: Members and free functions. `both`: the const form reads, the other writes.
CLASSED = {
    **dict.fromkeys(
        ["write", "fill", "copy_from", "resize", "move_memory", "enter", "exchange", "throw_invalid_lock_access"], WRITE
    ),
    **dict.fromkeys(["operator()", "MemArray", "operator=", "sum", "read", "view"], READ),
    **dict.fromkeys(["ptr", "get_indexer", "host_view", "device_view", "get_dlpack_tensor", "exclusive_scan"], BOTH),
    **dict.fromkeys(["for_each_index", "leases", "ReadLease", "WriteLease", "thrust_range"], BOTH),
    **dict.fromkeys(["overwrite", "update", "add_index_tuple"], WRITE),
    # Operations on the array and not its contents, or on its ownership.
    **dict.fromkeys(
        ["is_foreign", "swap", "exit", "share", "state", "state_ptr", "take_state", "escaped_views"], NEUTRAL
    ),
    **dict.fromkeys(
        ["get_shape", "get_size", "size", "get_device_id", "get_on_device", "get_lock_id", "adopt"], NEUTRAL
    ),
    "get_dlpack_device": NEUTRAL,
    # Operations on memory that processes share, and on leases of processes that have exited.
    **dict.fromkeys(["create_shared", "recover"], NEUTRAL),
}
#: Patterns of operations in the lists of trials, if not the name.
SPELT = {"operator()": r"a\(\{", "MemArray": r"Array const copy\(a\)", "operator=": r"copy = a"}
#: Operations with a test file of their own, because the host has no device side.
ELSEWHERE = {
    "device_view": "test_mem_array.cpp",
    "thrust_range": "test_thrust.cpp",
}
FUNCTION = re.compile(
    r"^(?:  )?(?:\[\[nodiscard\]\] |explicit |static |friend |inline |constexpr )*(?:[\w:<>, *&]+? )??"
    r"([\*&]*)(MemArray|ReadLease|WriteLease|operator\(\)|operator=|[a-z]\w*)\(",
    re.MULTILINE,
)


def functions(text: str) -> set[str]:
    keywords = {"requires", "if", "return", "for", "while", "throw", "sizeof", "static_assert", "decltype", "switch"}
    return {match.group(2) for match in FUNCTION.finditer(rules.public_text(text))} - keywords


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
        text = rules.public_text(path.read_text())
        shown = functions(text)
        for match in re.finditer(r"^[^\n(]*?\b(\w+)\(([^;{]*?)\)\s*(?:noexcept\s*)?[{:;]", text, re.MULTILINE):
            if match.group(1) in shown and re.search(r"\bMemArray<|ArrayAccess<|Access const&", match.group(2)):
                found.add(match.group(1))
    return found


def test_every_operation_is_classified():
    assert members() - set(CLASSED) == set(), "say in the table whether it reads, writes, both or neither"
    assert free_functions() - set(CLASSED) == set(), "say in the table whether it reads, writes, both or neither"


def test_operations_are_parsed_from_headers():
    assert {"fill", "ptr", "operator()", "operator=", "resize", "swap", "get_dlpack_tensor", "MemArray"} <= members()
    assert {"sum", "for_each_index", "exclusive_scan", "add_index_tuple", "leases", "thrust_range"} <= free_functions()
    assert "clear" in functions("  void clear(int lock_id = -1) { state().clear(lock_id); }\n")


def body(name: str, text: str) -> str:
    return re.search(rf"^std::vector<Operation> {name}\(\) \{{(.*?)^\}}", text, re.MULTILINE | re.DOTALL).group(1)


def test_every_read_and_write_is_tested_under_every_lease():
    conflicts = (ROOT / "test" / "cpp" / "array" / "test_conflicts.cpp").read_text()
    missing = []
    for name, kind in CLASSED.items():
        if name in ELSEWHERE:
            where = (ROOT / "test" / "cpp" / "array" / ELSEWHERE[name]).read_text()
            missing += [] if f"{name}(" in where and "LockError" in where else [f"{name} in {ELSEWHERE[name]}"]
            continue
        pattern = SPELT.get(name, rf"\b{re.escape(name)}(?: [a-z]+)*\(")
        for trials, kinds in (("reads", (READ, BOTH)), ("writes", (WRITE, BOTH))):
            if name in ("ReadLease", "WriteLease") and (name == "ReadLease") != (trials == "reads"):
                continue
            if kind in kinds and not re.search(pattern, body(trials, conflicts)):
                missing.append(f"{name} among the {trials} of test_conflicts.cpp")
    assert missing == []
