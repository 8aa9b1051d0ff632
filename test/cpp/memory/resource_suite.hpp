#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include <memarray/base/errors.hpp>
#include <memarray/memory/resource.hpp>

namespace memarray::test {

/// Pageable memory that counts live blocks and can be made to fail.
class CountingResource {
 public:
  struct Counts {
    std::atomic<std::int64_t> blocks{0};
    std::atomic<std::int64_t> bytes{0};
    std::atomic<std::int64_t> allocations{0};
    std::atomic<int> failures{0};  ///< how many of the next allocations fail
  };

  explicit CountingResource(Counts& counts) : _counts(&counts) {}

  void* allocate(StreamHandle const&, std::size_t bytes, std::size_t alignment) {
    if (_counts->failures > 0) {
      --_counts->failures;
      throw OutOfMemoryError("dry");
    }
    ++_counts->blocks;
    ++_counts->allocations;
    _counts->bytes += static_cast<std::int64_t>(bytes);
    void* const pointer = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
    std::memset(pointer, 0xAB, bytes);
    return pointer;
  }
  void deallocate(StreamHandle const&, void* pointer, std::size_t bytes, std::size_t) noexcept {
    --_counts->blocks;
    _counts->bytes -= static_cast<std::int64_t>(bytes);
    std::memset(pointer, 0xCD, bytes);
    std::free(pointer);
  }
  [[nodiscard]] MemoryType memory_type() const noexcept { return MemoryType::normal; }
  friend bool operator==(CountingResource const&, CountingResource const&) noexcept = default;

 private:
  Counts* _counts;
};

/// Tests that every resource must pass. A suite's type makes a resource over an upstream, to which all memory must
/// return once the last handle is released:
///   struct MakeMine { static MemoryResource make(MemoryResource upstream); static constexpr bool uses_upstream; };
template <class Make>
class ResourceSuite : public ::testing::Test {
 protected:
  void SetUp() override { resource = Make::make(CountingResource(upstream)); }
  void TearDown() override {
    resource = MemoryResource();
    EXPECT_EQ(upstream.blocks, 0) << "leaked";
    EXPECT_EQ(upstream.bytes, 0) << "freed with other sizes than allocated";
  }

  static bool all_are(void const* pointer, std::size_t bytes, unsigned char value) {
    auto const* const first = static_cast<unsigned char const*>(pointer);
    return bytes == 0 || (*first == value && std::memcmp(first, first + 1, bytes - 1) == 0);
  }

  // Sizes around every limit that affects allocation.
  static constexpr std::size_t sizes[] = {
      0, 1, 63, 64, 65, 4095, 65535, 65536, 65537, (1 << 20), (2 << 20) - 1, 2 << 20, (2 << 20) + 1, (9 << 20) + 12345};

  CountingResource::Counts upstream;
  MemoryResource resource;
  StreamHandle stream = default_stream();
};

TYPED_TEST_SUITE_P(ResourceSuite);

TYPED_TEST_P(ResourceSuite, GivesAlignedMemoryThatCanBeWritten) {
  for (std::size_t const bytes : this->sizes) {
    for (std::size_t const alignment : {std::size_t{64}, std::size_t{256}, std::size_t{8192}}) {
      void* const pointer = this->resource.allocate(this->stream, bytes, alignment);
      ASSERT_NE(pointer, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % alignment, 0U);
      std::memset(pointer, 0x5A, bytes);
      EXPECT_TRUE(this->all_are(pointer, bytes, 0x5A));
      this->resource.deallocate(this->stream, pointer, bytes, alignment);
    }
  }
}

TYPED_TEST_P(ResourceSuite, ZeroedMemoryIsZeroEvenIfReused) {
  for (std::size_t const bytes : this->sizes) {
    for (int round = 0; round < 3; ++round) {
      void* const zeroed = this->resource.allocate_zeroed(this->stream, bytes);
      EXPECT_TRUE(this->all_are(zeroed, bytes, 0)) << bytes;
      std::memset(zeroed, 0xFF, bytes);
      this->resource.deallocate(this->stream, zeroed, bytes);
      void* const plain = this->resource.allocate(this->stream, bytes);
      std::memset(plain, 0xFF, bytes);
      this->resource.zero(this->stream, plain, bytes);
      EXPECT_TRUE(this->all_are(plain, bytes, 0)) << bytes;
      std::memset(plain, 0xFF, bytes);
      this->resource.deallocate(this->stream, plain, bytes);
    }
  }
}

TYPED_TEST_P(ResourceSuite, LiveBlocksDoNotOverlap) {
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  for (int round = 0; round < 4; ++round) {
    for (std::size_t const bytes : this->sizes) {
      auto* const pointer = static_cast<unsigned char*>(this->resource.allocate(this->stream, bytes));
      std::memset(pointer, static_cast<int>(blocks.size()), bytes);
      blocks.emplace_back(pointer, bytes);
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_TRUE(this->all_are(blocks[i].first, blocks[i].second, static_cast<unsigned char>(i)));
    this->resource.deallocate(this->stream, blocks[i].first, blocks[i].second);
  }
}

TYPED_TEST_P(ResourceSuite, CopiesAreEqualAndInterchangeable) {
  MemoryResource const copy = this->resource;
  EXPECT_EQ(copy, this->resource);
  EXPECT_FALSE(copy == MemoryResource());
  void* const pointer = this->resource.allocate(this->stream, 100000);
  MemoryResource other = copy;
  other.deallocate(this->stream, pointer, 100000);
  EXPECT_TRUE(is_host_accessible(copy.memory_type()));
}

TYPED_TEST_P(ResourceSuite, FailedAllocationThrowsOutOfMemoryError) {
  if (!TypeParam::uses_upstream) {
    for (std::size_t const bytes :
         {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() / 2, std::size_t{1} << 60}) {
      EXPECT_THROW(static_cast<void>(this->resource.allocate(this->stream, bytes)), OutOfMemoryError);
      EXPECT_THROW(static_cast<void>(this->resource.allocate_zeroed(this->stream, bytes)), OutOfMemoryError);
    }
    return;
  }
  for (std::size_t const bytes : {std::size_t{100}, std::size_t{1} << 20}) {
    this->upstream.failures = 1000;
    EXPECT_THROW(static_cast<void>(this->resource.allocate(this->stream, bytes)), OutOfMemoryError);
    EXPECT_THROW(static_cast<void>(this->resource.allocate_zeroed(this->stream, bytes)), OutOfMemoryError);
    this->upstream.failures = 0;
    this->resource.deallocate(this->stream, this->resource.allocate(this->stream, bytes), bytes);
  }
}

TYPED_TEST_P(ResourceSuite, ThreadsCanShareOneResource) {
  std::atomic<int> torn{0};
  std::vector<std::thread> threads;
  for (unsigned char id = 1; id <= 4; ++id) {
    threads.emplace_back([this, id, &torn] {
      MemoryResource mine = this->resource;
      for (std::size_t round = 0; round < 200; ++round) {
        std::size_t const bytes = 1000 + round % 7 * 40000;
        bool const zeroed = round % 3 == 0;
        void* const pointer = zeroed ? mine.allocate_zeroed(this->stream, bytes) : mine.allocate(this->stream, bytes);
        torn += zeroed && !this->all_are(pointer, bytes, 0);
        std::memset(pointer, id, bytes);
        std::this_thread::yield();
        torn += !this->all_are(pointer, bytes, id);
        mine.deallocate(this->stream, pointer, bytes);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(torn, 0);
}

REGISTER_TYPED_TEST_SUITE_P(ResourceSuite, GivesAlignedMemoryThatCanBeWritten, ZeroedMemoryIsZeroEvenIfReused,
                            LiveBlocksDoNotOverlap, CopiesAreEqualAndInterchangeable,
                            FailedAllocationThrowsOutOfMemoryError, ThreadsCanShareOneResource);

}  // namespace memarray::test
