// Repeated costs that launches must not have: allocations, and events for each launch of a hold.
#include <memarray/kernel/hold.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <utility>

#include "array/array_test.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool counts_allocations = false;
#else
constexpr bool counts_allocations = true;
#endif

namespace {

// Allocations of this thread.
thread_local std::int64_t allocations = 0;

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The library uses this program's allocator.
void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  auto const unit = static_cast<std::size_t>(alignment);
  if (void* const memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
// Not inlined: otherwise the compiler reports a mismatch between `new` and `free`.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace memarray::test {
namespace {

using Array = MemArray<double, 1>;

template <std::size_t... a>
std::array<Array, sizeof...(a)> arrays_of(std::int64_t size, std::index_sequence<a...>) {
  return {Array({size + 0 * static_cast<std::int64_t>(a)})...};
}

class LaunchCostsTest : public ArrayTest {
 protected:
  LaunchCostsTest() : _before(options().threads.load()) {}
  ~LaunchCostsTest() override { options().threads = _before; }

  /// Returns the allocations of 20 calls, after a few that may allocate once.
  template <class Call>
  static std::int64_t allocations_of(Call const& call) {
    for (int i = 0; i < 5; ++i) call();
    std::int64_t const before = allocations;
    for (int i = 0; i < 20; ++i) call();
    return allocations - before;
  }

 private:
  int _before;
};

TEST_F(LaunchCostsTest, LaunchesOnTheHostDoNotAllocate) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own allocator";
  if (allocations_of([] { static_cast<void>(Array({1})); }) < 20)
    GTEST_SKIP() << "the library has its own allocator: the toolchain links the standard library statically";
  for (int const threads : {1, 2})
    for (std::int64_t const size : {std::int64_t{8}, std::int64_t{1} << 15}) {
      options().threads = threads;
      auto all = arrays_of(size, std::make_index_sequence<6>());
      Array& g = all[5];
      EXPECT_EQ(allocations_of([&] { for_each_index(g, default_stream(), [](double& x, std::int64_t) { x += 1; }); }),
                0);
      EXPECT_EQ(allocations_of([&] {
                  for_each_index({size}, default_stream(), [](std::int64_t, double& x) { x += 1; }, update(g));
                }),
                0);
      EXPECT_EQ(allocations_of([&] {
                  for_each_index(
                      {size}, default_stream(),
                      [](std::int64_t i, auto u, auto v, auto w, auto x, auto y, double& z) {
                        z += u[i] + v[i] + w[i] + x[i] + y[i];
                      },
                      read(all[0]), read(all[1]), read(all[2]), read(all[3]), read(all[4]), update(g));
                }),
                0);
      EXPECT_EQ(allocations_of([&] {
                  auto held = hold(read(all[0]), update(g));
                  for (int i = 0; i < 3; ++i)
                    held.for_each_index({size}, [](std::int64_t k, auto x, double& z) { z += x[k]; });
                }),
                0);
      EXPECT_EQ(std::as_const(g)({0}), 2 * 25);
    }
}

template <std::size_t... a>
void launch_over_many(std::array<Array, 20>& arrays, StreamHandle const& stream, std::index_sequence<a...>) {
  auto held = hold(stream, update(arrays[19]), read(arrays[a])...);
  for (int step = 0; step < 3; ++step)
    held.for_each_index({30}, [](std::int64_t i, double& own, auto const&... each) { own += (each[i] + ...); });
  for (Array& each : arrays) {
    EXPECT_THROW(WriteLease(each, {}), LockError);
  }
}

TEST_F(LaunchCostsTest, OneHoldTakesTwentyArrays) {
  for (bool const on_device : {false, true}) {
    std::optional<testing::SimulatedDevices> devices;
    if (on_device) devices.emplace();
    auto arrays = arrays_of(30, std::make_index_sequence<20>());
    for (std::size_t a = 0; a < 20; ++a) {
      arrays[a].fill(static_cast<double>(a));
      if (on_device) arrays[a].move_memory(kDLCUDA, 0, 0);
    }
    launch_over_many(arrays, default_stream(), std::make_index_sequence<19>());
    EXPECT_EQ(sum(arrays[19], default_stream()), 30 * (19 + 3 * 171));
    for (Array const& each : arrays) EXPECT_EQ(each.state().lock().word().load(), detail::LockWord::free);
  }
}

class HoldEventsTest : public DeviceArrayTest {
 protected:
  static constexpr std::array<char const*, 2> functions{"cuEventRecord", "cuStreamWaitEvent"};

  /// Returns the events recorded and waited for by `run`, with both arrays last used in another stream.
  template <class Run>
  std::array<std::uint64_t, 2> events_of(Array& a, Array& b, Run const& run) {
    for (Array* const each : {&a, &b}) for_each_index(*each, other, [](double& x, std::int64_t) { x += 1; });
    std::array<std::uint64_t, 2> events{};
    for (std::size_t f = 0; f < 2; ++f) events[f] = sim.calls(functions[f]);
    run();
    for (std::size_t f = 0; f < 2; ++f) events[f] = sim.calls(functions[f]) - events[f];
    return events;
  }

  StreamHandle stream = create_stream_handle(get_primary_context(0));
  StreamHandle other = create_stream_handle(get_primary_context(0));
};

TEST_F(HoldEventsTest, MoreLaunchesOfAHoldNeedNoMoreEvents) {
  Array a({16});
  Array b({16});
  for (Array* const each : {&a, &b}) each->move_memory(kDLCUDA, 0, 0, -1, false);
  auto const kernel = [](std::int64_t i, auto x, double& y) { y += x[i]; };
  auto const held = [&](int launches) {
    return events_of(a, b, [&] {
      auto all = hold(stream, read(a), update(b));
      for (int i = 0; i < launches; ++i) all.for_each_index({16}, kernel);
    });
  };
  static_cast<void>(held(1));
  auto const of_one = held(1);
  EXPECT_GT(of_one[0], 0U);
  EXPECT_GT(of_one[1], 0U) << "the hold waits for the other stream";
  EXPECT_EQ(held(10), of_one);
  auto const not_held = events_of(a, b, [&] {
    for (int i = 0; i < 10; ++i) for_each_index({16}, stream, kernel, read(a), update(b));
  });
  EXPECT_GT(not_held[0], of_one[0]);
}

}  // namespace
}  // namespace memarray::test
