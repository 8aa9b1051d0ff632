"""The compiler makes one body of a kernel, or one for each width of its index, and little code beside it."""

import re
from collections import Counter

import pytest
from compiler import run_compiler

#: Kernel -> (launch, bodies, calls of a body). BODY marks the body, with an argument of the type that `auto` deduces.
KERNELS = {
    # one body: the type of the index is written
    "line": (
        "for_each_index({8}, s, [](std::int64_t i, auto y, double& x) { BODY(y); x = y[i]; }, read(a), update(b));",
        1,
        1,
    ),
    "narrow_line": ("for_each_index({8}, s, [](std::int32_t i, double& x) { BODY(i); x = 1; }, update(b));", 1, 1),
    "whole_line": ("for_each_index(b, s, [](auto& x, std::int64_t) { BODY(x); x = 1; });", 1, 1),
    "matrix": (
        "for_each_index({8, 8}, s, [](Wide i, auto y, double& x) { BODY(y); x = y[i]; }, read(m), update(n));",
        1,
        1,
    ),
    "narrow_matrix": ("for_each_index({8, 8}, s, [](Narrow i, auto x) { BODY(x); x[i] = 1; }, write(n));", 1, 1),
    "interior": (
        "for_each_index(interior(n.get_shape(), 1), s, [](Wide i, auto y, double& x) { BODY(y); x = y[i]; }, read(m), "
        "update(n));",
        1,
        1,
    ),
    "view": ("for_each_index({8}, s, [](std::int64_t, auto& x) { BODY(x); x = 1; }, update<double, 1>(bytes));", 1, 1),
    "held": ("hold(s, read(a)).for_each_index({8}, [](std::int64_t, auto y) { BODY(y); });", 1, 1),
    "reduction": (
        "transform_reduce({8}, s, 0.0, plus(), [](std::int64_t i, auto x) { BODY(x); return x[i]; }, read(a));",
        1,
        1,
    ),
    "operation": ("reduce(m, s, 0.0, [](auto x, auto y) { BODY(x); return x + y; });", 1, 6),
    "scan": ("inclusive_scan(a, b, s, [](auto x, auto y) { BODY(x); return x + y; });", 1, 1),
    # `update` alone: rows of 2, 3 and 4 elements, such as coordinates, have loops of their own
    "elements": ("for_each_index({8, 8}, s, [](Wide, auto& x) { BODY(x); x = 1; }, update(n));", 1, 4),
    # two bodies: indices of 32 and of 64 bits
    "generic_line": ("for_each_index({8}, s, [](auto i, double& x) { BODY(i); x = 1; }, update(b));", 2, 1),
    "integral_line": (
        "for_each_index({8}, s, [](std::integral auto i, auto& x) { BODY(i); x = 1; }, update(b));",
        2,
        1,
    ),
    "generic_matrix": (
        "for_each_index({8, 8}, s, [](auto const& i, auto y, auto x) { BODY(i); x[i] = y[i]; }, read(m), write(n));",
        2,
        1,
    ),
    "indexed_update": (
        "for_each_index({8, 8}, s, [](auto i, ArrayIndexer<double, 2> x) { BODY(i); x[i] = 1; }, update(n));",
        2,
        1,
    ),
    "generic_reduction": (
        "transform_reduce({8, 8}, s, 0.0, plus(), [](auto i, auto x) { BODY(i); return x[i]; }, read(m));",
        2,
        1,
    ),
    "generic_elements": ("for_each_index({8, 8}, s, [](auto i, double& x) { BODY(i); x = 1; }, update(n));", 2, 4),
}

# Each instantiation of a body reports `used`, also if it emits no code.
PROGRAM = """#include <memarray/memarray.hpp>
using namespace memarray;
using Wide = cuda::std::array<std::int64_t, 2>;
using Narrow = cuda::std::array<std::int32_t, 2>;
template <class T> [[deprecated]] void used(T const&) {}
struct Arguments {
  StreamHandle s;
  MemArray<double, 1> a, b;
  MemArray<double, 2> m, n;
  BufferView bytes;
};
"""
FUNCTION = """#line 1 "{name}"
void {name}(Arguments& given) {{
  auto& [s, a, b, m, n, bytes] = given;
  {launch}
}}
"""

#: Two kernels that differ in their functors alone.
FUNCTORS = """#include <memarray/memarray.hpp>
using namespace memarray;
template <int factor>
struct Scale {
  void operator()(cuda::std::array<std::int64_t, 2> i, ArrayIndexer<double const, 2> from, double& to) const {
    to = factor * from[i];
  }
};
template <int factor>
void launch_scale(MemArray<double, 2> const& a, MemArray<double, 2>& b, StreamHandle const& s) {
  for_each_index(b.get_shape(), s, Scale<factor>(), read(a), update(b));
}
template void launch_scale<2>(MemArray<double, 2> const&, MemArray<double, 2>&, StreamHandle const&);
template void launch_scale<3>(MemArray<double, 2> const&, MemArray<double, 2>&, StreamHandle const&);
"""


def compiled(program, *options):
    finished = run_compiler(program, "-S", "-o", "-", *options)
    assert finished.returncode == 0, finished.stderr
    return finished


def function_of(name):
    launch = re.sub(r"BODY\((\w)\)", rf'asm volatile("# body of {name}"); used(\1)', KERNELS[name][0])
    return FUNCTION.format(name=name, launch=launch)


@pytest.fixture(scope="module")
def kernels():
    return compiled(PROGRAM + "".join(map(function_of, KERNELS)), "-O0")


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_has_one_body_for_each_width_of_its_index(kernels, name):
    emitted = Counter(re.findall(r"# body of (\w+)", kernels.stdout))
    instantiated = Counter(re.findall(r"^(\w+):\d+:\d+: warning: .* is deprecated", kernels.stderr, re.MULTILINE))
    assert set(emitted) == set(instantiated) == set(KERNELS)
    assert (emitted[name], instantiated[name]) == (KERNELS[name][1],) * 2


@pytest.mark.parametrize("name", KERNELS)
def test_loops_call_each_body_once_but_those_of_short_rows(kernels, name):
    # A call of the lambda in the function `name`.
    calls = re.findall(rf"\b(?:call|bl)\s+_ZZ{len(name)}{name}R", kernels.stdout)
    _, bodies, calls_of_body = KERNELS[name]
    assert len(calls) == bodies * calls_of_body


def test_rows_of_reductions_call_the_functor_in_five_places(kernels):
    calls = Counter(re.findall(r"\b(?:call|bl)\s+(_ZZ\w+12ReduceKernel\w+10reduce_row\w+clE\w*)", kernels.stdout))
    assert sorted(calls.values()) == [5] * 4, "a reduction, one of an operation, one of two bodies"


def test_functor_costs_three_functions_and_its_launch():
    optimized = compiled(FUNCTORS, "-O2").stdout
    functions = re.findall(r"^\s*\.type\s+(\w+),\s*[@%]function", optimized, re.MULTILINE)
    of_two, of_three = ({name for name in functions if f"5ScaleILi{n}E" in name} for n in (2, 3))
    assert of_three == {name.replace("5ScaleILi2E", "5ScaleILi3E") for name in of_two}
    assert sorted(re.search(r"(\d+)(run|copy|destroy)E", name)[2] for name in of_two) == ["copy", "destroy", "run"]
