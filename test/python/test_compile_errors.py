"""The first error that g++ prints for a wrong program names the mistake in plain words."""

import re

import pytest
from compiler import run_compiler

FUNCTOR = "the functor takes the indices, then one argument for each array"
ELEMENT_FIRST = "the functor takes a reference to an element, then the indices"
NAME_ARRAYS = "name the arrays: read(a), write(b), overwrite(c), update(d)"
BY_REFERENCE = "the functor takes an element of an update array by reference: double& x"
ONE_INDEX = "the index of a one-dimensional functor is an integer of 64 bits, or of 32: std::int64_t i"
ORDER = "a functor goes before the arrays, and in a reduction an initial value before the operation"
CUTS = "the values are floating-point numbers, and the result is an integer: give an initial value such as 0.0"
RANGE_RANKS = "the begin and the end of a range have the same rank"
LIST_RANK = "a list names one integer for each dimension of the array"
NOT_A_STREAM = "StreamOrLaunch(const NotAStream&) [with NotAStream = {}"
NOT_TRIVIAL = "the value of a reduction is trivially copyable"
COMPILES = None

#: A mistake -> (the statement with it, a part of the first error).
CASES = {
    # the functor
    "too_few_arguments": ("for_each_index(shape, s, [](auto i, auto x) {}, read(a), read(b));", FUNCTOR),
    "too_many_arguments": ("for_each_index(shape, s, [](auto i, auto x, auto y) {}, read(a));", FUNCTOR),
    "two_indices": ("for_each_index({3, 4}, s, [](int i, int j, double& x) {}, update(a));", FUNCTOR),
    "reference_to_another_type": ("for_each_index(shape, s, [](auto i, int& x) {}, update(a));", FUNCTOR),
    "indexer_of_another_type": (
        "for_each_index(shape, s, [](auto i, ArrayIndexer<int, 2> x) {}, write(a));",
        FUNCTOR,
    ),
    "element_of_read": ("for_each_index(shape, s, [](auto i, double x) {}, read(a));", FUNCTOR),
    "writable_indexer_of_read": (
        "for_each_index(shape, s, [](auto i, ArrayIndexer<double, 2> x) {}, read(a));",
        FUNCTOR,
    ),
    "read_array_written": (
        "for_each_index(shape, s, [](auto i, auto x) { x[i] = 1; }, read(a));",
        "assignment of read-only location",
    ),
    "held_functor": ("hold(s, update(a)).for_each_index({3, 4}, [](auto i) {});", FUNCTOR),
    "reduced_functor": ("transform_reduce(shape, s, 0.0, plus(), [](auto i) { return 1.0; }, read(a));", FUNCTOR),
    "indices_before_element": ("for_each_index(a, s, [](cuda::std::array<int, 2> i, double& x) {});", ELEMENT_FIRST),
    "element_of_another_type": ("for_each_index(a, s, [](int& x, auto i) {});", ELEMENT_FIRST),
    "element_without_index": ("for_each_index(a, s, [](double& x) {});", ELEMENT_FIRST),
    "copy_of_an_element": (
        "for_each_index(shape, s, [](cuda::std::array<std::int64_t, 2> i, double x) {}, update(a));",
        BY_REFERENCE,
    ),
    "copy_of_an_element_by_index": (
        "for_each_index({3}, s, [](std::int64_t i, double x) {}, update(line));",
        BY_REFERENCE,
    ),
    "copy_of_an_element_alone": ("for_each_index(line, s, [](double x, std::int64_t i) {});", BY_REFERENCE),
    "short_index": ("for_each_index({3}, s, [](short i, double& x) {}, update(line));", ONE_INDEX),
    "index_of_a_float": ("for_each_index({3}, s, [](double i, double& x) {}, update(line));", ONE_INDEX),
    "functor_without_copies": (
        "for_each_index({3}, s, [p = std::unique_ptr<int>()](std::int64_t i, double& x) {}, update(line));",
        "each thread calls a copy of the functor: make it copyable",
    ),
    # ranks
    "no_dimensions": (
        "for_each_index(std::array<std::int64_t, 0>(), s, [](auto i, auto x) {}, read(a));",
        "a launch has 1 to 16 dimensions",
    ),
    "no_dimensions_of_a_reduction": (
        "transform_reduce(std::array<std::int64_t, 0>(), s, 0.0, plus(), [](auto i, auto x) { return 1.0; }, read(a));",
        "a launch has 1 to 16 dimensions",
    ),
    "update_of_another_rank": (
        "for_each_index(shape, s, [](auto i, double& x) {}, update(line));",
        "an update array has the rank of the launch",
    ),
    "overwrite_of_fewer_dimensions": (
        "for_each_index(shape, s, [](auto i, auto x) {}, overwrite(line));",
        "an overwrite array has the rank of the launch, or more dimensions",
    ),
    "range_of_two_ranks": ("auto r = range({1}, {3, 4, 5});", RANGE_RANKS),
    "range_of_list_and_shape_of_another_rank": ("auto r = range({1, 2, 3}, shape);", RANGE_RANKS),
    "range_of_shape_and_list_of_another_rank": ("auto r = range(shape, {4});", RANGE_RANKS),
    "range_of_two_shapes": ("auto r = range(line.get_shape(), shape);", RANGE_RANKS),
    "held_rank": (
        "hold(s, update(a)).for_each_index({3}, [](auto i, double& x) {});",
        "an update array has the rank of the launch",
    ),
    "array_of_a_longer_list": ("MemArray<double, 2> c({2, 3, 4});", LIST_RANK),
    "array_of_a_shorter_list": ("MemArray<double, 2> c({2});", LIST_RANK),
    "resize_to_another_rank": ("floats.resize({2});", LIST_RANK),
    "element_of_another_rank": ("line({0, 1});", LIST_RANK),
    "write_of_another_rank": ("numbers.write({0, 1}, 1.0);", LIST_RANK),
    "extents_of_floats": ("MemArray<double, 2> c({2.5, 3});", "no matching function for call to ‘memarray::MemArray<"),
    # accesses
    "no_arrays": ("for_each_index(shape, s, [](auto i) {});", NAME_ARRAYS),
    "array_without_access": ("for_each_index(shape, s, [](auto i, auto x) {}, a);", NAME_ARRAYS),
    "view_without_access": ("for_each_index(shape, s, [](auto i, auto x) {}, view);", NAME_ARRAYS),
    "hold_nothing": ("auto held = hold(s);", "name the arrays: hold(read(a), write(b), …)"),
    "hold_array_without_access": ("auto held = hold(s, a);", "name the arrays: hold(read(a), write(b), …)"),
    "write_const_array": ("write(fixed);", "ArrayIsConst memarray::write("),
    "update_const_array": ("update(fixed);", "ArrayIsConst memarray::update("),
    "overwrite_const_array": ("overwrite(fixed);", "ArrayIsConst memarray::overwrite("),
    "const_array": ("for_each_index(fixed, s, [](double& x, auto i) {});", "ArrayIsConst memarray::for_each_index("),
    "write_const_elements": ("write(view);", "ElementsAreConst memarray::write("),
    "update_const_elements": ("update(view);", "ElementsAreConst memarray::update("),
    "overwrite_const_elements": ("overwrite(view);", "ElementsAreConst memarray::overwrite("),
    "const_elements": (
        "for_each_index(view, s, [](double& x, auto i) {});",
        "a view of const elements is only read: for_each_index(shape, …, read(view))",
    ),
    "write_untyped_const_elements": ("write<double, 2>(bytes);", "ElementsAreConst memarray::write("),
    "untyped_const_elements": (
        "for_each_index<double, 2>(bytes, s, [](double& x, auto i) {});",
        "ElementsAreConst memarray::for_each_index(",
    ),
    "read_untyped": ("read(bytes);", "ElementTypeAndRankAreMissing memarray::read("),
    "update_untyped": ("update(bytes);", "ElementTypeAndRankAreMissing memarray::update("),
    "untyped": (
        "for_each_index(bytes, s, [](double& x, auto i) {});",
        "ElementTypeAndRankAreMissing memarray::for_each_index(",
    ),
    # streams
    "no_stream": (
        "for_each_index(shape, [](auto i, double& x) {}, update(a));",
        NOT_A_STREAM.format("no_stream(Arguments&)::<lambda"),
    ),
    "no_stream_for_elements": ("for_each_index(a, [](double& x, auto i) {});", "StreamIsMissing memarray::for_each_in"),
    "null_stream": (
        "for_each_index({3, 4}, nullptr, [](auto i, double& x) {}, update(a));",
        NOT_A_STREAM.format("std"),
    ),
    "integer_stream": ("for_each_index(shape, 0, [](auto i, double& x) {}, update(a));", NOT_A_STREAM.format("int]")),
    "integer_stream_for_elements": ("for_each_index(a, 0L, [](double& x, auto i) {});", NOT_A_STREAM.format("long")),
    "null_stream_to_hold": ("auto held = hold(nullptr, update(a));", NOT_A_STREAM.format("std::nullptr_t]")),
    "no_stream_to_transform_reduce": (
        "transform_reduce(shape, 0.0, plus(), [](auto i, auto x) { return x[i]; }, read(a));",
        NOT_A_STREAM.format("double]"),
    ),
    "no_initial_value": ("transform_reduce(shape, s, plus(), [](auto i, auto x) { return x[i]; }, read(a));", ORDER),
    "no_functor": ("for_each_index(shape, s, update(a));", ORDER),
    "no_stream_to_reduce": ("reduce(a, 0.0, plus());", "StreamIsMissing memarray::compiled_by_host::reduce("),
    "no_stream_to_sum": ("sum(a);", "StreamIsMissing memarray::sum("),
    "null_stream_to_sum": ("sum(a, nullptr);", NOT_A_STREAM.format("std::nullptr_t]")),
    "no_stream_to_argmin": ("argmin(a);", "StreamIsMissing memarray::compiled_by_host::argmin("),
    "no_stream_to_dot": ("dot(a, b);", "StreamIsMissing memarray::compiled_by_host::dot("),
    "no_stream_to_scan": ("exclusive_scan(a, b);", "StreamIsMissing memarray::compiled_by_host::exclusive_scan("),
    "no_stream_to_sort": ("sort_by_key(line, line);", "StreamIsMissing memarray::sort_by_key("),
    "no_stream_to_transform_reduce_into": (
        "transform_reduce_into(line, shape, 0.0, plus(), [](auto i, auto x) { return x[i]; }, read(a));",
        "StreamIsMissing memarray::compiled_by_host::transform_reduce_into(",
    ),
    "no_stream_to_transform_reduce_into_of_list": (
        "transform_reduce_into(line, {3, 4}, 0.0, plus(), [](auto i, auto x) { return x[i]; }, read(a));",
        "StreamIsMissing memarray::compiled_by_host::transform_reduce_into(",
    ),
    "stream_to_held_loop": (
        "hold(s, update(a)).for_each_index(shape, s, [](auto i, double& x) {});",
        "StreamIsThatOfTheHold memarray::Held<Access>::for_each_index(",
    ),
    "stream_to_held_loop_of_list": (
        "hold(s, update(a)).for_each_index({3, 4}, s, [](auto i, double& x) {});",
        "StreamIsThatOfTheHold memarray::Held<Access>::for_each_index(",
    ),
    "stream_to_held_reduction": (
        "hold(s, read(a)).transform_reduce({3, 4}, s, 0.0, plus(), [](auto i, auto x) { return x[i]; });",
        "StreamIsThatOfTheHold memarray::Held<Access>::transform_reduce(",
    ),
    # reductions and sorts
    "result_is_const": (
        "transform_reduce_into(fixed, shape, s, 0.0, plus(), [](auto i, auto x) { return x[i]; }, read(a));",
        "ArrayIsConst memarray::compiled_by_host::transform_reduce_into(",
    ),
    "result_is_const_for_list": (
        "transform_reduce_into(fixed, {3, 4}, s, 0.0, plus(), [](auto i, auto x) { return x[i]; }, read(a));",
        "ArrayIsConst memarray::compiled_by_host::transform_reduce_into(",
    ),
    "scan_of_two_ranks": ("inclusive_scan(a, line, s);", "RanksDiffer memarray::compiled_by_host::inclusive_scan("),
    "scan_of_two_ranks_with_operation": (
        "exclusive_scan(a, line, s, 0.0, plus());",
        "RanksDiffer memarray::compiled_by_host::exclusive_scan(",
    ),
    "scan_to_const": ("inclusive_scan(a, fixed, s);", "ArrayIsConst memarray::compiled_by_host::inclusive_scan("),
    "scan_to_const_with_operation": (
        "exclusive_scan(a, fixed, s, 0.0, plus());",
        "ArrayIsConst memarray::compiled_by_host::exclusive_scan(",
    ),
    "keys_of_two_dimensions": ("sort_by_key(a, line, s);", "KeysAreNotOneDimensional memarray::sort_by_key("),
    "struct_keys": ("sort_by_key(structs, line, s);", "keys are integers or floating-point numbers"),
    "sort_of_const_values": ("sort_by_key(line, fixed, s);", "ArrayIsConst memarray::sort_by_key("),
    "sort_by_const_keys": ("sort_by_key(std::as_const(line), a, s);", "ArrayIsConst memarray::sort_by_key("),
    "atomic_add_of_another_type": ("int count = 0; atomic_add(count, 1.5);", "TypesDiffer memarray::atomic_add("),
    "value_with_destructor": ("reduce(a, s, std::string(), plus());", NOT_TRIVIAL),
    "value_with_destructor_of_functor": (
        "transform_reduce(shape, s, std::string(), plus(), [](auto i, auto x) { return std::string(); }, read(a));",
        NOT_TRIVIAL,
    ),
    "value_with_destructor_in_a_hold": (
        "hold(s, read(a)).transform_reduce(shape, std::string(), plus(), "
        "[](auto i, auto x) { return std::string(); });",
        NOT_TRIVIAL,
    ),
    "operation_of_one_value": (
        "transform_reduce(shape, s, 0.0, [](double x) { return x; }, [](auto i, auto x) { return x[i]; }, read(a));",
        "the operation of a reduction combines two values of its type",
    ),
    "operation_of_one_value_in_a_scan": (
        "inclusive_scan(a, b, s, [](double x) { return x; });",
        "the operation of a scan combines two values of the result's type",
    ),
    "integer_sum_of_floats": ("reduce(a, s, 0, plus());", CUTS),
    "integer_sum_of_float_results": (
        "transform_reduce({3}, s, 0, plus(), [](std::int64_t i, auto x) { return x[i] / 2; }, read(line));",
        CUTS,
    ),
    "unsigned_sum_of_signed": (
        "MemArray<std::int32_t, 1> x({3}); reduce(x, s, std::size_t{0}, plus());",
        "the elements are signed, and the result is unsigned: give an initial value such as std::int64_t{0}",
    ),
    "element_and_indexer_of_updates": (
        "for_each_index({3}, s, [](auto i, double& x, ArrayIndexer<double, 1> y) {}, update(line), update(line));",
        "for update(…) a reference to an element, for all of them or for none",
    ),
    "integer_sum_of_16_bits": ("MemArray<float16, 1> x({3}); reduce(x, s, 0, plus());", CUTS),
    "integer_sum_of_16_bit_results": (
        "transform_reduce({3}, s, 0, plus(), [](std::int64_t i, auto x) { return bfloat16(x[i]); }, read(line));",
        CUTS,
    ),
    "integer_scan_of_16_bits": (
        "MemArray<bfloat16, 1> x({3}); MemArray<int, 1> counts({3}); inclusive_scan(x, counts, s);",
        CUTS,
    ),
    "integer_scan_of_floats": ("MemArray<int, 2> counts({3, 4}); exclusive_scan(a, counts, s);", CUTS),
    "nothing_to_reduce": (
        "transform_reduce(shape, s, 0.0, plus(), [](auto i, auto x) {}, read(a));",
        "the functor of a reduction returns its type of values",
    ),
    "complex_extreme": ("max(numbers, s);", "min and max need elements with an order"),
    "complex_position": ("argmax(numbers, s);", "argmin and argmax need elements with an order"),
    "complex_keys": ("sort_by_key(numbers, line, s);", "keys are integers or floating-point numbers"),
    "dot_of_two_types": ("dot(a, floats, s);", "TypesOrRanksDiffer memarray::compiled_by_host::dot("),
    "dot_of_two_ranks": ("dot(a, line, s);", "TypesOrRanksDiffer memarray::compiled_by_host::dot("),
    # bundles
    "bundle_misses_a_member": (
        "for_each_index({3}, s, [](auto i, auto nodes) {}, write(incomplete));",
        "MEMARRAY_BUNDLE lists all members, and no others",
    ),
    "bundle_without_members": ("read(bare);", "a bundle names its members: MEMARRAY_BUNDLE(x, v)"),
    "const_bundle": ("write(std::as_const(incomplete));", "ArrayIsConst memarray::write("),
    "overwrite_bundle": ("overwrite(incomplete);", "BundlesAreOnlyReadOrWritten memarray::overwrite("),
    # valid programs
    "extents_of_several_types": ("enum { four = 4 }; MemArray<double, 2> c({four, std::string().size()});", COMPILES),
    "int_index": ("for_each_index({3}, s, [](int i, double& x) {}, update(line));", COMPILES),
    "indexer_of_update": ("for_each_index(shape, s, [](auto i, ArrayIndexer<double, 2> x) {}, update(a));", COMPILES),
    "range_of_list_and_shape": (
        "for_each_index(range({1, 1}, shape), s, [](auto i, double& x) {}, update(a));",
        COMPILES,
    ),
    "conditions_of_floats": ("reduce(a, s, false, logical_or());", COMPILES),
    "initial_value_of_a_scan": ("exclusive_scan(a, b, s, 3);", COMPILES),
    "fraction_in_an_integer_scan": ("MemArray<int, 1> c({3}), d({3}); exclusive_scan(c, d, s, 0.9);", CUTS),
    "element_by_const_reference": ("for_each_index(line, s, [](double const& x, std::int64_t i) {});", COMPILES),
    "keys_of_16_bits": ("MemArray<float16, 1> keys({3}); sort_by_key(keys, a, s);", COMPILES),
    "scan_from_integer": ("exclusive_scan(a, floats, s, 3, plus()); inclusive_scan(a, b, s, plus());", COMPILES),
    "scans_with_names_of_std": (
        "inclusive_scan(a, b, s); exclusive_scan(a, b, s); exclusive_scan(a, b, s, 1); "
        "exclusive_scan(a, b, s, 1.0F, plus());",
        COMPILES,
    ),
    "reductions_with_names_of_std": (
        "reduce(a, s, 0.0, plus()); min(a, s); max(a, s); minmax(a, s); sum(a, s); dot(a, b, s); argmin(a, s);",
        COMPILES,
    ),
    "scan_to_another_type": ("exclusive_scan(a, floats, s, 0.0F, plus());", COMPILES),
    "sum_into_element": (
        "transform_reduce_into(line, {3, 4}, s, 0.0, plus(), [](auto i, auto x) { return x[i]; }, read(a));",
        COMPILES,
    ),
    "settings": ("for_each_index(a, launch{.threads = 1}, [](double& x, auto i) {});", COMPILES),
    "typed_bytes": ("for_each_index(shape, s, [](auto i, auto x) {}, read<double, 2>(bytes));", COMPILES),
}

# Two headers with functions of std that have the same names: an unqualified call with a stream finds them, too.
PROGRAM = """#include <memarray/memarray.hpp>
#include <algorithm>
#include <complex>
#include <memory>
#include <numeric>
#include <string>
using namespace memarray;
template <template <class, int> class Array>
struct Incomplete { Array<double, 1> x, v; MEMARRAY_BUNDLE(x) };
template <template <class, int> class Array>
struct Bare { Array<double, 1> x; };
struct Number {
  double value;
  operator float() const { return static_cast<float>(value); }
};
MEMARRAY_FIELDS(Number, value);
struct Arguments {
  std::array<std::int64_t, 2> shape;
  StreamHandle s;
  MemArray<double, 1> line;
  MemArray<Number, 1> structs;
  MemArray<double, 2> a, b;
  MemArray<double, 2> const fixed;
  MemArray<float, 2> floats;
  MemArray<std::complex<double>, 1> numbers;
  ArrayView<double const, 2> view;
  ConstBufferView bytes;
  Incomplete<MemArray> incomplete;
  Bare<MemArray> bare;
};
"""
FUNCTION = """#line 1 "{name}"
void {name}(Arguments& given) {{
  auto& [shape, s, line, structs, a, b, fixed, floats, numbers, view, bytes, incomplete, bare] = given;
  {statement}
}}
"""


def first_errors(printed):
    """Returns the first error of each case. The case is named in the error itself, or in an earlier line with the place
    where a template is used."""
    found, case = {}, None
    for line in printed.splitlines():
        named = re.match(r"(?:In file included from )?(\w+):\d+", line)
        case = named[1] if named else case
        if " error: " in line:
            found.setdefault(case, line.split(" error: ")[1])
    return found


@pytest.fixture(scope="module")
def errors():
    program = PROGRAM + "".join(FUNCTION.format(name=name, statement=case[0]) for name, case in CASES.items())
    found = first_errors(printed := printed_errors(program))
    assert set(found) <= set(CASES), printed
    return found


def printed_errors(program, *options):
    """Returns the errors that g++ prints."""
    return run_compiler(program, "-fsyntax-only", "-w", "-fmax-errors=0", *options).stderr


@pytest.mark.parametrize("name", CASES)
def test_first_error_names_the_mistake(errors, name):
    statement, expected = CASES[name]
    if expected is COMPILES:
        assert name not in errors
    else:
        assert expected in errors.get(name, "compiled"), statement


EVERY_MEMBER = "MEMARRAY_FIELDS names every member once, in the order of declaration"
BYTES = "elements are moved as bytes, so their type must be trivially copyable"
KINDS = "a field is a number, a bool, an enum, a char, a struct with a dtype, or an array of these"

#: A mistake -> (the members of a struct, the listed fields, a part of an error).
FIELDS = {
    "member_left_out": ("float x; int id;", "x", EVERY_MEMBER),
    "members_swapped": ("float x; int id;", "id, x", EVERY_MEMBER),
    "member_twice": ("float x; int id;", "x, x, id", EVERY_MEMBER),
    "no_such_member": ("float x;", "x, y", "‘y’ is not a member of ‘Given’"),
    "pointer": ("float* x;", "x", KINDS),
    "string": ("std::string x;", "x", KINDS),
    "not_trivially_copyable": ("Given() = default; Given(Given const&) {} float x;", "x", BYTES),
    "no_default_constructor": ("explicit Given(int) {} float x;", "x", "their type needs a default constructor"),
    "two_access_levels": ("float x; private: int id;", "x", "known in a standard-layout struct only"),
    "valid": ("float x; int id; double y[2];", "x, id, y", COMPILES),
}


@pytest.mark.parametrize("name", FIELDS)
def test_wrong_lists_of_fields_do_not_compile(name):
    members, fields, expected = FIELDS[name]
    printed = printed_errors(f"""#include <memarray/base/struct_fields.hpp>
struct Given {{ {members} }};
MEMARRAY_FIELDS(Given, {fields});
auto const& dtype = memarray::dtype_of<Given>();
""")
    assert expected in printed if expected else not printed


def test_errors_are_found_where_the_compiler_prints_them():
    printed = """one: In function 'void one()':
one:3:9: error: use of deleted function
header.hpp: In instantiation of 'void f()':
two:3:4:   required from here
header.hpp:7:9: error: static assertion failed
header.hpp:8:9: error: another
"""
    assert first_errors(printed) == {"one": "use of deleted function", "two": "static assertion failed"}


@pytest.mark.parametrize("setting", ["-D_GLIBCXX_DEBUG", "-D_GLIBCXX_USE_CXX11_ABI=0"])
def test_programs_with_another_layout_of_containers_are_refused(setting):
    printed = printed_errors("#include <memarray/memarray.hpp>\n", setting)
    assert "static assertion failed: this code is compiled with _GLIBCXX_DEBUG" in printed
    assert not printed_errors("#include <memarray/memarray.hpp>\n", "-D_GLIBCXX_ASSERTIONS")
