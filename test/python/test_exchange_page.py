"""docs/guide/libraries.md against real results; ``python test/python/exchange_page.py --update`` rewrites it."""

import pytest
from exchange_page import NEVER_SEEN, PAGE, TABLES, Table, committed, render, updated

# torch.asarray warns about read-only memory.
pytestmark = [
    pytest.mark.sweep,
    pytest.mark.filterwarnings(
        "ignore:The given buffer is not writable", "ignore:The given NumPy array is not writable"
    ),
]
COMMITTED = committed(PAGE.read_text())
ROWS = [
    pytest.param(table, name, marks=[pytest.mark.slow] if table == "believed" else [])
    for table, rows in TABLES.items()
    for name in rows.modules
]


@pytest.mark.parametrize(("table", "name"), ROWS)
def test_page_matches_actual_exchange_results(table, name):
    if not TABLES[table].is_available(name):
        pytest.skip(f"{TABLES[table].modules[name]}, or a device that it uses, is not here: nothing is claimed of it")
    said = COMMITTED[table][name]
    assert {head: said[head] for head in TABLES[table].columns} == TABLES[table].run(name)


def test_the_page_has_every_row_and_column():
    assert COMMITTED.keys() == TABLES.keys()
    for table, rows in TABLES.items():
        assert list(COMMITTED[table]) == list(rows.modules)
        for cells in COMMITTED[table].values():
            assert list(cells) == [*rows.columns, "seen with"]


def page(**rows):
    return f"before\n<!-- table: some -->\n{render(SOME, rows)}<!-- end -->\nafter\n"


SOME = Table({"here": "numpy", "seen elsewhere": "no_such_module", "never seen": "no_such_module"}, {"works": len})


def test_update_keeps_rows_of_missing_libraries_or_marks_them():
    rows = {"here": {"works": "?", "seen with": "?"}, "seen elsewhere": {"works": "yes", "seen with": "7"}}
    SOME.columns["works"] = lambda name: f"{name}, now"
    text = updated(page(**rows), {"some": SOME})
    found = committed(text)["some"]
    assert found["here"]["works"] == "here, now"
    assert found["seen elsewhere"] == {"works": "yes", "seen with": "7"}
    assert found["never seen"] == {"works": NEVER_SEEN, "seen with": "–"}
    assert text.startswith("before\n") and text.endswith("after\n")
    assert updated(text, {"some": SOME}) == text


def test_unseen_libraries_are_marked_as_never_seen():
    for table in COMMITTED.values():
        for cells in table.values():
            assert (NEVER_SEEN in cells.values()) == (cells["seen with"] == "–")
