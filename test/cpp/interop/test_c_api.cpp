#include "c_api_test.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <gmock/gmock.h>

#include <cstddef>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace memarray::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CApiTableTest, HasVersionSizeAndAllEntries) {
  EXPECT_EQ(api.major, MEMARRAY_C_API_MAJOR);
  EXPECT_EQ(api.minor, MEMARRAY_C_API_MINOR);
  EXPECT_EQ(api.size, sizeof(MemArrayAPI));
  EXPECT_EQ(memarray_c_api(), memarray_c_api());
  std::vector<void*> entries((sizeof(MemArrayAPI) - offsetof(MemArrayAPI, version)) / sizeof(void*));
  std::memcpy(entries.data(), &api.version, entries.size() * sizeof(void*));
  for (std::size_t i = 0; i < entries.size(); ++i) EXPECT_NE(entries[i], nullptr) << "entry " << i;
}

// The layout that older extensions were compiled with.
TEST(CApiTableTest, LayoutOfFirstFieldsIsFixed) {
  static_assert(offsetof(MemArrayAPI, major) == 0);
  static_assert(offsetof(MemArrayAPI, minor) == 4);
  static_assert(offsetof(MemArrayAPI, size) == 8);
  static_assert(offsetof(MemArrayAPI, version) == 8 + sizeof(std::size_t));
}

TEST_F(CApiTest, SharesDevicesAndLastErrorWithCpp) {
  EXPECT_EQ(api.device_count(), 2);
  EXPECT_EQ(api.is_simulated(), 1);
  EXPECT_EQ(create_stream_handle(nullptr), nullptr);
  int const code = api.peek_last_error();
  EXPECT_NE(code, 0);
  EXPECT_EQ(peek_last_error(), code);
  std::thread([] { EXPECT_EQ(api.peek_last_error(), 0); }).join();
  api.clear_last_error();
  EXPECT_EQ(peek_last_error(), 0);
  EXPECT_EQ(api.get_primary_context(7), nullptr);
  EXPECT_EQ(get_last_error(), 101);
}

TEST_F(CApiTest, DriverFailureBecomesLastError) {
  MemArrayContextRef const context = api.get_primary_context(0);
  MemArrayStreamRef const stream = api.create_stream(context, 1, 0);
  MemArrayEventRef const event = api.create_event(context, 0);
  for (char const* name : {"cuEventRecord", "cuStreamWaitEvent", "cuEventSynchronize", "cuStreamSynchronize",
                           "cuEventQuery", "cuEventElapsedTime", "cuCtxSynchronize"})
    devices.fail(name, 1, 719);
  double seconds = 5;
  EXPECT_EQ(api.record_event(event, stream), -1);
  expect_error(719);
  EXPECT_EQ(api.wait_event(stream, event), -1);
  expect_error(719);
  EXPECT_EQ(api.synchronize_event(event), -1);
  expect_error(719);
  EXPECT_EQ(api.synchronize_stream(stream, nullptr), -1);
  expect_error(719);
  EXPECT_EQ(api.query_event(event), -1);
  expect_error(719);
  EXPECT_EQ(api.elapsed(event, event, &seconds), -1);
  expect_error(719);
  EXPECT_EQ(seconds, 5);
  EXPECT_EQ(api.synchronize_all(), -1);
  expect_error(719);
  devices.clear();
  api.release_event(event);
  api.release_stream(stream);
  api.release_context(context);
}

TEST(CApiWithoutDriverTest, FirstErrorSurvivesDependentCalls) {
  if (device_count() > 0 || driver_absence().code != 100) GTEST_SKIP() << "this machine has a driver";
  api.clear_last_error();
  MemArrayContextRef const context = api.get_primary_context(0);
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(api.create_stream(context, 1, 0), nullptr);
  EXPECT_EQ(api.create_event(context, 0), nullptr);
  EXPECT_EQ(api.get_last_error(), 100);
  EXPECT_EQ(api.create_event_ref(64, nullptr), nullptr);
  EXPECT_EQ(api.get_last_error(), 100);
  EXPECT_EQ(api.create_device_ptr_ref(64), nullptr);
  EXPECT_EQ(api.get_last_error(), 100);
  EXPECT_EQ(api.allocate_device(nullptr, 8), nullptr);
  EXPECT_EQ(api.get_last_error(), 100);
}

TEST_F(CApiTest, NullFromFailedCallKeepsFirstError) {
  devices.fail("cuDevicePrimaryCtxRetain", 1, 999);
  EXPECT_EQ(api.create_stream(api.get_primary_context(1), 1, 0), nullptr);
  expect_error(999);
}

TEST_F(CApiTest, NullIsRefusedOnlyWhereValueIsRequired) {
  MemArrayContextRef const context = api.get_primary_context(0);
  MemArrayStreamRef const stream = api.create_stream(context, 1, 0);
  MemArrayEventRef const event = api.create_event(context, 1);
  MemArrayMemoryPoolRef const pool = api.get_device_memory_pool(0);
  MemArrayDevicePtrRef const memory = api.allocate_from_pool(pool, stream, 8);
  MemArrayMemoryPoolStatistics statistics;
  double seconds;
  auto const expect_null = [](void const* ref) {
    EXPECT_EQ(ref, nullptr);
    expect_error(invalid_handle);
  };
  auto const expect_failed = [](int status) {
    EXPECT_EQ(status, -1);
    expect_error(invalid_handle);
  };
  expect_failed(api.context_device_id(nullptr));
  expect_null(api.create_stream(nullptr, 1, 0));
  expect_null(api.stream_context(nullptr));
  expect_failed(api.synchronize_stream(nullptr, context));
  expect_null(api.create_event(nullptr, 0));
  expect_null(api.create_event_ref(64, nullptr));
  expect_null(api.event_context(nullptr));
  expect_failed(api.record_event(nullptr, stream));
  expect_failed(api.record_event(event, nullptr));
  expect_failed(api.wait_event(nullptr, event));
  expect_failed(api.wait_event(stream, nullptr));
  expect_failed(api.synchronize_event(nullptr));
  expect_failed(api.query_event(nullptr));
  expect_failed(api.elapsed(nullptr, event, &seconds));
  expect_failed(api.elapsed(event, nullptr, &seconds));
  expect_failed(api.elapsed(event, event, nullptr));
  expect_null(api.memory_pool_context(nullptr));
  expect_failed(api.get_memory_pool_statistics(nullptr, &statistics));
  expect_failed(api.get_memory_pool_statistics(pool, nullptr));
  expect_failed(api.set_release_threshold(nullptr, 0));
  expect_failed(api.trim_memory_pool(nullptr, 0));
  expect_null(api.allocate_from_pool(nullptr, stream, 8));
  expect_null(api.allocate_from_pool(pool, nullptr, 8));
  expect_null(api.allocate_device(nullptr, 8));
  expect_null(api.allocate_managed(nullptr, 8));
  expect_null(api.allocate_pinned(nullptr, 8));
  expect_null(api.deallocation_stream(nullptr));
  expect_failed(api.set_deallocation_stream(nullptr, stream));
  expect_failed(api.set_deallocation_stream(memory, nullptr));
  expect_failed(api.free_after(nullptr, event));
  expect_failed(api.free_after(memory, nullptr));

  // These functions accept null and set no error.
  EXPECT_EQ(api.retain_context(nullptr), nullptr);
  EXPECT_EQ(api.context_as_intptr(nullptr), 0);
  api.release_context(nullptr);
  EXPECT_EQ(api.retain_stream(nullptr), nullptr);
  EXPECT_EQ(api.stream_as_intptr(nullptr), 0);
  api.release_stream(nullptr);
  EXPECT_EQ(api.retain_event(nullptr), nullptr);
  EXPECT_EQ(api.event_as_intptr(nullptr), 0);
  api.release_event(nullptr);
  EXPECT_EQ(api.retain_memory_pool(nullptr), nullptr);
  EXPECT_EQ(api.memory_pool_as_intptr(nullptr), 0);
  api.release_memory_pool(nullptr);
  EXPECT_EQ(api.retain_device_ptr(nullptr), nullptr);
  EXPECT_EQ(api.device_ptr_as_intptr(nullptr), 0);
  api.release_device_ptr(nullptr);
  api.drop_object(nullptr);
  EXPECT_EQ(api.peek_last_error(), 0);

  api.release_device_ptr(memory);
  api.release_memory_pool(pool);
  api.release_event(event);
  api.release_stream(stream);
  api.release_context(context);
}

TEST_F(CApiTest, ErrorsAreDescribed) {
  char words[200] = "";
  std::size_t const length = api.describe_error(2, "making a stream", words, sizeof words);
  EXPECT_EQ(length, std::strlen(words));
  EXPECT_THAT(words, StartsWith("making a stream failed: "));
  EXPECT_THAT(words, HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  char few[8];
  EXPECT_EQ(api.describe_error(2, "making a stream", few, sizeof few), length);
  EXPECT_STREQ(few, "making ");
  EXPECT_EQ(api.describe_error(2, "making a stream", nullptr, 0), length);
  EXPECT_GT(api.describe_error(12345, nullptr, words, sizeof words), 0u);
  EXPECT_THAT(words, HasSubstr("12345"));
}

// A runtime that records what was raised and dropped.
std::string raised;
int dropped = 0;
int released = 0;

class CApiRuntimeTest : public CApiTest {
 protected:
  void SetUp() override {
    CApiTest::SetUp();
    raised.clear();
    dropped = released = 0;
    Hooks ours;
    ours.release = []() noexcept -> void* { return ++released, &released; };
    ours.reacquire = [](void*) noexcept {};
    ours.raise = []() noexcept {
      try {
        std::rethrow_exception(std::current_exception());
      } catch (OutOfMemoryError const& error) {
        raised = std::string("OutOfMemoryError: ") + error.what();
      } catch (CudaError const& error) {
        raised = "CudaError " + std::to_string(error.code()) + ": " + error.what();
      } catch (std::exception const& error) {
        raised = std::string("other: ") + error.what();
      }
    };
    ours.drop_object = [](void* object) noexcept { *static_cast<int*>(object) += 1; };
    set_hooks(ours);
  }
  void TearDown() override { set_hooks(before); }
  Hooks before = hooks();
};

TEST_F(CApiRuntimeTest, TheLastErrorIsRaised) {
  EXPECT_EQ(api.get_primary_context(5), nullptr);
  EXPECT_EQ(api.raise_last_error("looking for a device"), -1);
  EXPECT_THAT(raised, StartsWith("CudaError 101: looking for a device failed: "));
  EXPECT_EQ(api.peek_last_error(), 0) << "it was handed on";
  EXPECT_EQ(api.raise_last_error("looking for a device"), -1);
  EXPECT_THAT(raised, StartsWith("other: looking for a device failed"));
  devices.fail("cuDevicePrimaryCtxRetain", 1, 2);
  EXPECT_EQ(api.get_primary_context(0), nullptr);
  EXPECT_EQ(api.raise_last_error(nullptr), -1);
  EXPECT_THAT(raised, StartsWith("OutOfMemoryError: "));
}

TEST_F(CApiRuntimeTest, WithoutRuntimeLastErrorIsKept) {
  set_hooks({});
  EXPECT_EQ(api.get_primary_context(5), nullptr);
  EXPECT_EQ(api.raise_last_error("looking for a device"), -1);
  expect_error(101);
  api.drop_object(&dropped);
  EXPECT_EQ(dropped, 0);
}

TEST_F(CApiRuntimeTest, BlockingCallsReleaseRuntimeLock) {
  auto const lets_go_in = [](auto const& call) {
    released = 0;
    call();
    return released > 0;
  };
  MemArrayContextRef const context = api.get_primary_context(0);
  MemArrayMemoryPoolRef const pool = api.get_device_memory_pool(0);
  MemArrayStreamRef const stream = api.create_stream(context, 1, 0);
  MemArrayEventRef const event = api.create_event(context, 0);
  MemArrayDevicePtrRef memory = nullptr;
  EXPECT_TRUE(lets_go_in([&] { memory = api.allocate_device(context, 8); }));
  EXPECT_TRUE(lets_go_in([&] { api.record_event(event, stream); }));
  EXPECT_TRUE(lets_go_in([&] { api.synchronize_event(event); }));
  EXPECT_TRUE(lets_go_in([&] { api.synchronize_stream(stream, nullptr); }));
  EXPECT_TRUE(lets_go_in([&] { api.synchronize_all(); }));
  EXPECT_TRUE(lets_go_in([&] { api.trim_memory_pool(pool, 0); }));
  EXPECT_TRUE(lets_go_in([&] { api.release_device_ptr(memory); }));
  EXPECT_TRUE(lets_go_in([&] { api.release_stream(stream); }));
  EXPECT_FALSE(lets_go_in([&] { api.event_as_intptr(event); })) << "nothing there can block";
  api.release_event(event);
  api.release_memory_pool(pool);
  api.release_context(context);
}

TEST_F(CApiRuntimeTest, RuntimeObjectOwnerIsDroppedOnRelease) {
  api.release_device_ptr(api.create_device_ptr_with_owner(64, &dropped, api.drop_object));
  EXPECT_EQ(dropped, 1);
}

}  // namespace
}  // namespace memarray::test
