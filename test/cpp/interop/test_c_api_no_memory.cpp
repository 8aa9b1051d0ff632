// A program whose allocations fail on request. The library uses this program's allocator.

#include "c_api_test.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

// The number of this thread's allocations that succeed before one fails; negative: none fails.
thread_local int left = -1;

void* allocate(std::size_t bytes) noexcept { return left >= 0 && left-- == 0 ? nullptr : std::malloc(bytes); }

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* const memory = allocate(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept { return allocate(bytes); }
// Not inlined: otherwise the compiler reports a mismatch between `new` and `free`.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::nothrow_t const&) noexcept { std::free(memory); }

namespace memarray::test {
namespace {

class CApiNoMemoryTest : public CApiTest {
 protected:
  void SetUp() override {
    left = 0;
    auto* const ref = api.get_default_stream();
    left = -1;
    if (!ref) return expect_error(2);
    api.release_stream(ref);
    GTEST_SKIP() << "the library has its own allocator: the toolchain links the standard library statically";
  }
  /// Calls `make` with each of its allocations failing in turn, until none fails. Returns the number of failures.
  template <class Make>
  static int failures_of(Make const& make) {
    for (int enough = 0;; ++enough) {
      left = enough;
      auto* const ref = make();
      left = -1;
      if (ref) return enough;
      expect_error(2);
      if (enough == 100) return -1;
    }
  }
};

TEST_F(CApiNoMemoryTest, FailedAllocationSetsOutOfMemoryError) {
  MemArrayStreamRef stream = nullptr;
  EXPECT_EQ(failures_of([&] { return stream = api.get_default_stream(); }), 1);
  api.release_stream(stream);
  MemArrayDevicePtrRef pointer = nullptr;
  EXPECT_EQ(failures_of([&] { return pointer = api.create_device_ptr_ref(64); }), 2);
  api.release_device_ptr(pointer);
}

TEST_F(CApiNoMemoryTest, OwnerIsDroppedWhenAllocationFails) {
  std::atomic<int> drops = 0;
  MemArrayDevicePtrRef pointer = nullptr;
  int const failures = failures_of([&] { return pointer = api.create_device_ptr_with_owner(64, &drops, count); });
  EXPECT_EQ(failures, 3);
  EXPECT_EQ(drops, failures);
  api.release_device_ptr(pointer);
  EXPECT_EQ(drops, failures + 1);
}

TEST_F(CApiNoMemoryTest, ArrayAndViewCallsRecoverFromFailedAllocations) {
  std::int64_t const shape[] = {3, 4};
  // Allocates first what the process needs only once and cannot do without.
  arrays.release_array(arrays.create_array("float32", 2, shape, 0, 0));
  MemArrayArrayRef array = nullptr;
  EXPECT_GE(failures_of([&] { return array = arrays.create_array("float32", 2, shape, 0, 0); }), 2);
  MemArrayArrayRef other = nullptr;
  EXPECT_GE(failures_of([&] { return other = arrays.copy_array(array); }), 2);
  arrays.release_array(other);
  for (int writable : {0, 1}) {
    MemArrayLeaseRef lease = nullptr;
    auto const take = [&] {
      return lease = writable ? arrays.write_array(array, 0, nullptr, nullptr, 0)
                              : arrays.read_array(array, 0, nullptr, nullptr);
    };
    EXPECT_GE(failures_of(take), 1);
    EXPECT_EQ(arrays.lease_is_open(lease), 1);
    arrays.release_lease(lease);
    EXPECT_EQ(arrays.array_lock_id(array), -1);
  }
  MemArrayViewRef view = nullptr;
  EXPECT_GE(failures_of([&] { return view = arrays.array_view(array); }), 1);
  int const axis = 0;
  std::int64_t const flat = -1;
  std::int64_t const many[] = {2, 3, 4};
  MemArrayViewRef made = nullptr;
  auto const survives = [&](auto const& make, int least) {
    EXPECT_GE(failures_of([&] { return made = make(); }), least);
    views.release_view(made);
  };
  survives([&] { return views.slice_view(view, 0, 0, 2, 1); }, 1);
  survives([&] { return views.select_view(view, 0, 0); }, 1);
  survives([&] { return views.transpose_view(view, nullptr); }, 1);
  survives([&] { return views.reshape_view(view, 1, &flat); }, 1);
  survives([&] { return views.broadcast_view(view, 3, many); }, 1);
  survives([&] { return views.copy_view(view); }, 2);
  survives([&] { return views.cast_view(view, "float64"); }, 2);
  survives([&] { return views.sum_view(view, 1, &axis); }, 2);
  survives([&] { return views.create_view("int8", 2, shape); }, 2);
  views.release_view(view);
  // While the lease is open, even the error message needs memory.
  MemArrayLeaseRef const lease = arrays.write_array(array, 0, nullptr, nullptr, 0);
  float const one = 1;
  for (left = 0;; ++left) {
    int const enough = left;
    EXPECT_EQ(arrays.fill_array(array, &one, -1), -1);
    left = -1;
    int const code = api.get_last_error();
    if (code == MEMARRAY_LOCK_ERROR) break;
    ASSERT_EQ(code, 2);
    ASSERT_LT(enough, 100);
    left = enough;
  }
  arrays.release_lease(lease);
  arrays.release_array(array);
}

TEST_F(CApiNoMemoryTest, DescribeErrorFallsBackToCallerText) {
  char const* const what = "a call whose description does not fit into a short string";
  char words[100];
  left = 0;
  std::size_t const length = api.describe_error(2, what, words, sizeof words);
  left = -1;
  EXPECT_EQ(length, std::strlen(what));
  EXPECT_STREQ(words, what);
}

}  // namespace
}  // namespace memarray::test
