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

#include "array_test.hpp"

namespace memarray {
namespace {

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

/// Arrays on cuda:0 and one on the host. The last operation on `a` is pending in the first stream.
struct World {
  explicit World(testing::SimulatedDevices& sim) {
    for (MemArray<int, 1>* const array : {&a, &b, &c, &host}) test::count_up(*array);
    for (MemArray<int, 1>* const array : {&a, &b, &c}) array->move_memory(kDLCUDA, 0, 0, -1, false);
    sim.delay(std::chrono::milliseconds(2));
    for_each_index(a, first, [](int& element, auto const&) { element += 2; });
  }
  [[nodiscard]] std::vector<Look> look_at_all() const {
    std::vector<Look> looks = {look(a), look(b), look(c), look(host)};
    if (made) looks.push_back(look(*made));
    if (kept.is_versioned() && synchronize_all()) {
      auto const* const elements = static_cast<int const*>(testing::detail::reachable(kept.tensor().data));
      looks.push_back({{length}, {elements, elements + length}});
    }
    return looks;
  }

  ContextHandle context = get_primary_context(0);
  StreamHandle first = create_stream_handle(context);
  StreamHandle second = create_stream_handle(context);
  MemArray<int, 1> a{{length}};
  MemArray<int, 1> b{{length}};
  MemArray<int, 1> c{{length}};
  MemArray<int, 1> host{{length}};
  std::optional<MemArray<int, 1>> made;
  DLPackTensor kept;
};

void add_one(MemArray<int, 1>& array, StreamHandle const& stream, std::int64_t lock_id = -1) {
  for_each_index(array, stream, [](int& element, auto const&) { ++element; }, lock_id);
}

struct Program {
  char const* name;
  void (*run)(World&);
  void (*prepare)(World&) = [](World&) {};
};
void PrintTo(Program const& program, std::ostream* out) { *out << program.name; }

void keep_a_view(World& w) { w.kept = w.a.get_dlpack_tensor(true); }

Program const programs[] = {
    {"a_kernel", [](World& w) { add_one(w.a, w.second); }},
    {"a_kernel_in_the_default_stream", [](World& w) { add_one(w.a, default_stream()); }},
    {"a_kernel_over_four_arrays",
     [](World& w) {
       for_each_index(
           {length}, w.second,
           [](auto const& i, auto const& from, auto const& changed, auto const& set, int& own) {
             *changed.get(i[0]) += *from.get(i[0]);
             *set.get(i[0]) = own;
             own += *from.get(i[0]);
           },
           read(w.c), write(w.b), overwrite(*w.made), update(w.a));
     },
     [](World& w) { w.made.emplace(w.c); }},
    {"a_kernel_that_adds_atomically",
     [](World& w) {
       for_each_index(
           {length}, w.second,
           [](auto const& i, auto const& from, auto const& to) { atomic_add(*to.get(0), *from.get(i[0])); }, read(w.a),
           write(w.b));
     }},
    {"a_kernel_under_a_kept_view", [](World& w) { add_one(w.a, w.second); }, keep_a_view},
    {"an_element_read", [](World& w) { EXPECT_EQ(w.a({5}), 7); }},
    {"an_element_written", [](World& w) { w.a.write({5}, 70); }},
    {"an_element_written_under_a_kept_view", [](World& w) { w.a.write({5}, 70); }, keep_a_view},
    {"a_pointer_to_read", [](World& w) { static_cast<void>(std::as_const(w.a).ptr()); }},
    {"a_pointer_to_write", [](World& w) { static_cast<void>(w.a.ptr()); }},
    {"a_read_lease", [](World& w) { static_cast<void>(ReadLease<int, 1>(w.a, {.stream = w.second}).ptr()); }},
    {"a_write_lease", [](World& w) { static_cast<void>(WriteLease<int, 1>(w.a, {.stream = w.second}).ptr()); }},
    {"a_lease_with_a_kernel",
     [](World& w) {
       WriteLease<int, 1> const lease(w.a, {.stream = w.second});
       add_one(w.a, default_stream(), lease.lock_id());
     }},
    {"a_lease_that_is_lent",
     [](World& w) {
       detail::LeaseCore lease(w.a.state_ptr(), detail::LeaseCore::Kind::write, {.stream = w.second});
       lease.enter();
       DLPackTensor const tensor(detail::export_versioned(lease, {.stream = &w.second}));
     }},
    {"a_tensor", [](World& w) { DLPackTensor const tensor = w.a.get_dlpack_tensor(true); }},
    {"a_move_to_a_device", [](World& w) { w.host.move_memory(kDLCUDA, as_intptr(w.second), 0); }},
    {"a_move_to_a_device_that_is_waited_for", [](World& w) { w.host.move_memory(kDLCUDA, 0, 0, -1, false); }},
    {"a_move_to_the_host", [](World& w) { w.a.move_memory(kDLCPU, as_intptr(w.second), 0); }},
    {"a_move_to_the_host_that_is_waited_for", [](World& w) { w.a.move_memory(kDLCPU, 0, 0, -1, false); }},
    {"a_move_to_another_device", [](World& w) { w.a.move_memory(kDLCUDA, as_intptr(w.second), 1); }},
    {"a_sum", [](World& w) { EXPECT_EQ(sum(w.a, w.second), 860); }},
    {"a_scan", [](World& w) { exclusive_scan(w.b, w.a, w.second); }},
    {"a_resize", [](World& w) { w.a.resize({length + 3}); }},
    {"a_fill", [](World& w) { w.a.fill(6); }},
    {"a_fill_under_a_kept_view", [](World& w) { w.a.fill(6); }, keep_a_view},
    {"a_copy", [](World& w) { w.made.emplace(w.a); }},
    {"an_assignment", [](World& w) { w.a = w.b; }},
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
    World world(sim);
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
    looks = world.look_at_all();
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
      EXPECT_EQ(run.looks, after.looks) << "it did not say that it failed";
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
