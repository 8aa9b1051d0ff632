// A program whose allocations fail when it is told so; the library's are this program's.

#include "c_api_test.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

// How many more allocations of this thread succeed before one that fails; below 0: none does.
thread_local int left = -1;

void* allocate(std::size_t bytes) noexcept { return left >= 0 && left-- == 0 ? nullptr : std::malloc(bytes); }

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* const memory = allocate(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept { return allocate(bytes); }
// Not inlined, as the compiler would take what a caller's `new` returns for memory of another kind.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::nothrow_t const&) noexcept { std::free(memory); }

namespace memarray::test {
namespace {

class CApiNoMemoryTest : public CApiTest {
 protected:
  /// `make` is called with one allocation after the other failing, until none does; how often it failed.
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

TEST_F(CApiNoMemoryTest, IsAFailureAsOthersAre) {
  MemArrayStreamRef stream = nullptr;
  EXPECT_EQ(failures_of([&] { return stream = api.get_default_stream(); }), 1);
  api.release_stream(stream);
  MemArrayDevicePtrRef pointer = nullptr;
  EXPECT_EQ(failures_of([&] { return pointer = api.create_device_ptr_ref(64); }), 2);
  api.release_device_ptr(pointer);
}

TEST_F(CApiNoMemoryTest, TheOwnerIsTakenAllTheSame) {
  std::atomic<int> drops = 0;
  MemArrayDevicePtrRef pointer = nullptr;
  int const failures = failures_of([&] { return pointer = api.create_device_ptr_with_owner(64, &drops, count); });
  EXPECT_EQ(failures, 3);
  EXPECT_EQ(drops, failures);
  api.release_device_ptr(pointer);
  EXPECT_EQ(drops, failures + 1);
}

TEST_F(CApiNoMemoryTest, ErrorsAreDescribedByTheirCallersWords) {
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
