#include <memarray/memory/pageable_resource.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "resource_suite.hpp"

namespace memarray::test {
namespace {

struct MakePageable {
  static MemoryResource make(MemoryResource) { return PageableResource(); }
  static constexpr bool uses_upstream = false;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Pageable, ResourceSuite, MakePageable);

std::size_t resident_pages(void* pointer, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(mincore(pointer, bytes, pages.data()), 0);
  return static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](auto page) { return page & 1; }));
}

TEST(PageableResource, AllInstancesAreEqual) {
  EXPECT_EQ(MemoryResource(PageableResource()), MemoryResource(PageableResource()));
}

TEST(PageableResource, LargeBlocksAreAlignedToHugePages) {
  PageableResource resource;
  for (std::size_t const bytes : {std::size_t{2} << 20, (std::size_t{5} << 20) + 1}) {
    void* const pointer = resource.allocate(default_stream(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % (2 << 20), 0U);
    resource.deallocate(default_stream(), pointer, bytes);
  }
}

TEST(PageableResource, LargeZeroedMemoryIsResidentOnlyAfterAWrite) {
  PageableResource resource;
  std::size_t const bytes = std::size_t{16} << 20;
  EXPECT_TRUE(resource.zeroes_lazily(bytes));
  EXPECT_FALSE(resource.zeroes_lazily(1 << 20));
  void* const pointer = resource.allocate_zeroed(default_stream(), bytes);
  EXPECT_EQ(resident_pages(pointer, bytes), 0U);
  std::memset(pointer, 1, bytes);
  EXPECT_GT(resident_pages(pointer, bytes), 0U);
  resource.zero(default_stream(), pointer, bytes);
  EXPECT_EQ(resident_pages(pointer, bytes), 0U);
  resource.deallocate(default_stream(), pointer, bytes);
}

TEST(PageableResource, ErrorReportsTheRequestedBytes) {
  PageableResource resource;
  try {
    static_cast<void>(resource.allocate(default_stream(), std::size_t{1} << 55));
    FAIL();
  } catch (OutOfMemoryError const& error) {
    EXPECT_NE(std::string(error.what()).find("36028797018963968"), std::string::npos) << error.what();
    EXPECT_EQ(error.code(), cuda_code::out_of_memory);
  }
}

}  // namespace
}  // namespace memarray::test
