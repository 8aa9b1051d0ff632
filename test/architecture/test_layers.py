"""The tree keeps its rules, and each rule finds planted violations."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import rules

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_tree_obeys_rule(rule):
    assert rule(ROOT) == []


def test_rules_see_source_files():
    assert sum(1 for _ in rules.code(ROOT)) >= 10


# Files that break a rule, and files below that look alike but keep it.
BREAKS = {
    rules.includes_only_go_up: [
        ("include/memarray/base/a.hpp", "#include <memarray/array/b.hpp>\n"),
        ("src/memory/a.cpp", '#  include "memarray/interop/b.hpp"\n'),
        ("src/memory/a.cpp", "#include <array/private.hpp>\n"),
        ("include/memarray/array/a.hpp", "#include <memarray/memarray.hpp>\n"),
        ("src/memory/a.cpp", "#include <memarray/cuda_mr.hpp>\n"),
        ("include/memarray/interop/a.h", "#include <memarray/c_api.h>\n"),
    ],
    rules.python_only_where_allowed: [
        ("src/array/a.cpp", "#include <Python.h>\n"),
        ("include/memarray/interop/other.hpp", "#include <Python.h>\n"),
    ],
    rules.pybind11_only_where_allowed: [("include/memarray/interop/c_api.hpp", "#include <pybind11/pybind11.h>\n")],
    rules.thrust_only_where_allowed: [("include/memarray/array/a.hpp", "#include <thrust/host_vector.h>\n")],
    rules.cub_only_in_device_code: [("src/array/a.cpp", "#include <cub/cub.cuh>\n")],
    rules.toolkit_headers_not_in_public_headers: [("include/memarray/driver/a.hpp", "#include <cuda.h>\n")],
    rules.the_runtime_only_by_choice: [
        ("include/memarray/memory/a.hpp", "#include <cuda/memory_resource>\n"),
        ("src/driver/a.cpp", "#include <cuda/stream_ref>\n"),
    ],
    rules.one_include_brings_no_thrust: [("include/memarray/memarray.hpp", "#include <thrust/device_vector.h>\n")],
    rules.c_headers_stand_alone: [
        ("include/memarray/interop/a.h", "#include <memarray/version.hpp>\n"),
        ("include/memarray/interop/a.h", "#include <Python.h>\n"),
        ("include/memarray/interop/a.h", "#include <cstdint>\n"),
    ],
    rules.streams_are_ordered_in_one_place: [
        ("src/driver/a.cpp", "static_cast<void>(table.cuStreamWaitEvent(stream, event, 0));\n"),
        ("src/memory/a.cpp", "succeeded(scope.driver()->cuStreamSynchronize(*stream));\n"),
        ("src/driver/a.cpp", "auto const waits = &driver().cuEventSynchronize;\n"),
        ("include/memarray/array/a.hpp", "driver()\n    ->cuEventRecord(*event, *stream);\n"),
        ("python/bindings/a.cpp", "table->cuCtxSynchronize();\n"),
    ],
    rules.sources_have_their_header: [("src/base/lonely.cpp", "\n")],
    rules.headers_have_their_test: [
        ("include/memarray/base/lonely.hpp", "\n"),
        ("include/memarray/interop/lonely.h", "\n"),
    ],
    rules.readme_has_two_set_up_commands: [("README.md", "```sh\n./test/run\n```\n")],
    rules.examples_leave_loops_to_kernels: [
        ("examples/a/src/b.cpp", "double* x = array.ptr();\n"),
        ("examples/a/src/b.cu", "std::memcpy(a, b, n);\n"),
    ],
    rules.new_references_are_held: [
        ("python/bindings/a.cpp", "void f() {\n  PyObject* const x = PyList_New(0);\n  g();\n  Py_DECREF(x);\n}\n"),
        ("python/bindings/a.cpp", "void f() {\n  auto* x = PyTuple_New(0);\n  if (x) Py_XDECREF(x);\n}\n"),
        ("python/bindings/a.hpp", "void f() {\n  PyObject *x = PyDict_New();\n  g(x);\n  Py_CLEAR(x);\n}\n"),
    ],
    rules.no_unfinished_work: [("src/base/a.cpp", "// " + "TODO: more\n")],
    rules.files_are_short: [("src/base/a.hpp", "\n" * 401)],
    rules.files_are_text: [("tool.whl", "PK\x03\x04\x00"), ("python/memarray/a.bin", "\udcff")],
}
KEEPS = {
    rules.includes_only_go_up: [
        ("include/memarray/array/a.hpp", "#include <memarray/base/b.hpp>\n#include <memarray/array/c.hpp>\n"),
        ("include/memarray/python/a.hpp", "#include <memarray/memarray.hpp>\n"),
        ("src/base/a.cpp", "#include <memarray/version.hpp>\n#include <array>\n"),
    ],
    rules.python_only_where_allowed: [("src/interop/py_resource.cpp", "#include <Python.h>\n")],
    rules.pybind11_only_where_allowed: [("python/bindings/a.cpp", "#include <pybind11/pybind11.h>\n")],
    rules.thrust_only_where_allowed: [("src/memory/a.cpp", "#include <thrust/host_vector.h>\n")],
    rules.cub_only_in_device_code: [("src/array/a.cu", "#include <cub/cub.cuh>\n")],
    rules.toolkit_headers_not_in_public_headers: [("src/driver/a.cpp", "#include <cuda.h>\n")],
    rules.the_runtime_only_by_choice: [
        ("include/memarray/cuda_mr.hpp", "#include <cuda/memory_resource>\n#include <cuda/stream_ref>\n"),
        ("include/memarray/array/a.hpp", "#include <cuda/std/array>\n"),
    ],
    rules.one_include_brings_no_thrust: [("include/memarray/thrust.hpp", "#include <thrust/device_vector.h>\n")],
    rules.c_headers_stand_alone: [
        ("include/memarray/interop/a.h", "#include <stdint.h>\n"),
        ("include/memarray/interop/b.hpp", "#include <memarray/base/c.hpp>\n"),
    ],
    rules.sources_have_their_header: [
        ("src/base/pair.cpp", "\n"),
        ("src/base/pair.hpp", "\n"),
        ("src/interop/api.cpp", "\n"),
        ("include/memarray/interop/api.h", "\n"),
    ],
    rules.streams_are_ordered_in_one_place: [
        ("src/driver/stream_order.cpp", "driver.cuStreamWaitEvent(*stream, *event, 0);\n"),
        ("src/driver/simulated/a.cpp", "table->cuStreamSynchronize(stream);\n"),
        ("src/driver/a.cpp", "table.cuStreamWaitEventLike(s);\ntable.cuEventCreate(&event, 0);\n"),
        ("include/memarray/driver/a.hpp", "X(cuEventRecord, 2000, (Event event))\n"),
    ],
    rules.headers_have_their_test: [
        ("include/memarray/base/a.hpp", "\n"),
        ("test/cpp/base/test_a.cpp", "\n"),
        ("include/memarray/python/b.hpp", "\n"),
    ],
    rules.readme_has_two_set_up_commands: [
        ("README.md", "```sh\npip install '.[demo]' && python -m memarray demo\n./test/run\n```\n")
    ],
    rules.examples_leave_loops_to_kernels: [("examples/a/src/b.cpp", "for_each_index(array, stream, f);\n")],
    rules.new_references_are_held: [
        (
            "python/bindings/a.cpp",
            "void dealloc(PyObject* self) {\n  PyTypeObject* const type = Py_TYPE(self);\n  Py_DECREF(type);\n}\n"
            "void f() {\n  PyObject* const x = self;\n}\nvoid drop(PyObject* x) {\n  Py_DECREF(x);\n}\n",
        )
    ],
    rules.no_unfinished_work: [("src/base/a.cpp", "// nothing left to do\n")],
    rules.files_are_short: [("src/base/a.hpp", "\n" * 400)],
    rules.files_are_text: [("test/fuzz/corpus/views/a", "\x00"), ("docs/a.md", "β\n")],
}


def plant(root: Path, *files: tuple[str, str]) -> Path:
    subprocess.run(["git", "init", "--quiet", root], check=True)
    for name, text in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, errors="surrogateescape")
    return root


@pytest.mark.parametrize(
    ("rule", "file"),
    [(rule, file) for rule, files in BREAKS.items() for file in files],
    ids=lambda value: str(value)[:40],
)
def test_a_planted_violation_is_found(rule, file, tmp_path):
    assert len(rule(plant(tmp_path, file))) == 1


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_allowed_code_passes(rule, tmp_path):
    assert rule(plant(tmp_path, *KEEPS[rule])) == []


def test_indirect_include_of_thrust_is_found(tmp_path):
    plant(
        tmp_path,
        ("include/memarray/memarray.hpp", "#include <memarray/memory/a.hpp>\n"),
        ("include/memarray/memory/a.hpp", "#include <thrust/host_vector.h>\n"),
    )
    assert rules.one_include_brings_no_thrust(tmp_path) == [
        "memarray/memarray.hpp brings thrust/host_vector.h (by memarray/memory/a.hpp)"
    ]
