#include "memory/thrust_allocator.hpp"

#include <gtest/gtest.h>
#include <memarray/base/errors.hpp>

#include <sys/mman.h>

#include <utility>

#include <memarray/memory/pageable_resource.hpp>

#include "resource_suite.hpp"

namespace memarray::detail {
namespace {

using test::CountingResource;
using Allocator = ThrustAllocator<std::byte>;

class ThrustAllocatorTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(first_counts.bytes, 0) << "freed into the wrong resource";
    EXPECT_EQ(second_counts.bytes, 0) << "freed into the wrong resource";
  }

  HostBytes make(MemoryResource const& resource, std::size_t count,
                 Allocator::Contents contents = Allocator::Contents::uninitialized) {
    return make_bytes<HostBytes>(Allocator(resource, default_stream(), contents), count);
  }

  CountingResource::Counts first_counts;
  CountingResource::Counts second_counts;
  MemoryResource first{CountingResource(first_counts)};
  MemoryResource second{CountingResource(second_counts)};
};

TEST_F(ThrustAllocatorTest, MemoryKeepsTheContentsGivenByTheResource) {
  HostBytes const plain = make(first, 1000);
  EXPECT_EQ(plain.size(), 1000U);
  EXPECT_EQ(plain[0], std::byte{0xAB});
  EXPECT_EQ(plain[999], std::byte{0xAB});
  HostBytes const zeroed = make(first, 1000, Allocator::Contents::zero);
  EXPECT_EQ(zeroed[0], std::byte{0});
  EXPECT_EQ(zeroed[999], std::byte{0});
  EXPECT_EQ(first_counts.bytes, 2000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(plain.data()) % default_alignment, 0U);
}

/// Returns addresses that fault on any access.
class Untouchable {
 public:
  void* allocate(StreamHandle const&, std::size_t bytes, std::size_t) {
    void* const place = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) throw OutOfMemoryError("no addresses left");
    return place;
  }
  void deallocate(StreamHandle const&, void* pointer, std::size_t bytes, std::size_t) noexcept {
    munmap(pointer, bytes);
  }
  [[nodiscard]] MemoryType memory_type() const noexcept { return MemoryType::device; }
  friend bool operator==(Untouchable const&, Untouchable const&) noexcept = default;
};

TEST_F(ThrustAllocatorTest, DeviceVectorDoesNotAccessItsElements) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
  constexpr std::size_t many = std::size_t{1} << 20;
#else
  constexpr std::size_t many = std::size_t{1} << 42;  // so large that a loop over it would not end
#endif
  StreamHandle const stream = default_stream();
  MemoryResource const untouchable{Untouchable()};
  auto const bytes = make_bytes<DeviceBytes>(DeviceBytes::allocator_type(untouchable, &stream), many);
  EXPECT_EQ(bytes.size(), many);
  EXPECT_NE(bytes.data().get(), nullptr);
}

TEST_F(ThrustAllocatorTest, EmptyVectorsAllocateNothing) {
  HostBytes const empty = make(first, 0);
  EXPECT_EQ(empty.size(), 0U);
  EXPECT_EQ(first_counts.allocations, 0);
}

TEST_F(ThrustAllocatorTest, MovePropagatesTheResource) {
  HostBytes vector = make(first, 100);
  HostBytes other = make(second, 200);
  vector = std::move(other);
  EXPECT_EQ(vector.size(), 200U);
  EXPECT_EQ(first_counts.bytes, 0);
  EXPECT_EQ(second_counts.bytes, 200);
  HostBytes const stolen(std::move(vector));
  EXPECT_EQ(second_counts.allocations, 1);
}

TEST_F(ThrustAllocatorTest, SwapPropagatesTheResource) {
  HostBytes vector = make(first, 100);
  {
    HostBytes other = make(second, 200);
    vector.swap(other);
    EXPECT_EQ(other.size(), 100U);
  }
  EXPECT_EQ(first_counts.bytes, 0);
  EXPECT_EQ(second_counts.bytes, 200);
}

TEST_F(ThrustAllocatorTest, AllocatorsAreEqualIfTheirResourcesAre) {
  Allocator const a(first, default_stream());
  EXPECT_TRUE(a == Allocator(first, default_stream(), Allocator::Contents::zero));
  EXPECT_FALSE(a == Allocator(second, default_stream()));
  EXPECT_TRUE(a != Allocator(second, default_stream()));
  ThrustAllocator<int> const ints(a);
  EXPECT_TRUE(ints.resource() == first);
}

TEST_F(ThrustAllocatorTest, FailedAllocationLeaksNothing) {
  first_counts.failures = 1;
  EXPECT_THROW(static_cast<void>(make(first, 100)), OutOfMemoryError);
}

TEST_F(ThrustAllocatorTest, LargeVectorsTouchNoPage) {
  // 16 GiB of addresses without memory behind them.
  HostBytes vector(Allocator(PageableResource(), default_stream()));
  try {
    vector = make(PageableResource(), std::size_t{1} << 34, Allocator::Contents::zero);
  } catch (OutOfMemoryError const&) {
    GTEST_SKIP() << "this machine does not overcommit";
  }
  EXPECT_EQ(vector[12345678901], std::byte{0});
}

}  // namespace
}  // namespace memarray::detail
