"""Rows of bench/: the page describes each, their programs are built, and absent peers are listed with the reason."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from harness import kernel_sources, measure, programs, registry, table

BENCH = Path(__file__).resolve().parents[2] / "bench"


def described(page: str) -> list[str]:
    """The names in the first column of the page's table of rows."""
    rows = page.split("\n## Rows\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*`) \|", rows, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def targets() -> set[str]:
    text = (BENCH / "native" / "CMakeLists.txt").read_text(encoding="utf-8")
    loops = re.findall(r"foreach\(\w+ IN ITEMS ([^)]+)\)", text)
    return {*re.findall(r"add_executable\((\w+)", text), *(name for names in loops for name in names.split())}


def test_page_describes_every_row_once():
    assert sorted(described((BENCH / "README.md").read_text(encoding="utf-8"))) == sorted(registry.all_rows())


def test_only_the_table_of_rows_is_read():
    page = "# Bench\n\n## Rows\n\n| row | beside |\n|---|---|\n| `a`, `b` | x |\n\n## Others\n\n| `c` | y |\n"
    assert described(page) == ["a", "b"]


def test_programs_of_rows_are_built():
    called = {
        name
        for path in (BENCH / "rows").glob("*.py")
        for name in re.findall(r'sampled\(\s*"(\w+)"', path.read_text(encoding="utf-8"))
    }
    assert called >= {"bandwidth", "handle_costs"}
    assert called <= targets()


@pytest.fixture
def native(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_absent_peer_is_in_the_table_with_the_reason(native):
    (native / "absent.txt").write_text("Kokkos (not installed)\n")
    comparison = measure.Comparison(
        "a loop",
        1.0,
        measure.Candidate("memarray", lambda: 1.0),
        [measure.Candidate("plain loop", lambda: 2.0)],
        note=programs.absent("Kokkos", "TBB"),
    )
    result = measure.compare("loops", comparison, 1, 3)
    assert table.formulations([result]).endswith("plain loop: 0.5; absent: Kokkos (not installed) |")


def test_no_note_of_peers_that_are_present_or_of_other_rows(native):
    (native / "absent.txt").write_text("Kokkos (not installed)\n")
    assert programs.absent("OpenMP", "TBB") == ""


@pytest.mark.parametrize("model", kernel_sources.HEADERS)
def test_generated_kernels_differ_and_use_six_arrays(model):
    functions = kernel_sources.kernels(model, 40).split("\nvoid kernel")[1:]
    assert len(functions) == 40
    assert {re.search(r"double const k = (\d+\.5);", body)[1] for body in functions} == {f"{k}.5" for k in range(1, 41)}
    for body in functions:
        assert "{k}" not in body
        assert set("abcdeg") <= set(re.findall(r"\b([a-g])\b", body))


def test_include_alone_is_the_header_of_the_kernels():
    for model, header in kernel_sources.HEADERS.items():
        assert kernel_sources.kernels(model, 1).startswith(kernel_sources.include(model))
        assert kernel_sources.include(model) == f"#include <{header}>\n"


def published() -> str:
    return (BENCH.parent / "docs" / "benchmarks.md").read_text(encoding="utf-8")


def test_published_page_has_the_form_that_is_written():
    preamble = (BENCH / "run").read_text(encoding="utf-8").split('PREAMBLE = """')[1].split('"""')[0]
    page = published()
    for line in preamble.splitlines():
        for part in re.split(r"\{\w+\}", line):
            assert part in page


def with_figures(page: str) -> set[str]:
    """Returns the rows of the page's first table."""
    return set(re.findall(r"^\| `([^`]+)` \|", page.split("\n## ")[0], re.MULTILINE))


def without_figures(page: str) -> set[str]:
    """Returns the rows that the page lists as not measured."""
    pending = re.search(r"^Not measured yet: (.*)\.$", page, re.MULTILINE)
    return set(re.findall(r"`([^`]+)`", pending[1])) if pending else set()


def test_published_page_has_every_row_in_its_table_or_as_not_measured():
    page = published()
    assert with_figures(page) | without_figures(page) == set(registry.all_rows())
    assert with_figures(page) & without_figures(page) == set()


@pytest.mark.parametrize("row", ["stencil", "pool"])
def test_row_that_the_published_page_lacks_is_found(row):
    page = "\n".join(line for line in published().splitlines() if not line.startswith(f"| `{row}` |"))
    page = page.replace(f", `{row}`", "")
    assert set(registry.all_rows()) - with_figures(page) - without_figures(page) == {row}


def test_table_names_the_row_of_each_comparison():
    result = measure.judge("wheel", measure.Value("size of the wheel", 6, "MiB", [5.5]), 1)
    assert with_figures(table.summary([result])) == {"wheel"}


def result(row: str, median: float, **fields) -> measure.Result:
    fields = {"against": "NumPy", "goal": "≤ 1", **fields}
    return measure.Result(row, "a loop", 1, median=median, minimum=median, met=True, **fields)


def test_chart_shows_the_range_of_each_row():
    lines = table.chart(
        [
            result("fast", 0.5),
            result("wide", 0.25),
            result("wide", 2),
            result("twice", 2, goal="≥ 1"),
            result("outside", 1000),
            result("limit", 7, unit="MB"),
        ]
    ).splitlines()
    one = lines[0].index(" 1 ") + 1
    bars = {line.split()[0]: line[8:] for line in lines[1:]}
    assert sorted(bars) == ["fast", "outside", "twice", "wide"]
    half = one - 8 - table.COLUMNS
    assert bars["fast"] == bars["twice"] == " " * half + "━" + " " * (table.COLUMNS - 1) + "│"
    assert bars["wide"] == " " * (half - table.COLUMNS) + "━" * (3 * table.COLUMNS + 1)
    assert bars["outside"].endswith("▶")
