// Calls every function that takes a handle with null in every place. test/architecture/test_null_handles.py compares
// the signatures here with those of the headers.
#include <memarray/base/errors.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/driver/device_ptr_handle.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/driver/stream_order.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "handle_test.hpp"

namespace memarray::test {
namespace {

enum Kind : unsigned { context = 1, stream = 2, event = 4, end = 8, pool = 16, pointer = 32 };

struct Handles {
  ContextHandle context;
  StreamHandle stream;
  EventHandle event;
  EventHandle end;
  MemoryPoolHandle pool;
  DevicePtrHandle pointer;

  [[nodiscard]] static Handles make() {
    Handles all;
    all.context = get_primary_context(0);
    all.stream = create_stream_handle(all.context);
    all.event = create_event_handle(all.context, true);
    all.end = create_event_handle(all.context, true);
    all.pool = get_device_memory_pool(0);
    all.pointer = allocate_from_pool(all.pool, all.stream, 64);
    return all;
  }

  [[nodiscard]] Handles without(unsigned kinds) const {
    Handles rest = *this;
    if (kinds & Kind::context) rest.context = {};
    if (kinds & Kind::stream) rest.stream = {};
    if (kinds & Kind::event) rest.event = {};
    if (kinds & Kind::end) rest.end = {};
    if (kinds & Kind::pool) rest.pool = {};
    if (kinds & Kind::pointer) rest.pointer = {};
    return rest;
  }
};

enum class Null { fails, tolerated, throws };

struct Function {
  char const* signature;
  unsigned needed;     // places where null is a failure
  unsigned tolerated;  // places where null has a meaning
  Null expected;
  std::function<bool(Handles const&)> succeeds;
};

cu::Event raw_event(Handles const& handles) { return as_cu(handles.event); }
KeepAlive nothing() { return std::make_shared<int>(0); }

bool throws_nothing(std::function<void()> const& call) {
  try {
    call();
    return true;
  } catch (ValueError const&) {
    return false;
  }
}

std::vector<Function> const& functions() {
  constexpr auto fails = Null::fails;
  constexpr auto tolerated = Null::tolerated;
  constexpr auto throws = Null::throws;
  static std::vector<Function> const all = {
      {"device_id_of(ContextHandle)", context, 0, fails, [](auto& h) { return device_id_of(h.context) >= 0; }},
      {"driver_of(ContextHandle)", 0, context, tolerated, [](auto& h) { return driver_of(h.context) != nullptr; }},
      {"keeps_context(ContextHandle)", 0, context, tolerated, [](auto& h) { return detail::keeps_context(h.context); }},
      {"ContextScope(ContextHandle)", context, 0, fails,
       [](auto& h) { return detail::ContextScope(h.context).driver() != nullptr; }},
      // The constructor throws the error; the lambda restores it for the checks below.
      {"EnteredContext(ContextHandle)", context, 0, fails,
       [](auto& h) {
         try {
           EnteredContext const entered(h.context, "a test");
           return true;
         } catch (CudaError const& error) {
           detail::fail_for_null(error.code());
           return false;
         }
       }},
      {"allocate_from_pool(MemoryPoolHandle, StreamHandle)", pool | stream, 0, fails,
       [](auto& h) { return allocate_from_pool(h.pool, h.stream, 8) != nullptr; }},
      {"allocate_device(ContextHandle)", context, 0, fails,
       [](auto& h) { return allocate_device(h.context, 8) != nullptr; }},
      {"allocate_managed(ContextHandle)", context, 0, fails,
       [](auto& h) { return allocate_managed(h.context, 8) != nullptr; }},
      {"allocate_pinned(ContextHandle)", context, 0, fails,
       [](auto& h) { return allocate_pinned(h.context, 8) != nullptr; }},
      {"deallocation_stream(DevicePtrHandle)", pointer, 0, fails,
       [](auto& h) { return deallocation_stream(h.pointer) != nullptr; }},
      {"set_deallocation_stream(DevicePtrHandle, StreamHandle)", pointer | stream, 0, fails,
       [](auto& h) {
         set_deallocation_stream(h.pointer, h.stream);
         return peek_last_error() == 0 && deallocation_stream(h.pointer) == h.stream;
       }},
      {"free_after(DevicePtrHandle, EventHandle)", pointer | event, 0, fails,
       [](auto& h) { return free_after(h.pointer, h.event); }},
      {"create_event_handle(ContextHandle)", context, 0, fails,
       [](auto& h) { return create_event_handle(h.context) != nullptr; }},
      {"create_event_handle_ref(ContextHandle)", context, 0, fails,
       [](auto& h) { return create_event_handle_ref(raw_event(h), h.context) != nullptr; }},
      {"create_event_handle_with_owner(ContextHandle)", context, 0, fails,
       [](auto& h) { return create_event_handle_with_owner(raw_event(h), nothing(), h.context) != nullptr; }},
      {"context_of(EventHandle)", 0, event, tolerated, [](auto& h) { return context_of(h.event) != nullptr; }},
      {"has_timing(EventHandle)", 0, event, tolerated, [](auto& h) { return has_timing(h.event); }},
      {"context_of(MemoryPoolHandle)", 0, pool, tolerated, [](auto& h) { return context_of(h.pool) != nullptr; }},
      {"get_statistics(MemoryPoolHandle)", pool, 0, fails,
       [](auto& h) {
         MemoryPoolStatistics statistics;
         return get_statistics(h.pool, statistics);
       }},
      {"set_release_threshold(MemoryPoolHandle)", pool, 0, fails,
       [](auto& h) { return set_release_threshold(h.pool, 1 << 20); }},
      {"trim(MemoryPoolHandle)", pool, 0, fails, [](auto& h) { return trim(h.pool); }},
      {"is(BoundStream)", 0, context, tolerated,
       [](auto& h) {
         detail::BoundStream const bound_stream{default_stream(), h.context};
         return bound_stream.is(bound_stream) && h.context != nullptr;
       }},
      {"bind_stream(StreamHandle, ContextHandle)", stream | context, 0, throws,
       [](auto& h) { return throws_nothing([&] { static_cast<void>(detail::bind_stream(h.stream, h.context)); }); }},
      {"wait(BoundStream, EventHandle)", 0, event, tolerated,
       [](auto& h) {
         detail::wait(detail::bind_stream(h.stream, h.context), h.event, "here");
         return h.event != nullptr;
       }},
      {"synchronize(BoundStream)", 0, 0, tolerated,
       [](auto& h) { return detail::synchronize(detail::bind_stream(h.stream, h.context)); }},
      {"synchronize(ContextHandle)", context, 0, fails, [](auto& h) { return detail::synchronize(h.context); }},
      {"create_stream_handle(ContextHandle)", context, 0, fails,
       [](auto& h) { return create_stream_handle(h.context) != nullptr; }},
      // Without a context, the driver is queried for the stream's.
      {"create_stream_handle_ref(ContextHandle)", 0, 0, tolerated,
       [](auto& h) { return create_stream_handle_ref(as_cu(h.stream)) != nullptr; }},
      {"create_stream_handle_with_owner(ContextHandle)", 0, 0, tolerated,
       [](auto& h) { return create_stream_handle_with_owner(as_cu(h.stream), nothing()) != nullptr; }},
      {"context_of(StreamHandle)", 0, stream, tolerated, [](auto& h) { return context_of(h.stream) != nullptr; }},
      {"record(EventHandle, StreamHandle)", event | stream, 0, fails,
       [](auto& h) { return record(h.event, h.stream); }},
      {"is_lost(ContextHandle)", context, 0, fails,
       [](auto& h) { return !is_lost(h.context) && peek_last_error() == 0; }},
      // A null event stands for a stream without work.
      {"wait(StreamHandle, EventHandle)", stream, 0, fails, [](auto& h) { return wait(h.stream, h.event); }},
      {"synchronize(EventHandle)", event, 0, fails, [](auto& h) { return synchronize(h.event); }},
      {"synchronize(StreamHandle, ContextHandle)", stream, 0, fails,
       [](auto& h) { return synchronize(h.stream, h.context); }},
      {"query(EventHandle)", event, 0, fails, [](auto& h) { return query(h.event).has_value(); }},
      {"elapsed(EventHandle, EventHandle)", event | end, 0, fails,
       [](auto& h) {
         static_cast<void>(record(h.event, get_legacy_stream()) && record(h.end, get_legacy_stream()) &&
                           synchronize(h.end));
         return elapsed(h.event, h.end).has_value();
       }},
  };
  return all;
}

constexpr unsigned every_place = 63;
constexpr cu::Result earlier = 777;

class NullHandlesTest : public HandleTest {};

TEST_F(NullHandlesTest, GoodHandlesSucceed) {
  for (Function const& function : functions()) {
    Handles const all = Handles::make();
    clear_last_error();
    EXPECT_TRUE(function.succeeds(all)) << function.signature;
    EXPECT_EQ(get_last_error(), 0) << function.signature;
  }
}

TEST_F(NullHandlesTest, NullEventStandsForNoWork) {
  Handles const all = Handles::make();
  EXPECT_TRUE(wait(all.stream, {}));
  EXPECT_EQ(get_last_error(), 0);
}

TEST_F(NullHandlesTest, NullInAnyArgumentIsHandledAndKeepsAnEarlierError) {
  for (Function const& function : functions()) {
    for (unsigned nulls = 1; nulls <= every_place; ++nulls) {
      unsigned const places = function.needed | function.tolerated;
      if ((nulls & places) != nulls) continue;
      bool const fails = function.expected == Null::fails && (nulls & function.needed) != 0;
      Handles const handles = Handles::make().without(nulls);
      clear_last_error();
      EXPECT_FALSE(function.succeeds(handles)) << function.signature << " without " << nulls;
      cu::Result const code = get_last_error();
      EXPECT_EQ(code != 0, fails) << function.signature << " without " << nulls;
      EXPECT_TRUE(!fails || code == 201 || code == 400) << function.signature << " left " << code;
      // The error that made a handle null is the one that remains.
      detail::fail_for_null(earlier);
      EXPECT_FALSE(function.succeeds(handles)) << function.signature << " without " << nulls;
      EXPECT_EQ(get_last_error(), earlier) << function.signature << " without " << nulls;
    }
  }
}

TEST_F(NullHandlesTest, FirstCreationErrorSurvivesDependentCalls) {
  devices.fail("cuDevicePrimaryCtxRetain", 1, 999);
  EXPECT_EQ(create_stream_handle(get_primary_context(1)), nullptr);
  EXPECT_EQ(peek_last_error(), 999);
  EXPECT_EQ(allocate_from_pool(get_device_memory_pool(7), default_stream(), 8), nullptr);
  EXPECT_EQ(get_last_error(), 101) << "a device that does not exist is a failure of its own";
}

TEST(NullHandlesWithoutDriverTest, EveryCreationFailsWithNoDeviceError) {
  if (device_count() > 0 || driver_absence().code != 100) GTEST_SKIP() << "this machine has a driver";
  auto const expect_no_device = [](auto const& handle, char const* name) {
    EXPECT_EQ(handle, nullptr) << name;
    EXPECT_EQ(get_last_error(), 100) << name;
  };
  clear_last_error();
  expect_no_device(create_stream_handle(get_primary_context(0)), "create_stream_handle of a primary context");
  expect_no_device(create_stream_handle(nullptr), "create_stream_handle");
  expect_no_device(create_event_handle(nullptr), "create_event_handle");
  expect_no_device(create_event_handle_ref(reinterpret_cast<cu::Event>(64), nullptr), "create_event_handle_ref");
  expect_no_device(create_event_handle_with_owner(reinterpret_cast<cu::Event>(64), nothing(), nullptr), "owned event");
  expect_no_device(create_device_ptr_handle_ref(64), "create_device_ptr_handle_ref");
  expect_no_device(create_device_ptr_handle_with_owner(64, nothing()), "owned pointer");
  expect_no_device(create_context_handle_ref(reinterpret_cast<cu::Context>(64)), "create_context_handle_ref");
  expect_no_device(create_stream_handle_ref(reinterpret_cast<cu::Stream>(64)), "create_stream_handle_ref");
  expect_no_device(create_memory_pool_handle_ref(reinterpret_cast<cu::MemoryPool>(64), 0), "memory pool ref");
  expect_no_device(allocate_from_pool(nullptr, default_stream(), 8), "allocate_from_pool");
  expect_no_device(allocate_pinned(nullptr, 8), "allocate_pinned");
  for (Function const& function : functions()) {
    // A null event stands for a stream without work.
    if (function.expected != Null::fails || std::string(function.signature).starts_with("wait(")) continue;
    clear_last_error();
    EXPECT_FALSE(function.succeeds(Handles())) << function.signature;
    EXPECT_EQ(get_last_error(), 100) << function.signature;
  }
}

}  // namespace
}  // namespace memarray::test
