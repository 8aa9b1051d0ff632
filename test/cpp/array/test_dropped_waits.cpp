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

#include "array_test.hpp"
#include "driver/simulated_driver.hpp"

namespace memarray {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t length = 100;
/// Added duration of each piece of work; a late stream takes several times longer.
constexpr auto each = 3ms;
constexpr auto late = 30ms;

StreamHandle make_stream() { return create_stream_handle(get_primary_context(0)); }

int at(void const* elements, std::int64_t i) {
  return static_cast<int const*>(testing::detail::reachable(elements))[i];
}

/// Arrays on cuda:0 without pending work. Each element of `a` is 1.
struct World {
  World() {
    a.fill(1);
    b.fill(2);
    a.move_memory(kDLCUDA, 0, 0, -1, false);
    b.move_memory(kDLCUDA, 0, 0, -1, false);
  }

  /// Keeps a stream busy for longer than any other work takes.
  void busy(detail::BoundStream const& queue) const {
    detail::launch_emulated(queue, [] { std::this_thread::sleep_for(late); });
  }
  [[nodiscard]] detail::BoundStream in(StreamHandle const& stream) const {
    return detail::bind_stream(stream, context);
  }
  /// Submits work that makes every element 11 with a delay.
  void ten_more(StreamHandle const& stream, std::int64_t lock_id = -1) {
    busy(in(stream));
    for_each_index(a, stream, [](int& element, auto const&) { element += 10; }, lock_id);
  }
  [[nodiscard]] int last() {
    a.move_memory(kDLCPU, 0, 0, -1, false);
    return a({length - 1});
  }

  ContextHandle context = get_primary_context(0);
  MemArray<int, 1> a{{length}};
  MemArray<int, 1> b{{length}};
  StreamHandle first = make_stream();
  StreamHandle second = make_stream();
};

/// A write lease exported to a consumer. The consumer doubles the elements and adds one, in its own stream.
class Consumer {
 public:
  explicit Consumer(World& world)
      : _world(world), lease(world.a.state_ptr(), detail::LeaseCore::Kind::write, LeaseOptions{}) {
    lease.enter();
    _tensor = DLPackTensor(detail::export_versioned(lease, {.stream = &stream}));
  }
  void submit() {
    auto* const elements = static_cast<int*>(testing::detail::reachable(_tensor.tensor().data));
    detail::launch_emulated(_world.in(stream), [elements] {
      for (int i = 0; i < length; ++i) elements[i] = 2 * elements[i] + 1;
    });
  }

 private:
  World& _world;

 public:
  StreamHandle stream = make_stream();
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

struct Program {
  char const* site;
  char const* name;
  bool (*is_right)(World&);
};

Program const programs[] = {
    {"reading an element, after the array's writer", "an element of what a kernel writes",
     [](World& w) {
       w.ten_more(w.first);
       return w.a({length - 1}) == 11;
     }},
    {"writing an element, after the array's users", "an element that a kernel writes, too",
     [](World& w) {
       w.ten_more(w.first);
       w.a.write({length - 1}, 50);
       return w.last() == 50;
     }},
    {"writing an element", "a kernel after an element was written",
     [](World& w) {
       w.busy(detail::DeviceMemory::of(0)->internal_stream());
       w.a.write({length - 1}, 50);
       for_each_index(w.a, w.second, [](int& element, auto const&) { element *= 2; });
       return w.last() == 100;
     }},
    {"an access from the host, after work on streams", "a pointer to read",
     [](World& w) {
       w.ten_more(w.first);
       return at(std::as_const(w.a).ptr(), 5) == 11;
     }},
    {"an access from the host, after work on streams", "a pointer to read, under a lease's id",
     [](World& w) {
       WriteLease<int, 1> const lease(w.a, {.stream = w.first});
       w.ten_more(w.second, lease.lock_id());
       return at(std::as_const(w.a).ptr(lease.lock_id()), 5) == 11;
     }},
    {"an access from the host, after work on streams", "an element on the host that a copy in a stream brings",
     [](World& w) {
       w.ten_more(w.first);
       w.a.move_memory(kDLCPU, as_intptr(w.first), 0);
       return w.a({5}) == 11;
     }},
    {"a write from the host, after work on streams", "a pointer to write",
     [](World& w) {
       w.ten_more(w.first);
       return at(w.a.ptr(), 5) == 11;
     }},
    {"a write from the host, after work on streams", "a pointer to write, under a lease's id",
     [](World& w) {
       WriteLease<int, 1> const lease(w.a, {.stream = w.first});
       w.ten_more(w.second, lease.lock_id());
       return at(w.a.ptr(lease.lock_id()), 5) == 11;
     }},
    {"a write from the host, after work on streams", "an element written while a kernel's result comes to the host",
     [](World& w) {
       w.ten_more(w.first);
       w.a.move_memory(kDLCPU, as_intptr(w.first), 0);
       w.a.write({5}, 7);
       static_cast<void>(w.last());
       return w.a({5}) == 7 && w.a({6}) == 11;
     }},
    {"a kernel that has a result", "sum",
     [](World& w) {
       w.busy(w.in(w.first));
       return deep_down([&] { return sum(w.a, w.first); }) == length;
     }},
    {"a kernel that has a result", "exclusive_scan",
     [](World& w) {
       w.busy(w.in(w.first));
       return deep_down([&] { return exclusive_scan(w.a, w.b, w.first); }) == length;
     }},
    {"a lease's streams, after its kernel", "a kernel under a lease's id, then the consumer that it lent to",
     [](World& w) {
       Consumer consumer(w);
       w.ten_more(w.second, consumer.lease.lock_id());
       consumer.submit();
       consumer.lease.exit();
       return w.last() == 23;
     }},
    {"streams of kept views, before what they write later", "a kernel that reads what a kept view then writes",
     [](World& w) {
       w.a.escaped_views(EscapedViews::alias);
       Consumer consumer(w);
       consumer.lease.exit();
       w.busy(w.in(w.second));
       for_each_index(
           {length}, w.second, [](auto const& i, auto const& from, auto const& to) { *to.get(i[0]) = *from.get(i[0]); },
           read(w.a), overwrite(w.b));
       consumer.submit();
       return sum(w.b, w.second) == length;
     }},
    {"streams of kept views, before what they write later", "a snapshot of what a kept view then writes",
     [](World& w) {
       Consumer consumer(w);
       consumer.lease.exit();
       w.busy(w.in(w.second));
       for_each_index(w.a, w.second, [](int& element, auto const&) { element += 10; });
       consumer.submit();
       return w.last() == 11;
     }},
    {"work that reads what kept views may write later, in streams that are not known",
     "a kernel that reads what a view then writes in a stream that nobody knows",
     [](World& w) {
       w.a.escaped_views(EscapedViews::alias);
       detail::LeaseCore lease(w.a.state_ptr(), detail::LeaseCore::Kind::write, LeaseOptions{});
       lease.enter();
       DLPackTensor const view(detail::export_versioned(lease));
       lease.exit();
       // The delay is in this kernel itself, because it waits for all earlier work.
       for_each_index(
           {length}, w.second,
           [](auto const& i, auto const& from, auto const& to) {
             if (i[0] == 0) std::this_thread::sleep_for(late);
             *to.get(i[0]) = *from.get(i[0]);
           },
           read(w.a), overwrite(w.b));
       auto* const elements = static_cast<int*>(testing::detail::reachable(view.tensor().data));
       detail::launch_emulated(w.in(w.first), [elements] {
         for (int i = 0; i < length; ++i) elements[i] = 7;
       });
       return sum(w.b, w.second) == length;
     }},
    {"an export for any stream, after all users", "a tensor under a lease's id",
     [](World& w) {
       WriteLease<int, 1> const lease(w.a, {.stream = w.first});
       w.ten_more(w.second, lease.lock_id());
       DLPackTensor const tensor = w.a.get_dlpack_tensor(true, lease.lock_id());
       return at(tensor.tensor().data, 5) == 11;
     }},
    {"memory that goes back without a pool", "pinned memory that a copy reads",
     [](World& w) {
       DriverResource pinned = DriverResource::pinned(w.context);
       std::size_t const bytes = length * sizeof(int);
       void* const memory = pinned.allocate(w.first, bytes);
       std::memset(memory, 0, bytes);
       w.busy(w.in(w.first));
       detail::ContextScope const scope(w.context);
       scope.driver()->cuMemcpyHtoDAsync(reinterpret_cast<cu::DevicePtr>(w.b.ptr()), memory, bytes, as_cu(w.first));
       pinned.deallocate(w.first, memory, bytes);
       return synchronize(w.first, w.context);  // a dropped wait causes a violation
     }},
    {"memory that its last handle gives back", "memory of a pool that another stream reads",
     [](World& w) {
       DevicePtrHandle memory = allocate_from_pool(create_memory_pool_handle(0), w.first, length * sizeof(int));
       detail::ContextScope const scope(w.context);
       scope.driver()->cuMemsetD8Async(as_cu(memory), 3, length * sizeof(int), as_cu(w.first));
       if (!synchronize(w.first, w.context)) return false;
       w.busy(w.in(w.second));
       auto const target = reinterpret_cast<cu::DevicePtr>(w.b.ptr());
       scope.driver()->cuMemcpyDtoDAsync(target, as_cu(memory), length * sizeof(int), as_cu(w.second));
       EventHandle const over = create_event_handle(w.context);
       if (!record(over, w.second) || !free_after(memory, over)) return false;
       memory.reset();
       return synchronize(w.second, w.context);
     }},
    {"memory that its last handle gives back", "pinned memory that a copy reads",
     [](World& w) {
       DevicePtrHandle memory = allocate_pinned(w.context, length * sizeof(int));
       detail::ContextScope const scope(w.context);
       w.busy(w.in(w.second));
       scope.driver()->cuMemcpyHtoDAsync(reinterpret_cast<cu::DevicePtr>(w.b.ptr()),
                                         reinterpret_cast<void const*>(as_intptr(memory)), length * sizeof(int),
                                         as_cu(w.second));
       EventHandle const over = create_event_handle(w.context);
       if (!record(over, w.second) || !free_after(memory, over)) return false;
       memory.reset();
       return synchronize(w.second, w.context);
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
    World world;
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
