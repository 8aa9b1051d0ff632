#include "c_api_test.hpp"

#include <memarray/interop/c_arrays.h>
#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace memarray::test {
namespace {

constexpr MemArrayDevice host{1, 0};
constexpr MemArrayDevice device{2, 1};

class CArraysTest : public CApiTest {
 protected:
  CArraysTest() {
    std::int64_t const shape[] = {2, 3};
    array = arrays.create_array("float32", 2, shape, 0, 0);
  }
  ~CArraysTest() override {
    arrays.release_array(array);
    devices.end();  // releases what the library keeps for later
  }

  /// Returns all elements, under a read lease on the host.
  std::vector<float> elements() const {
    MemArrayLeaseRef const lease = arrays.read_array(array, 0, &host, nullptr);
    auto const* const data = static_cast<float const*>(arrays.lease_data(lease, 0));
    std::vector<float> result(data, data + arrays.array_size(array));
    arrays.release_lease(lease);
    return result;
  }
  [[nodiscard]] int fill(float value, std::int64_t lock_id = -1) const {
    return arrays.fill_array(array, &value, lock_id);
  }

  MemArrayArrayRef array = nullptr;
};

TEST_F(CArraysTest, DTypeShapeAndDeviceAreReported) {
  std::int64_t shape[] = {0, 0};
  MemArrayDevice where{};
  EXPECT_STREQ(arrays.array_dtype(array), "float32");
  EXPECT_EQ(arrays.array_itemsize(array), 4U);
  EXPECT_EQ(arrays.array_ndim(array), 2);
  EXPECT_EQ(arrays.array_size(array), 6);
  EXPECT_EQ(arrays.array_shape(array, shape), 0);
  EXPECT_EQ(shape[0] * 10 + shape[1], 23);
  EXPECT_EQ(arrays.array_device(array, &where), 0);
  EXPECT_EQ(where.type * 10 + where.id, 10);
  EXPECT_EQ(arrays.array_lock_id(array), -1);
  EXPECT_EQ(elements(), std::vector<float>(6));
  EXPECT_EQ(arrays.size, sizeof(MemArrayArrayAPI));
}

TEST_F(CArraysTest, RefsShareArrayAndCopiesDoNot) {
  MemArrayArrayRef const again = arrays.retain_array(array);
  EXPECT_EQ(again, array);
  MemArrayArrayRef const copy = arrays.copy_array(array);
  EXPECT_EQ(fill(2), 0);
  arrays.release_array(again);
  EXPECT_EQ(elements(), std::vector<float>(6, 2));
  MemArrayViewRef const view = arrays.array_view(copy);
  EXPECT_EQ(*static_cast<float const*>(views.view_data(view, 0)), 0);
  EXPECT_EQ(views.view_is_writable(view), 0);
  views.release_view(view);
  arrays.release_array(copy);
  arrays.release_array(nullptr);
  EXPECT_EQ(arrays.retain_array(nullptr), nullptr);
  EXPECT_EQ(api.peek_last_error(), 0);
}

TEST_F(CArraysTest, InvalidArgumentsAreRefusedWithReason) {
  std::int64_t const shape[] = {2, -3};
  std::int64_t const large[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_EQ(arrays.create_array("float33", 1, shape, 0, 0), nullptr);
  expect_error(MEMARRAY_UNSUPPORTED_TYPE_ERROR, "no dtype 'float33'");
  EXPECT_EQ(arrays.create_array(nullptr, 1, shape, 0, 0), nullptr);
  expect_error(MEMARRAY_UNSUPPORTED_TYPE_ERROR, "NULL");
  EXPECT_EQ(arrays.create_array("int8", 2, shape, 0, 0), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR, "-3");
  for (int ndim : {0, -1, 17}) {
    EXPECT_EQ(arrays.create_array("int8", ndim, shape, 0, 0), nullptr);
    expect_error(MEMARRAY_VALUE_ERROR, "1 to 16");
  }
  EXPECT_EQ(arrays.create_array("int8", 1, nullptr, 0, 0), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR);
  EXPECT_EQ(arrays.create_array("int8", 2, large, 0, 0), nullptr);
  expect_error(MEMARRAY_OVERFLOW_ERROR);
  EXPECT_EQ(arrays.create_array("int8", 1, shape, -2, 0), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR, "device_id");
}

TEST_F(CArraysTest, NullArgumentsAreRefused) {
  std::int64_t shape[2];
  float const value = 1;
  MemArrayDevice where{};
  EXPECT_EQ(arrays.array_dtype(nullptr), nullptr);
  expect_error(invalid_handle);
  EXPECT_EQ(arrays.array_itemsize(nullptr), 0U);
  expect_error(invalid_handle);
  for (std::int64_t const failed :
       {std::int64_t{arrays.array_ndim(nullptr)}, std::int64_t{arrays.array_shape(nullptr, shape)},
        std::int64_t{arrays.array_shape(array, nullptr)}, arrays.array_size(nullptr),
        std::int64_t{arrays.array_device(nullptr, &where)}, std::int64_t{arrays.array_device(array, nullptr)},
        arrays.array_lock_id(nullptr), std::int64_t{arrays.fill_array(nullptr, &value, -1)},
        std::int64_t{arrays.fill_array(array, nullptr, -1)}, std::int64_t{arrays.resize_array(nullptr, shape)},
        std::int64_t{arrays.resize_array(array, nullptr)}, std::int64_t{arrays.move_memory(nullptr, host, nullptr, 0)},
        arrays.lease_lock_id(nullptr)})
    EXPECT_EQ(failed, -1);
  expect_error(invalid_handle);
  EXPECT_EQ(arrays.copy_array(nullptr), nullptr);
  EXPECT_EQ(arrays.adopt_view(nullptr), nullptr);
  EXPECT_EQ(arrays.read_array(nullptr, 0, nullptr, nullptr), nullptr);
  EXPECT_EQ(arrays.write_array(nullptr, 0, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(arrays.lease_data(nullptr, 0), nullptr);
  EXPECT_EQ(arrays.lease_view(nullptr), nullptr);
  EXPECT_EQ(arrays.array_view(nullptr), nullptr);
  expect_error(invalid_handle);
  arrays.close_lease(nullptr);
  EXPECT_EQ(arrays.retain_lease(nullptr), nullptr);
  arrays.release_lease(nullptr);
  EXPECT_EQ(arrays.lease_is_open(nullptr), 0);
  EXPECT_EQ(api.peek_last_error(), 0);
}

TEST_F(CArraysTest, WriteLeaseRefusesAccessWithoutLockId) {
  MemArrayLeaseRef const lease = arrays.write_array(array, 0, nullptr, nullptr, 0);
  std::int64_t const id = arrays.lease_lock_id(lease);
  EXPECT_GE(id, 0);
  EXPECT_EQ(arrays.array_lock_id(array), id);
  static_cast<float*>(arrays.lease_data(lease, 1))[5] = 7;
  std::int64_t const shape[] = {1, 1};
  EXPECT_EQ(fill(1), -1);
  expect_error(MEMARRAY_LOCK_ERROR, "leased for writing");
  EXPECT_EQ(arrays.read_array(array, 0, nullptr, nullptr), nullptr);
  expect_error(MEMARRAY_LOCK_ERROR);
  EXPECT_EQ(arrays.write_array(array, 0.01, nullptr, nullptr, 0), nullptr);
  expect_error(MEMARRAY_LOCK_ERROR);
  EXPECT_EQ(arrays.resize_array(array, shape), -1);
  expect_error(MEMARRAY_LOCK_ERROR);
  EXPECT_EQ(arrays.move_memory(array, device, nullptr, 0), -1);
  expect_error(MEMARRAY_LOCK_ERROR);
  EXPECT_EQ(arrays.copy_array(array), nullptr);
  expect_error(MEMARRAY_LOCK_ERROR);
  EXPECT_EQ(arrays.array_view(array), nullptr);
  expect_error(MEMARRAY_LOCK_ERROR);
  EXPECT_EQ(static_cast<float*>(arrays.lease_data(lease, 1))[5], 7);
  EXPECT_EQ(fill(3, id), 0);
  EXPECT_EQ(arrays.retain_lease(lease), lease);
  arrays.release_lease(lease);
  EXPECT_EQ(arrays.lease_is_open(lease), 1);
  arrays.release_lease(lease);
  EXPECT_EQ(arrays.array_lock_id(array), -1);
  EXPECT_EQ(elements(), std::vector<float>(6, 3));
}

TEST_F(CArraysTest, ReadLeasesShareAccessAndRefuseWrites) {
  MemArrayLeaseRef const one = arrays.read_array(array, 0, nullptr, nullptr);
  MemArrayLeaseRef const other = arrays.read_array(array, -1, nullptr, nullptr);
  EXPECT_EQ(arrays.lease_lock_id(one), -1);
  EXPECT_NE(arrays.lease_data(one, 0), nullptr);
  EXPECT_EQ(arrays.lease_data(one, 1), nullptr);
  expect_error(MEMARRAY_BUFFER_ERROR, "take a write lease");
  EXPECT_EQ(fill(1), -1);
  expect_error(MEMARRAY_LOCK_ERROR);
  arrays.close_lease(one);
  arrays.close_lease(one);
  EXPECT_EQ(arrays.lease_is_open(one), 0);
  EXPECT_EQ(arrays.lease_data(one, 0), nullptr);
  expect_error(MEMARRAY_LOCK_ERROR, "over");
  EXPECT_EQ(arrays.lease_view(one), nullptr);
  expect_error(MEMARRAY_LOCK_ERROR);
  arrays.release_lease(one);
  arrays.release_lease(other);
  EXPECT_EQ(fill(1), 0);
}

TEST_F(CArraysTest, LeaseWaitsForCurrentHolder) {
  EXPECT_EQ(arrays.read_array(array, std::nan(""), nullptr, nullptr), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR, "timeout");
  for (double timeout : {-1.0, 60.0, 1e300}) {
    MemArrayLeaseRef const first = arrays.write_array(array, 0, nullptr, nullptr, 0);
    std::thread waits([&] {
      MemArrayLeaseRef const second = arrays.write_array(array, timeout, nullptr, nullptr, 1);
      EXPECT_EQ(arrays.lease_is_open(second), 1);
      arrays.release_lease(second);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    arrays.release_lease(first);
    waits.join();
  }
}

TEST_F(CArraysTest, ViewOutlivesItsLease) {
  MemArrayLeaseRef const lease = arrays.write_array(array, 0, nullptr, nullptr, 0);
  MemArrayViewRef const view = arrays.lease_view(lease);
  EXPECT_EQ(views.view_is_writable(view), 1);
  static_cast<float*>(views.view_data(view, 1))[0] = 9;
  arrays.release_lease(lease);
  EXPECT_EQ(fill(4), 0);
  EXPECT_EQ(static_cast<float*>(views.view_data(view, 0))[0], 9);
  MemArrayArrayRef const adopted = arrays.adopt_view(view);
  ASSERT_NE(adopted, nullptr);
  EXPECT_EQ(arrays.array_size(adopted), 6);
  arrays.release_array(adopted);
  views.release_view(view);
  MemArrayViewRef const read_only = arrays.array_view(array);
  EXPECT_EQ(arrays.adopt_view(read_only), nullptr);
  expect_error(MEMARRAY_BUFFER_ERROR);
  views.release_view(read_only);
}

TEST_F(CArraysTest, ResizingKeepsTheLeadingElements) {
  EXPECT_EQ(fill(1), 0);
  std::int64_t const shape[] = {1, 8};
  EXPECT_EQ(arrays.resize_array(array, shape), 0);
  EXPECT_EQ(elements(), (std::vector<float>{1, 1, 1, 1, 1, 1, 0, 0}));
}

TEST_F(CArraysTest, ArrayIsUsedOnDeviceInStream) {
  MemArrayContextRef const context = api.get_primary_context(1);
  MemArrayStreamRef const stream = api.create_stream(context, 1, 0);
  api.release_context(context);
  EXPECT_EQ(fill(1), 0);
  EXPECT_EQ(arrays.move_memory(array, device, stream, 1), 0);
  MemArrayDevice where{};
  EXPECT_EQ(arrays.array_device(array, &where), 0);
  EXPECT_EQ(where.type * 10 + where.id, 21);
  MemArrayLeaseRef const lease = arrays.write_array(array, 0, &device, stream, 0);
  ASSERT_NE(lease, nullptr);
  EXPECT_NE(arrays.lease_data(lease, 1), nullptr);
  EXPECT_EQ(fill(5, arrays.lease_lock_id(lease)), 0);
  MemArrayViewRef const view = arrays.lease_view(lease);
  EXPECT_EQ(views.view_device(view, &where), 0);
  EXPECT_EQ(where.type, 2);
  views.release_view(view);
  arrays.release_lease(lease);
  api.release_stream(stream);
  EXPECT_EQ(elements(), std::vector<float>(6, 5));
  EXPECT_EQ(arrays.move_memory(array, {2, 7}, nullptr, 0), -1);
  expect_error(100, "cuda:7");
  EXPECT_EQ(arrays.move_memory(array, {99, 0}, nullptr, 0), -1);
  expect_error(MEMARRAY_VALUE_ERROR);
  EXPECT_EQ(arrays.move_memory(array, {1, 5}, nullptr, 0), 0);
  MemArrayDevice const none{1, -1};
  EXPECT_EQ(arrays.move_memory(array, none, nullptr, 0), -1);
  expect_error(MEMARRAY_VALUE_ERROR, "device ids start at 0");
  EXPECT_EQ(arrays.read_array(array, 0, &none, nullptr), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR, "device ids start at 0");
  EXPECT_EQ(arrays.write_array(array, 0, &none, nullptr, 0), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR, "device ids start at 0");
  arrays.release_array(array);
  array = nullptr;
}

TEST_F(CArraysTest, MessageDescribesOnlyLastFailure) {
  devices.fail("cuMemAllocAsync", 1, 2);
  EXPECT_EQ(arrays.move_memory(array, device, nullptr, 0), -1);
  int const code = api.peek_last_error();
  EXPECT_EQ(code, 2);
  char own[500];
  char others[500];
  api.describe_error(code, "a test", own, sizeof own);
  devices.fail("cuStreamCreateWithPriority", 1, 2);
  MemArrayContextRef const context = api.get_primary_context(1);
  EXPECT_EQ(api.create_stream(context, 1, 0), nullptr);
  api.release_context(context);
  api.describe_error(api.get_last_error(), "a test", others, sizeof others);
  EXPECT_STRNE(own, others);
  devices.clear();
}

TEST_F(CArraysTest, RaisedExceptionMatchesLastError) {
  static std::string raised;
  Hooks const before = hooks();
  set_hooks({.raise = []() noexcept {
    try {
      throw;
    } catch (LockError const& error) {
      raised = error.what();
    } catch (std::exception const&) {
      raised = "another";
    }
  }});
  MemArrayLeaseRef const lease = arrays.write_array(array, 0, nullptr, nullptr, 0);
  EXPECT_EQ(fill(1), -1);
  EXPECT_EQ(api.raise_last_error("filling"), -1);
  EXPECT_THAT(raised, ::testing::StartsWith("filling failed: "));
  EXPECT_EQ(api.peek_last_error(), 0);
  arrays.release_lease(lease);
  set_hooks(before);
}

TEST_F(CArraysTest, IncrementsUnderWriteLeasesAreNotLost) {
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int done = 0; done < 200;) {
        MemArrayLeaseRef const lease = arrays.write_array(array, done % 2 ? 0 : -1, nullptr, nullptr, 0);
        if (lease) {
          static_cast<float*>(arrays.lease_data(lease, 1))[0] += 1;
          ++done;
        } else {
          if (api.get_last_error() != MEMARRAY_LOCK_ERROR) return;
          ++refused;
          std::this_thread::yield();
        }
        arrays.release_lease(lease);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(elements()[0], 800);
}

}  // namespace
}  // namespace memarray::test
