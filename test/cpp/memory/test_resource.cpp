#include <memarray/memory/resource.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>
#include <vector>

#include "resource_suite.hpp"

namespace memarray::test {
namespace {

static_assert(!std::is_constructible_v<MemoryResource, int>);
static_assert(to_string(MemoryType::normal) == "normal" && to_string(MemoryType::pinned) == "pinned" &&
              to_string(MemoryType::unified) == "unified" && to_string(MemoryType::device) == "device");
static_assert(is_host_accessible(MemoryType::unified) && !is_host_accessible(MemoryType::device));

// Reports device memory, which the host must not access.
struct Unreachable {
  void* allocate(StreamHandle const&, std::size_t, std::size_t) {
    ++*given;
    return &place;
  }
  void deallocate(StreamHandle const&, void*, std::size_t, std::size_t) noexcept { --*given; }
  [[nodiscard]] MemoryType memory_type() const noexcept { return MemoryType::device; }
  friend bool operator==(Unreachable const&, Unreachable const&) noexcept = default;
  int* given;
  inline static std::byte place;
};

TEST(ResourceTest, CopiesAreEqualAndInterchangeable) {
  CountingResource::Counts counts;
  MemoryResource const resource = CountingResource(counts);
  MemoryResource copy = resource;
  EXPECT_EQ(copy, resource);
  EXPECT_EQ(MemoryResource(CountingResource(counts)), resource) << "equal resources, two handles";
  CountingResource::Counts others;
  EXPECT_NE(MemoryResource(CountingResource(others)), resource);
  void* const pointer = copy.allocate(default_stream(), 100);
  EXPECT_EQ(counts.bytes, 100);
  MemoryResource(resource).deallocate(default_stream(), pointer, 100);
  EXPECT_EQ(counts.blocks, 0);
  EXPECT_FALSE(MemoryResource());
}

TEST(ResourceTest, ImmortalResourcesOfOneObjectAreEqual) {
  CountingResource::Counts counts;
  static CountingResource object(counts);
  MemoryResource const first = MemoryResource::immortal(object);
  EXPECT_EQ(first, MemoryResource::immortal(object));
  EXPECT_EQ(first, MemoryResource(object));
}

TEST(ResourceTest, ZeroesMemoryIfTheResourceCannot) {
  CountingResource::Counts counts;
  MemoryResource resource = CountingResource(counts);
  EXPECT_FALSE(resource.zeroes_lazily(std::size_t{1} << 20));
  for (std::size_t const bytes : {std::size_t{1}, std::size_t{4097}, (std::size_t{8} << 20) + 3}) {
    auto* const memory = static_cast<unsigned char*>(resource.allocate_zeroed(default_stream(), bytes));
    std::size_t sum = 0;
    for (std::size_t i = 0; i < bytes; ++i) sum += memory[i];
    EXPECT_EQ(sum, 0u) << bytes;
    resource.deallocate(default_stream(), memory, bytes);
  }
}

TEST(ResourceTest, MemoryThatCannotBeZeroedIsFreed) {
  int given = 0;
  MemoryResource resource = Unreachable{&given};
  EXPECT_THROW(static_cast<void>(resource.allocate_zeroed(default_stream(), 64)), CudaError);
  EXPECT_EQ(given, 0);
}

}  // namespace
}  // namespace memarray::test
