"""The error that g++ prints for a value that would refer to a type caster of pybind11 names the mistake."""

import sysconfig

import pytest
from compiler import run_compiler
from test_compile_errors import first_errors

OVERRIDE = "a method that Python overrides returns an array by value or as a std::shared_ptr"
CAST = "pybind11::cast to a span, mdspan or std::reference_wrapper would leave nothing that keeps the memory"
COMPILES = None


def override(result):
    return f"struct Sub : Base {{ {result} get() {{ PYBIND11_OVERRIDE_PURE({result}, Base, get, ); }} }};"


def cast(result):
    return f"auto get(handle object) {{ return cast<{result}>(object); }}"


def parameters(types):
    return f'void get(module_& m) {{ m.def("f", []({types}) {{}}); }}'


#: A use of the casters -> (the program, a part of its first error). Each wrong one has types of its own, because g++
#: prints the error of a template's instance once.
CASES = {
    "override_returns_reference": (override("Array<float>&"), OVERRIDE),
    "override_returns_const_reference": (override("Array<int> const&"), OVERRIDE),
    "override_returns_pointer": (override("Array<short>*"), OVERRIDE),
    "override_returns_reference_to_pointer": (override("std::shared_ptr<Array<long>> const&"), OVERRIDE),
    "override_returns_value": (override("Array<double>"), COMPILES),
    "override_returns_shared_pointer": (override("std::shared_ptr<Array<double>>"), COMPILES),
    "cast_to_span": (cast("std::span<float const>"), CAST),
    "cast_to_mdspan": (cast("cuda::std::mdspan<int, cuda::std::extents<int, 3>>"), CAST),
    "cast_to_pair_of_spans": (cast("std::pair<int, std::span<short>>"), CAST),
    "cast_to_reference": (cast("std::reference_wrapper<Array<float>>"), CAST),
    "cast_to_value": (cast("Array<double>"), COMPILES),
    "cast_to_pair": (cast("std::pair<Array<double>, memarray::ArrayView<int, 1>>"), COMPILES),
    "reference_parameters": (parameters("Array<double>&, Array<double> const&, Array<double>*"), COMPILES),
    "span_parameters": (parameters("std::span<double>, std::pair<std::span<double>, int>"), COMPILES),
    "other_parameters": (
        parameters("std::reference_wrapper<Array<double>>, std::tuple<Array<double>&, Array<double>*, Array<double>>"),
        COMPILES,
    ),
    "handle_parameters": (parameters("std::shared_ptr<Array<double>> const&, memarray::StreamHandle&"), COMPILES),
}
PROGRAM = """#include <memarray/python/memarray.hpp>
using namespace pybind11;
template <class T>
using Array = memarray::MemArray<T, 1>;
struct Base {};
"""


@pytest.fixture(scope="module")
def errors():
    pybind11 = pytest.importorskip("pybind11")
    folders = (pybind11.get_include(), sysconfig.get_path("include"))
    options = ["-fsyntax-only", "-w", *(option for folder in folders for option in ("-isystem", folder))]
    parts = (f'#line 1 "{name}"\nnamespace {name} {{\n{part}\n}}\n' for name, (part, _) in CASES.items())
    printed = run_compiler(PROGRAM + "".join(parts), *options).stderr
    found = first_errors(printed)
    assert set(found) <= set(CASES), printed
    return found


@pytest.mark.parametrize("name", CASES)
def test_value_that_would_refer_to_its_caster_does_not_compile(errors, name):
    expected = CASES[name][1]
    if expected is COMPILES:
        assert name not in errors
    else:
        assert expected in errors.get(name, "compiled")
