"""test/cpp/array/operations.hpp lists each C++ operation on a MemArray, as read from its headers."""

from __future__ import annotations

import re
from pathlib import Path

from public_names import public_text

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "memarray"
ARRAY_TESTS = ROOT / "test" / "cpp" / "array"
#: Operations that cannot be tried with the others, and the file that tries them under a lease: the host has no device
#: side, `exit` closes one of the leases, and Thrust is included by one file.
ELSEWHERE = {"device_view": "test_mem_array.cpp", "thrust_range": "test_thrust.cpp", "exit": "test_conflicts.cpp"}
FUNCTION = re.compile(
    # Static functions take no array.
    r"^(?:  )?(?!\s*(?:return|(?:\[\[nodiscard\]\] )?static) )(?:\[\[nodiscard\]\] |explicit |friend |inline )*"
    r"(?:constexpr )?(?:[\w:<>, *&.]+? )??([\*&]*)(MemArray|ReadLease|WriteLease|operator\(\)|operator=|[a-z]\w*)\(",
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
            parameters = re.search(r"\bMemArray<[^>]*>(?!::)|\bArrayAccess<|Access const&", match.group(2))
            if match.group(1) in shown and parameters:
                found.add(match.group(1))
    return found


def trials(kind: str) -> list[tuple[str, str]]:
    """Returns, for each entry of one list, its operation and the code of its trial."""
    text = (ARRAY_TESTS / "operations.hpp").read_text()
    body = re.search(rf"^inline std::vector<Operation> {kind}\(\) \{{(.*?)^\}}", text, re.MULTILINE | re.DOTALL)[1]
    entries = re.split(r"^      \{", body, flags=re.MULTILINE)[1:]
    return [re.match(r'"([^" ,]+)[^"]*",(.*)', entry, re.DOTALL).groups() for entry in entries]


def tried(kind: str) -> set[str]:
    return {name for name, _ in trials(kind)}


def test_list_has_each_operation():
    listed = tried("reads") | tried("writes") | tried("neutral")
    # An access is an argument of an operation. The leases are classes, whose constructors acquire the array.
    accesses = {"read", "overwrite", "update"}
    assert (members() | free_functions()) - accesses == listed | set(ELSEWHERE)


def test_each_trial_calls_what_its_name_says():
    entries = [entry for kind in ("reads", "writes", "neutral") for entry in trials(kind)]
    assert [name for name, code in entries if not re.search(rf"\b{name}\b", code) and "operator" not in name] == []
    assert {name for name, _ in entries if "operator" in name} == {"operator()", "operator="}


def test_operations_are_parsed_from_headers():
    assert {"fill", "ptr", "operator()", "operator=", "resize", "swap", "get_dlpack_tensor", "MemArray"} <= members()
    assert {"sum", "for_each_index", "exclusive_scan", "add_index_tuple", "leases", "thrust_range"} <= free_functions()
    assert "clear" in functions("  void clear(int lock_id = -1) { state().clear(lock_id); }\n")
    assert "make" not in functions("  [[nodiscard]] static MemArray make(int size) {\n")


def test_const_forms_are_reads_and_other_forms_writes():
    text = public_text((INCLUDE / "array" / "mem_array.hpp").read_text())
    both = set(re.findall(r"\b(\w+)\([^()]*\) const \{", text)) & set(re.findall(r"\b(\w+)\([^()]*\) \{", text))
    assert {"ptr", "get_indexer", "host_view"} <= both
    # Each can only read the array or write it: the lists distinguish which form a trial calls.
    both |= {"leases", "for_each_index", "hold", "transform_reduce", "exclusive_scan", "inclusive_scan"}
    assert both - set(ELSEWHERE) - tried("neutral") <= tried("reads") & tried("writes")


def test_operations_elsewhere_are_tried_under_a_lease():
    for name, file in ELSEWHERE.items():
        text = (ARRAY_TESTS / file).read_text()
        assert f"{name}(" in text, name
        assert "LockError" in text, name
