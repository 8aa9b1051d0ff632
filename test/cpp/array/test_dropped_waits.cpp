// Waits that only C++ programs make. Each wait is dropped in turn, and the program that needs it must fail.
// test/python/test_dropped_waits.py covers the other waits; docs/dropped_waits.md lists all.

#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/driver/device_ptr_handle.hpp>
#include <memarray/driver/stream_order.hpp>
#include <memarray/memory/driver_resource.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device_world.hpp"
#include "driver/simulated_driver.hpp"

namespace memarray {
namespace {

using test::add;
using test::DeviceWorld;

using namespace std::chrono_literals;

constexpr std::int64_t length = 100;
/// Added duration of each piece of work; a late stream takes several times longer.
constexpr auto each = 3ms;
constexpr auto late = 30ms;

int at(void const* elements, std::int64_t i) {
  return static_cast<int const*>(testing::detail::reachable(elements))[i];
}

/// Fills the arrays and moves them to cuda:0, where no work is pending. Each element of `array` is 1.
void prepare(DeviceWorld& w) {
  w.array.fill(1);
  w.other.fill(2);
  w.move_to_device();
}
/// Submits work that makes every element 11 with a delay.
void add_ten_late(DeviceWorld& w, StreamHandle const& stream, std::int64_t lock_id = -1) {
  w.delay(stream, late);
  add(w.array, stream, 10, lock_id);
}
constexpr auto add_ten = [](std::int64_t, int& element) { element += 10; };
int last_element(DeviceWorld& w) {
  w.array.move_memory(kDLCPU, 0, 0, -1, false);
  return w.array({length - 1});
}

/// A write lease exported to a consumer. The consumer doubles the elements and adds one, in its own stream.
class Consumer {
 public:
  explicit Consumer(DeviceWorld& world)
      : _world(world), lease(world.array.state_ptr(), detail::LeaseCore::Kind::write, LeaseOptions{}) {
    lease.enter();
    _tensor = DLPackTensor(detail::export_versioned(lease, {.stream = &stream}));
  }
  void submit() {
    auto* const elements = static_cast<int*>(testing::detail::reachable(_tensor.tensor().data));
    _world.submit(stream, [elements] {
      for (int i = 0; i < length; ++i) elements[i] = 2 * elements[i] + 1;
    });
  }

 private:
  DeviceWorld& _world;

 public:
  StreamHandle stream = create_stream_handle(get_primary_context(0));
  detail::LeaseCore lease;

 private:
  DLPackTensor _tensor;
};

template <class Run>
[[gnu::noinline]] auto apart(Run const& run) {
  return run();
}
/// Calls `run` deep in the stack, so that a late kernel's write after the call hits no live object.
template <class Run>
[[gnu::noinline]] auto deep_down(Run const& run) {
  char volatile room[1 << 16];
  room[0] = 0;
  auto const result = apart(run);
  static_cast<void>(room[0]);
  return result;
}

/// True if `run` returns `expected` in spite of late work in the first stream.
template <class Run, class Value>
bool gives(DeviceWorld& w, Run const& run, Value const& expected) {
  w.delay(w.first_stream, late);
  return deep_down(run) == expected;
}
/// True if `run` leaves 11 in an array, in the first stream, before the host reads it.
template <class Run>
bool leaves_eleven(DeviceWorld& w, DeviceWorld::Array const& array, std::int64_t i, Run const& run) {
  w.delay(w.first_stream, late);
  run();
  return at(array.ptr(), i) == 11;
}

struct Program {
  char const* site;
  char const* name;
  bool (*is_right)(DeviceWorld&);
};

Program const programs[] = {
    {"reading an element, after the array's writer", "an element of what a kernel writes",
     [](DeviceWorld& w) {
       add_ten_late(w, w.first_stream);
       return w.array({length - 1}) == 11;
     }},
    {"writing an element, after the array's users", "an element that a kernel writes, too",
     [](DeviceWorld& w) {
       add_ten_late(w, w.first_stream);
       w.array.write({length - 1}, 50);
       return last_element(w) == 50;
     }},
    {"writing an element", "a kernel after an element was written",
     [](DeviceWorld& w) {
       w.delay(detail::DeviceMemory::of(0)->internal_stream().stream, late);
       w.array.write({length - 1}, 50);
       for_each_index(w.array, w.second_stream, [](int& element, auto const&) { element *= 2; });
       return last_element(w) == 100;
     }},
    {"an access from the host, after work on streams", "a pointer to read",
     [](DeviceWorld& w) {
       add_ten_late(w, w.first_stream);
       return at(std::as_const(w.array).ptr(), 5) == 11;
     }},
    {"an access from the host, after work on streams", "a pointer to read, under a lease's id",
     [](DeviceWorld& w) {
       WriteLease<int, 1> const lease(w.array, {.stream = w.first_stream});
       add_ten_late(w, w.second_stream, lease.lock_id());
       return at(std::as_const(w.array).ptr(lease.lock_id()), 5) == 11;
     }},
    {"an access from the host, after work on streams", "an element on the host that a copy in a stream brings",
     [](DeviceWorld& w) {
       add_ten_late(w, w.first_stream);
       w.array.move_memory(kDLCPU, as_intptr(w.first_stream), 0);
       return w.array({5}) == 11;
     }},
    {"an access from the host, after work on streams", "add_index_tuple",
     [](DeviceWorld& w) {
       return leaves_eleven(w, w.array, 10, [&] { add_index_tuple(w.array, as_intptr(w.first_stream)); });
     }},
    {"an access from the host, after work on streams", "inclusive_scan",
     [](DeviceWorld& w) {
       return leaves_eleven(w, w.other, 10, [&] { inclusive_scan(w.array, w.other, w.first_stream); });
     }},
    {"an access from the host, after work on streams", "sort_by_key",
     [](DeviceWorld& w) {
       w.array.write({0}, 11);
       return leaves_eleven(w, w.array, length - 1, [&] { sort_by_key(w.array, w.other, w.first_stream); });
     }},
    {"an access from the host, after work on streams", "a hold's for_each_index",
     [](DeviceWorld& w) {
       return leaves_eleven(w, w.array, 5, [&] {
         auto held = hold(w.first_stream, update(w.array));
         held.for_each_index({length}, add_ten);
       });
     }},
    {"an access from the host, after work on streams", "transform_reduce_into",
     [](DeviceWorld& w) {
       DeviceWorld::Array result({1});
       result.move_memory(kDLCUDA, 0, 0, -1, false);
       auto const element = [](std::int64_t i, auto const& x) { return x[i]; };
       return leaves_eleven(w, result, 0, [&] {
         transform_reduce_into(result, {10}, w.first_stream, 1, plus{}, element, read(w.array));
       });
     }},
    {"a write from the host, after work on streams", "a pointer to write",
     [](DeviceWorld& w) {
       add_ten_late(w, w.first_stream);
       return at(w.array.ptr(), 5) == 11;
     }},
    {"a write from the host, after work on streams", "a pointer to write, under a lease's id",
     [](DeviceWorld& w) {
       WriteLease<int, 1> const lease(w.array, {.stream = w.first_stream});
       add_ten_late(w, w.second_stream, lease.lock_id());
       return at(w.array.ptr(lease.lock_id()), 5) == 11;
     }},
    {"a write from the host, after work on streams", "an element written while a kernel's result comes to the host",
     [](DeviceWorld& w) {
       add_ten_late(w, w.first_stream);
       w.array.move_memory(kDLCPU, as_intptr(w.first_stream), 0);
       w.array.write({5}, 7);
       static_cast<void>(last_element(w));
       return w.array({5}) == 7 && w.array({6}) == 11;
     }},
    {"a kernel that has a result", "sum",
     [](DeviceWorld& w) { return gives(w, [&] { return sum(w.array, w.first_stream); }, length); }},
    {"a kernel that has a result", "exclusive_scan",
     [](DeviceWorld& w) { return gives(w, [&] { return exclusive_scan(w.array, w.other, w.first_stream); }, length); }},
    {"a kernel that has a result", "reduce",
     [](DeviceWorld& w) { return gives(w, [&] { return reduce(w.array, w.first_stream, 5, plus{}); }, length + 5); }},
    {"a kernel that has a result", "min",
     [](DeviceWorld& w) { return gives(w, [&] { return min(w.other, w.first_stream); }, 2); }},
    {"a kernel that has a result", "max",
     [](DeviceWorld& w) { return gives(w, [&] { return max(w.other, w.first_stream); }, 2); }},
    {"a kernel that has a result", "minmax",
     [](DeviceWorld& w) { return gives(w, [&] { return minmax(w.other, w.first_stream); }, std::pair(2, 2)); }},
    {"a kernel that has a result", "argmin",
     [](DeviceWorld& w) { return gives(w, [&] { return argmin(w.array, w.first_stream)[0]; }, 0); }},
    {"a kernel that has a result", "argmax",
     [](DeviceWorld& w) { return gives(w, [&] { return argmax(w.array, w.first_stream)[0]; }, 0); }},
    {"a kernel that has a result", "dot",
     [](DeviceWorld& w) { return gives(w, [&] { return dot(w.array, w.other, w.first_stream); }, 2 * length); }},
    {"a kernel that has a result", "transform_reduce over a view",
     [](DeviceWorld& w) {
       ReadLease<int, 1> const lease(w.array, {.stream = w.first_stream});
       ConstBufferView const view(lease);
       w.delay(w.first_stream, late);
       return deep_down([&] {
                return transform_reduce(
                    {length}, w.first_stream, 0, plus{}, [](std::int64_t i, auto const& x) { return x[i]; },
                    read<int, 1>(view));
              }) == length;
     }},
    {"a lease's streams, after its kernel", "a kernel under a lease's id, then the consumer of its export",
     [](DeviceWorld& w) {
       Consumer consumer(w);
       add_ten_late(w, w.second_stream, consumer.lease.lock_id());
       consumer.submit();
       consumer.lease.exit();
       return last_element(w) == 23;
     }},
    {"streams of escaped views, before what they write later", "a kernel that reads what an escaped view then writes",
     [](DeviceWorld& w) {
       w.array.escaped_views(EscapedViews::alias);
       Consumer consumer(w);
       consumer.lease.exit();
       w.delay(w.second_stream, late);
       for_each_index(
           {length}, w.second_stream,
           [](auto const& i, auto const& from, auto const& to) { *to.get(i[0]) = *from.get(i[0]); }, read(w.array),
           overwrite(w.other));
       consumer.submit();
       return sum(w.other, w.second_stream) == length;
     }},
    {"streams of escaped views, before what they write later", "a snapshot of what an escaped view then writes",
     [](DeviceWorld& w) {
       Consumer consumer(w);
       consumer.lease.exit();
       w.delay(w.second_stream, late);
       add(w.array, w.second_stream, 10);
       consumer.submit();
       return last_element(w) == 11;
     }},
    {"work that reads what escaped views may write later, in streams that are not known",
     "a kernel that reads what a view then writes in an unknown stream",
     [](DeviceWorld& w) {
       w.array.escaped_views(EscapedViews::alias);
       detail::LeaseCore lease(w.array.state_ptr(), detail::LeaseCore::Kind::write, LeaseOptions{});
       lease.enter();
       DLPackTensor const view(detail::export_versioned(lease));
       lease.exit();
       // The delay is in this kernel itself, because it waits for all earlier work.
       for_each_index(
           {length}, w.second_stream,
           [](auto const& i, auto const& from, auto const& to) {
             if (i[0] == 0) std::this_thread::sleep_for(late);
             *to.get(i[0]) = *from.get(i[0]);
           },
           read(w.array), overwrite(w.other));
       auto* const elements = static_cast<int*>(testing::detail::reachable(view.tensor().data));
       w.submit(w.first_stream, [elements] {
         for (int i = 0; i < length; ++i) elements[i] = 7;
       });
       return sum(w.other, w.second_stream) == length;
     }},
    {"an export for any stream, after all users", "a tensor under a lease's id",
     [](DeviceWorld& w) {
       WriteLease<int, 1> const lease(w.array, {.stream = w.first_stream});
       add_ten_late(w, w.second_stream, lease.lock_id());
       DLPackTensor const tensor = w.array.get_dlpack_tensor(true, lease.lock_id());
       return at(tensor.tensor().data, 5) == 11;
     }},
    {"freeing memory without a pool", "pinned memory that a copy reads",
     [](DeviceWorld& w) {
       DriverResource pinned = DriverResource::pinned(w.context);
       std::size_t const bytes = length * sizeof(int);
       void* const memory = pinned.allocate(w.first_stream, bytes);
       std::memset(memory, 0, bytes);
       w.delay(w.first_stream, late);
       detail::ContextScope const scope(w.context);
       scope.driver()->cuMemcpyHtoDAsync(reinterpret_cast<cu::DevicePtr>(w.other.ptr()), memory, bytes,
                                         as_cu(w.first_stream));
       pinned.deallocate(w.first_stream, memory, bytes);
       return synchronize(w.first_stream, w.context);  // a dropped wait causes a violation
     }},
    {"memory that its last handle frees", "memory of a pool that another stream reads",
     [](DeviceWorld& w) {
       DevicePtrHandle memory = allocate_from_pool(create_memory_pool_handle(0), w.first_stream, length * sizeof(int));
       detail::ContextScope const scope(w.context);
       scope.driver()->cuMemsetD8Async(as_cu(memory), 3, length * sizeof(int), as_cu(w.first_stream));
       if (!synchronize(w.first_stream, w.context)) return false;
       w.delay(w.second_stream, late);
       auto const target = reinterpret_cast<cu::DevicePtr>(w.other.ptr());
       scope.driver()->cuMemcpyDtoDAsync(target, as_cu(memory), length * sizeof(int), as_cu(w.second_stream));
       EventHandle const over = create_event_handle(w.context);
       if (!record(over, w.second_stream) || !free_after(memory, over)) return false;
       memory.reset();
       return synchronize(w.second_stream, w.context);
     }},
    {"memory that its last handle frees", "pinned memory that a copy reads",
     [](DeviceWorld& w) {
       DevicePtrHandle memory = allocate_pinned(w.context, length * sizeof(int));
       detail::ContextScope const scope(w.context);
       w.delay(w.second_stream, late);
       scope.driver()->cuMemcpyHtoDAsync(reinterpret_cast<cu::DevicePtr>(w.other.ptr()),
                                         reinterpret_cast<void const*>(as_intptr(memory)), length * sizeof(int),
                                         as_cu(w.second_stream));
       EventHandle const over = create_event_handle(w.context);
       if (!record(over, w.second_stream) || !free_after(memory, over)) return false;
       memory.reset();
       return synchronize(w.second_stream, w.context);
     }},
};

void PrintTo(Program const& program, std::ostream* out) { *out << program.name; }

/// A driver function and the number of one of its waits.
using Nth = std::pair<std::string, int>;

/// The outcome of a program, with at most one wait dropped, and its waits at `site`.
struct Seen {
  bool is_right = false;
  std::string words;
  std::vector<Nth> waits;
};

Seen run(Program const& program, std::optional<Nth> const& lost = {}) {
  Seen seen;
  testing::SimulatedDevices sim;
  {
    DeviceWorld world(length);
    prepare(world);
    std::size_t const before = sim.waits().size();
    sim.delay(each);
    if (lost) sim.drop(lost->first, lost->second);
    try {
      seen.is_right = program.is_right(world);
    } catch (std::exception const& error) {
      seen.words = error.what();
    }
    std::vector<std::string> const waits = sim.waits();
    for (std::size_t i = before; i < waits.size(); ++i) {
      std::string const function = waits[i].substr(0, waits[i].find(':'));
      if (waits[i] != function + ": " + program.site) continue;
      int nth = 0;
      for (std::size_t j = before; j <= i; ++j) nth += waits[j].starts_with(function + ":") ? 1 : 0;
      seen.waits.emplace_back(function, nth);
    }
    sim.clear();
  }
  sim.end();
  for (std::string const& violation : sim.violations()) {
    seen.is_right = false;
    seen.words += violation + "\n";
  }
  EXPECT_EQ(sim.live(), testing::LiveResources()) << ::testing::PrintToString(sim.live_resources());
  return seen;
}

class DroppedWaitsTest : protected test::CountedArrays, public ::testing::TestWithParam<Program> {};

TEST_P(DroppedWaitsTest, EachDroppedWaitIsDetected) {
  SCOPED_TRACE(GetParam().name);
  Seen const whole = run(GetParam());
  EXPECT_TRUE(whole.is_right) << whole.words;
  EXPECT_FALSE(whole.waits.empty()) << "it does not wait there: " << GetParam().site;
  SKIP_AS_IT_RACES();
  for (Nth const& nth : whole.waits)
    EXPECT_FALSE(run(GetParam(), nth).is_right) << nth.first << " " << nth.second << " is not needed";
}

INSTANTIATE_TEST_SUITE_P(Programs, DroppedWaitsTest, ::testing::ValuesIn(programs));

}  // namespace
}  // namespace memarray
