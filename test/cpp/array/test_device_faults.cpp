// Fails each driver call that C++ programs on device arrays make, alone and together with all later calls of its
// function. The outcome is success, or an exception that reports the failure and leaves the arrays in their old or
// their intended state. MEMARRAY_NIGHTLY in the environment tries every code for each call instead of one.

#include <memarray/driver/stream_order.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device_world.hpp"

namespace memarray {
namespace {

using test::add;
using test::DeviceWorld;

constexpr std::int64_t length = 40;

char const* const functions[] = {
#define MEMARRAY_NAME(name, version, parameters) #name,
    MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_NAME) "cuLaunchKernel",
#undef MEMARRAY_NAME
};
/// Out of memory, launch failure, unknown.
constexpr std::array codes = {2, 719, 999};

/// True if `function` releases a resource. If that fails, the resource leaks, and so does everything it depends on.
bool loses(std::string_view function) {
  return function.ends_with("Destroy") || function.find("Free") != std::string_view::npos ||
         function == "cuDevicePrimaryCtxRelease";
}

struct World : DeviceWorld {
  using DeviceWorld::DeviceWorld;
  std::optional<MemArray<int, 2>> matrix;
};

/// The observable state of an array.
struct Look {
  std::vector<std::int64_t> shape;
  std::vector<int> elements;
  bool on_device = false;
  int device = 0;
  std::int64_t lock_id = -1;

  friend bool operator==(Look const&, Look const&) = default;
  friend void PrintTo(Look const& look, std::ostream* out) {
    *out << ::testing::PrintToString(look.shape) << (look.on_device ? " on device " : " on the host, of device ")
         << look.device << ", lock id " << look.lock_id << ", " << ::testing::PrintToString(look.elements);
  }
};

template <int ndim>
Look look(MemArray<int, ndim> const& array) {
  MemArray<int, ndim> copy = array;
  copy.move_memory(kDLCPU, 0, 0, -1, false);
  return {{array.get_shape().begin(), array.get_shape().end()},
          test::contents(copy),
          array.get_on_device(),
          array.get_device_id(),
          array.get_lock_id()};
}

/// Moves the arrays to cuda:0. The last operation on `array` is pending in the first stream.
void prepare(World& w, testing::SimulatedDevices& sim) {
  for (World::Array* const array : {&w.array, &w.other, &w.third, &w.on_host}) test::count_up(*array);
  w.move_to_device();
  sim.delay(std::chrono::milliseconds(2));
  add(w.array, w.first_stream, 2);
}

std::vector<Look> look_at_all(World const& w) {
  std::vector<Look> looks = {look(w.array), look(w.other), look(w.third), look(w.on_host)};
  if (w.made) looks.push_back(look(*w.made));
  if (w.matrix) looks.push_back(look(*w.matrix));
  if (w.exported.is_versioned() && synchronize_all()) {
    auto const* const elements = static_cast<int const*>(testing::detail::reachable(w.exported.tensor().data));
    std::int64_t const size = w.exported.tensor().shape[0];
    looks.push_back({{size}, {elements, elements + size}});
  }
  return looks;
}

struct Program {
  char const* name;
  void (*run)(World&);
  void (*prepare)(World&) = [](World&) {};
};
void PrintTo(Program const& program, std::ostream* out) { *out << program.name; }

void export_a_view(World& w) { w.exported = w.array.get_dlpack_tensor(true); }

/// Makes an array for the value of a reduction.
void make_result(World& w) {
  w.made.emplace(std::array<std::int64_t, 1>{1});
  w.made->fill(-1);
  w.made->move_memory(kDLCUDA, 0, 0, -1, false);
}
void make_matrix(World& w) {
  w.matrix.emplace(std::array<std::int64_t, 2>{length, 3});
  w.matrix->fill(-1);
  w.matrix->move_memory(kDLCUDA, 0, 0, -1, false);
}

template <template <class, int> class Array>
struct Pair {
  Array<int, 1> first, second;
  MEMARRAY_BUNDLE(first, second)
};
Pair<MemArray> pair_of(World& w) {
  using Array = World::Array;
  return {Array::share(w.array.state_ptr()), Array::share(w.other.state_ptr())};
}

constexpr auto element = [](std::int64_t i, auto const& x) { return x[i]; };
constexpr auto add_ten = [](std::int64_t, int& own) { own += 10; };
constexpr auto set_index = [](std::int64_t i, auto const& x) { x[i] = static_cast<int>(i); };

Program const programs[] = {
    {"a_kernel", [](World& w) { add(w.array, w.second_stream, 1); }},
    {"a_kernel_in_the_default_stream", [](World& w) { add(w.array, default_stream(), 1); }},
    {"a_kernel_over_four_arrays",
     [](World& w) {
       for_each_index(
           {length}, w.second_stream,
           [](auto const& i, auto const& from, auto const& changed, auto const& set, int& own) {
             *changed.get(i[0]) += *from.get(i[0]);
             *set.get(i[0]) = own;
             own += *from.get(i[0]);
           },
           read(w.third), write(w.other), overwrite(*w.made), update(w.array));
     },
     [](World& w) { w.made.emplace(w.third); }},
    {"a_kernel_that_adds_atomically",
     [](World& w) {
       for_each_index(
           {length}, w.second_stream,
           [](auto const& i, auto const& from, auto const& to) { atomic_add(*to.get(0), *from.get(i[0])); },
           read(w.array), write(w.other));
     }},
    {"a_kernel_under_an_escaped_view", [](World& w) { add(w.array, w.second_stream, 1); }, export_a_view},
    {"an_element_read", [](World& w) { EXPECT_EQ(w.array({5}), 7); }},
    {"an_element_written", [](World& w) { w.array.write({5}, 70); }},
    {"an_element_written_under_an_escaped_view", [](World& w) { w.array.write({5}, 70); }, export_a_view},
    {"a_pointer_to_read", [](World& w) { static_cast<void>(std::as_const(w.array).ptr()); }},
    {"a_pointer_to_write", [](World& w) { static_cast<void>(w.array.ptr()); }},
    {"a_read_lease",
     [](World& w) { static_cast<void>(ReadLease<int, 1>(w.array, {.stream = w.second_stream}).ptr()); }},
    {"a_write_lease",
     [](World& w) { static_cast<void>(WriteLease<int, 1>(w.array, {.stream = w.second_stream}).ptr()); }},
    {"a_lease_with_a_kernel",
     [](World& w) {
       WriteLease<int, 1> const lease(w.array, {.stream = w.second_stream});
       add(w.array, default_stream(), 1, lease.lock_id());
     }},
    {"a_lease_that_is_exported",
     [](World& w) {
       detail::LeaseCore lease(w.array.state_ptr(), detail::LeaseCore::Kind::write, {.stream = w.second_stream});
       lease.enter();
       DLPackTensor const tensor(detail::export_versioned(lease, {.stream = &w.second_stream}));
     }},
    {"a_tensor", [](World& w) { DLPackTensor const tensor = w.array.get_dlpack_tensor(true); }},
    {"a_move_to_a_device", [](World& w) { w.on_host.move_memory(kDLCUDA, as_intptr(w.second_stream), 0); }},
    {"a_move_to_a_device_that_is_waited_for", [](World& w) { w.on_host.move_memory(kDLCUDA, 0, 0, -1, false); }},
    {"a_move_to_the_host", [](World& w) { w.array.move_memory(kDLCPU, as_intptr(w.second_stream), 0); }},
    {"a_move_to_the_host_that_is_waited_for", [](World& w) { w.array.move_memory(kDLCPU, 0, 0, -1, false); }},
    {"a_move_to_another_device", [](World& w) { w.array.move_memory(kDLCUDA, as_intptr(w.second_stream), 1); }},
    {"a_kernel_by_add_index_tuple", [](World& w) { add_index_tuple(w.array, as_intptr(w.second_stream)); }},
    {"an_update_of_a_part_under_an_escaped_view",
     [](World& w) { for_each_index(range(5, 20), w.second_stream, add_ten, update(w.array)); }, export_a_view},
    {"an_overwrite_of_a_part",
     [](World& w) { for_each_index(interior({length}, 3), w.second_stream, set_index, overwrite(w.array)); }},
    {"an_overwrite_of_a_part_under_an_escaped_view",
     [](World& w) { for_each_index(range(30, length), w.second_stream, set_index, overwrite(w.array)); },
     export_a_view},
    {"an_overwrite_of_rows",
     [](World& w) {
       for_each_index(
           range(2, 9), w.second_stream, [](std::int64_t i, auto const& x) { x[std::array{i, std::int64_t{1}}] = 5; },
           overwrite(*w.matrix));
     },
     make_matrix},
    {"a_bundle",
     [](World& w) {
       Pair<MemArray> pair = pair_of(w);
       for_each_index(
           {length}, w.second_stream, [](std::int64_t i, Pair<Indexer> const& own) { own.first[i] += own.second[i]; },
           write(pair));
     }},
    {"a_reduction",
     [](World& w) { EXPECT_EQ(transform_reduce({length}, w.second_stream, 0, plus{}, element, read(w.array)), 860); }},
    {"a_reduction_over_a_range",
     [](World& w) {
       EXPECT_EQ(transform_reduce(range(0, 3), w.second_stream, 1, plus{}, element, read(w.array)), 10);
     }},
    {"a_reduction_that_updates",
     [](World& w) {
       auto const next = [](std::int64_t, int& own) { return own += 1; };
       static_cast<void>(transform_reduce({length}, w.second_stream, 0, plus{}, next, update(w.array)));
     }},
    {"a_reduction_of_a_view",
     [](World& w) {
       ReadLease<int, 1> const lease(w.array, {.stream = w.second_stream});
       auto const x = read<int, 1>(ConstBufferView(lease));
       EXPECT_EQ(transform_reduce({length}, w.second_stream, 0, plus{}, element, x), 860);
     }},
    {"a_reduction_into_an_array",
     [](World& w) { transform_reduce_into(*w.made, {length}, w.second_stream, 0, plus{}, element, read(w.array)); },
     make_result},
    {"a_reduction_into_an_array_under_an_escaped_view",
     [](World& w) { transform_reduce_into(*w.made, {length}, w.second_stream, 0, plus{}, element, read(w.array)); },
     [](World& w) {
       make_result(w);
       w.exported = w.made->get_dlpack_tensor(true);
     }},
    {"a_reduction_of_held_arrays_into_an_array",
     [](World& w) {
       auto held = hold(w.second_stream, read(w.array));
       held.transform_reduce_into(*w.made, {length}, 0, plus{}, element);
     },
     make_result},
    {"a_reduce", [](World& w) { EXPECT_EQ(reduce(w.array, w.second_stream, 0, maximum{}), 41); }},
    {"a_least_element", [](World& w) { EXPECT_EQ(min(w.array, w.second_stream), 2); }},
    {"a_largest_element", [](World& w) { EXPECT_EQ(max(w.array, w.second_stream), 41); }},
    {"both_extremes", [](World& w) { EXPECT_EQ(minmax(w.array, w.second_stream).second, 41); }},
    {"a_position_of_the_least", [](World& w) { EXPECT_EQ(argmin(w.array, w.second_stream)[0], 0); }},
    {"a_position_of_the_largest", [](World& w) { EXPECT_EQ(argmax(w.array, w.second_stream)[0], length - 1); }},
    {"a_dot", [](World& w) { EXPECT_EQ(dot(w.array, w.other, w.second_stream), 22100); }},
    {"a_sum", [](World& w) { EXPECT_EQ(sum(w.array, w.second_stream), 860); }},
    {"a_scan", [](World& w) { exclusive_scan(w.other, w.array, w.second_stream); }},
    {"a_scan_without_a_result", [](World& w) { inclusive_scan(w.other, w.array, w.second_stream); }},
    {"a_scan_under_an_escaped_view", [](World& w) { inclusive_scan(w.other, w.array, w.second_stream, maximum{}); },
     export_a_view},
    {"a_sort_of_rows", [](World& w) { sort_by_key(w.array, *w.matrix, w.second_stream); }, make_matrix},
    {"a_sort", [](World& w) { sort_by_key(w.array, w.other, w.second_stream); }},
    {"a_sort_under_an_escaped_view", [](World& w) { sort_by_key(w.array, w.other, w.second_stream); }, export_a_view},
    {"a_launch_under_a_hold",
     [](World& w) {
       auto held = hold(w.second_stream, read(w.other), update(w.array));
       held.for_each_index({length}, [](std::int64_t i, auto others, int& own) { own += others[i]; });
     }},
    {"a_launch_under_a_hold_and_an_escaped_view",
     [](World& w) {
       auto held = hold(w.second_stream, update(w.array));
       held.for_each_index(range(5, 20), add_ten);
       static_cast<void>(held.transform_reduce({length}, 0, plus{}, [](std::int64_t, int own) { return own; }));
     },
     export_a_view},
    {"a_kernel_over_a_view",
     [](World& w) {
       WriteLease<int, 1> const lease(w.array, {.stream = w.second_stream});
       for_each_index<int, 1>(BufferView(lease), w.second_stream, [](int& element, std::int64_t) { element += 1; });
     }},
    {"a_resize", [](World& w) { w.array.resize({length + 3}); }},
    {"a_fill", [](World& w) { w.array.fill(6); }},
    {"a_fill_under_an_escaped_view", [](World& w) { w.array.fill(6); }, export_a_view},
    {"a_copy", [](World& w) { w.made.emplace(w.array); }},
    {"an_assignment", [](World& w) { w.array = w.other; }},
};

struct Fault {
  char const* function;
  int nth;
  int code;
  int times;
};

/// One run of a program on its own devices, optionally with failing driver calls.
struct Trial {
  explicit Trial(Program const& program, std::optional<Fault> const& fault = {}, bool act = true) {
    std::int64_t const blocks = live_memory().blocks;
    // Runs in a thread of its own, because a context whose pop failed stays current there.
    std::thread([&] {
      testing::SimulatedDevices sim;
      try {
        in(sim, program, fault, act);
      } catch (std::exception const& error) {
        failure = error.what();
      }
      sim.end();
      live = sim.live().total();
      left = ::testing::PrintToString(sim.live_resources());
      violations = sim.violations();
    }).join();
    live_blocks = live_memory().blocks - blocks;
  }

  std::vector<Look> looks;
  std::vector<std::uint64_t> calls;  // of each function, in the program
  std::optional<int> code;           // reported by the exception, if any
  std::string words;
  std::string failure;  // after the fault was cleared
  std::vector<std::string> violations;
  std::string left;
  std::int64_t live = 0;
  std::int64_t live_blocks = 0;

 private:
  void in(testing::SimulatedDevices& sim, Program const& program, std::optional<Fault> const& fault, bool act) {
    World world(length);
    prepare(world, sim);
    program.prepare(world);
    std::vector<std::uint64_t> before;
    for (char const* const function : functions) before.push_back(sim.calls(function));
    if (fault) sim.fail(fault->function, fault->nth, fault->code, fault->times);
    try {
      if (act) program.run(world);
    } catch (CudaError const& error) {
      code = error.code();
      words = error.what();
    }
    for (std::size_t i = 0; i < std::size(functions); ++i) calls.push_back(sim.calls(functions[i]) - before[i]);
    sim.clear();
    looks = look_at_all(world);
    if (code) program.run(world);
  }
};

class DeviceFaultsTest : protected test::CountedArrays, public ::testing::TestWithParam<Program> {
 protected:
  /// Returns true if the program made the `nth` call.
  bool check(Fault const& fault, std::size_t function) {
    SCOPED_TRACE(std::string(fault.function) + ", call " + std::to_string(fault.nth) +
                 (fault.times == 1 ? ", fails alone with " : ", fails with all later ones, with ") +
                 std::to_string(fault.code));
    Trial const run(GetParam(), fault);
    bool const may_lose = loses(fault.function);
    if (run.code) {
      // Memory that could not be released is unavailable to later allocations.
      EXPECT_TRUE(*run.code == fault.code || (may_lose && *run.code == 2)) << run.words;
      EXPECT_NE(run.words.find(" failed: "), std::string::npos) << run.words;
      EXPECT_TRUE(run.looks == before.looks || run.looks == after.looks)
          << run.words << "\nleaves " << ::testing::PrintToString(run.looks);
    } else {
      EXPECT_EQ(run.looks, after.looks) << "the failure is not reported";
    }
    EXPECT_EQ(run.failure, "") << "the next call fails";
    EXPECT_EQ(run.live_blocks, 0);
    if (may_lose) {
      for (std::string const& violation : run.violations)
        EXPECT_NE(violation.find("destroyed before"), std::string::npos) << violation;
      EXPECT_LE(run.live, static_cast<std::int64_t>(2 * run.calls[function])) << run.left;
    } else {
      EXPECT_EQ(run.violations, std::vector<std::string>());
      EXPECT_EQ(run.live, 0) << run.left;
    }
    return run.calls[function] >= static_cast<std::uint64_t>(fault.nth);
  }

  Trial before{GetParam(), std::nullopt, false};
  Trial after{GetParam()};
};

TEST_P(DeviceFaultsTest, FailedDriverCallsAreReportedAndKeepArraysConsistent) {
  bool const nightly = std::getenv("MEMARRAY_NIGHTLY") != nullptr;
  std::size_t next = 0;
  ASSERT_EQ(after.words + after.failure, "");
  ASSERT_EQ(after.live, 0) << after.left;
  for (std::size_t function = 0; function < std::size(functions); ++function) {
    if (after.calls[function] == 0) continue;
    bool reached = true;
    for (int nth = 1; reached && !HasFailure(); ++nth) {
      reached = false;
      for (int const times : {1, testing::SimulatedDevices::always})
        for (std::size_t i = 0; i < (nightly ? codes.size() : 1); ++i)
          reached = check({functions[function], nth, codes[next++ % codes.size()], times}, function) || reached;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, DeviceFaultsTest, ::testing::ValuesIn(programs),
                         [](auto const& info) { return info.param.name; });

}  // namespace
}  // namespace memarray
