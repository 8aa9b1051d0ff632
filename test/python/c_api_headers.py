"""The declarations in the headers of the C API, read with regular expressions alone."""

import functools
import re
import subprocess
import sys
from pathlib import Path

#: The structs that entries of the table point at: part -> (header, struct).
PARTS = {"arrays": ("c_arrays.h", "MemArrayArrayAPI"), "views": ("c_views.h", "MemArrayViewAPI")}
ENTRY = re.compile(
    r"(?P<result>[\w ]+?\**)\s*\(\*(?P<name>\w+)\)\((?P<parameters>[^)]*)\);"
    r"|(?P<struct>\w+) const\* (?P<part>\w+);"
)


@functools.cache
def folder():
    command = [sys.executable, "-m", "memarray", "--includedir"]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


def header(name="c_api.h"):
    return (folder() / "memarray" / "interop" / name).read_text()


def body_of(text, struct="MemArrayAPI"):
    return re.search(rf"struct {struct} \{{(.*?)\n\}}", text, re.DOTALL)[1]


def declarations(text, struct="MemArrayAPI"):
    """Returns each entry of the table as (result, name, parameter types); for a part, ("part", name, (struct,))."""
    body = re.sub(r"//[^\n]*|\b__memarray_(?:give|take|keep)\b", "", body_of(text, struct))
    found = []
    for entry in ENTRY.finditer(body.split("size_t size;")[1]):
        if entry["part"]:
            found.append(("part", entry["part"], (entry["struct"],)))
            continue
        parameters = [] if entry["parameters"] == "void" else entry["parameters"].split(",")
        types = [re.sub(r"\s*\b\w+$", "", " ".join(parameter.split())) for parameter in parameters]
        found.append((entry["result"].strip(), entry["name"], tuple(types)))
    return found
