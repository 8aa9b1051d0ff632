#include <memarray/base/errors.hpp>
#include <memarray/detail/state/segment_layout.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "shared_test.hpp"

namespace memarray::test {
namespace {

using detail::read_segment;
using detail::SegmentHeader;
using detail::SegmentLayout;
using detail::write_segment;
using ::testing::HasSubstr;

constexpr std::size_t bytes = sizeof(SegmentHeader) + 4096;

class SegmentLayoutTest : public ArrayTest {
 protected:
  SegmentLayoutTest() : file(bytes), memory(file.map()) {}
  [[nodiscard]] SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(memory.bytes.data()); }
  void write() { static_cast<void>(write_segment(memory.bytes, dtype_of<float>(), shape, true)); }
  [[nodiscard]] std::string why_not() const {
    return message_of<ValueError>([&] { static_cast<void>(read_segment(memory.bytes)); });
  }

  std::array<std::int64_t, 2> shape{16, 8};
  SharedFile file;
  SharedMemory memory;
};

TEST_F(SegmentLayoutTest, ReadsBackWrittenLayout) {
  write();
  SegmentLayout const layout = read_segment(memory.bytes);
  EXPECT_EQ(layout.dtype_name, "float32");
  EXPECT_TRUE(layout.is_of(dtype_of<float>()));
  EXPECT_FALSE(layout.is_of(dtype_of<int>()));
  EXPECT_EQ(layout.shape, (std::vector<std::int64_t>{16, 8}));
  EXPECT_EQ(layout.data_bytes, 16U * 8 * 4);
  EXPECT_EQ(layout.data_at % 64, 0U);
  EXPECT_NE(layout.uid, 0U);
  write();
  EXPECT_NE(read_segment(memory.bytes).uid, layout.uid) << "another array in the same memory";
}

TEST_F(SegmentLayoutTest, ElementsAreClearedInUsedMemory) {
  std::memset(memory.bytes.data(), 0x5a, memory.bytes.size());
  SegmentLayout const layout = write_segment(memory.bytes, dtype_of<float>(), shape, false);
  for (std::size_t i = 0; i < layout.data_bytes; ++i) EXPECT_EQ(memory.bytes[layout.data_at + i], std::byte{0});
  EXPECT_EQ(memory.bytes[layout.data_at + layout.data_bytes], std::byte{0x5a}) << "not the array's";
}

TEST_F(SegmentLayoutTest, RefusesSmallOrMisalignedMemoryAndInvalidShapes) {
  EXPECT_THROW(static_cast<void>(write_segment(memory.bytes.first(1000), dtype_of<float>(), shape, true)), ValueError);
  EXPECT_THROW(static_cast<void>(write_segment(memory.bytes.subspan(8), dtype_of<float>(), shape, true)), ValueError);
  std::array<std::int64_t, 2> const larger{16, 65};
  EXPECT_THROW(static_cast<void>(write_segment(memory.bytes, dtype_of<float>(), larger, true)), ValueError);
  std::array<std::int64_t, 2> const huge{std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_THROW(static_cast<void>(write_segment(memory.bytes, dtype_of<float>(), huge, true)), OverflowError);
  std::array<std::int64_t, 1> const nearly_all{INT64_MAX};
  EXPECT_THROW(static_cast<void>(write_segment(memory.bytes, dtype_of<std::int8_t>(), nearly_all, true)),
               OverflowError);
  std::array<std::int64_t, 1> const negative{-1};
  EXPECT_THROW(static_cast<void>(write_segment(memory.bytes, dtype_of<float>(), negative, true)), ValueError);
  EXPECT_EQ(header().magic.load(), 0U) << "a refusal writes nothing";
}

TEST_F(SegmentLayoutTest, EveryHeaderFieldIsChecked) {
  struct Case {
    char const* words;
    std::function<void(SegmentHeader&)> spoil;
  };
  Case const cases[] = {
      {"no array was created there", [](SegmentHeader& h) { h.magic = 0; }},
      {"other bytes", [](SegmentHeader& h) { h.magic = 0x5a5a5a5a; }},
      {"version 2", [](SegmentHeader& h) { h.version = 2; }},
      {"room for 4294967295 processes", [](SegmentHeader& h) { h.slots = UINT32_MAX; }},
      {"no identity", [](SegmentHeader& h) { h.uid = 0; }},
      {"contradict", [](SegmentHeader& h) { h.bytes = 12; }},
      {"it was cut off",
       [](SegmentHeader& h) {
         h.shape[0] = 1 << 20;
         h.data_bytes = std::uint64_t{8} * 4 << 20;
         h.bytes = h.data_at + h.data_bytes;
       }},
      {"contradict", [](SegmentHeader& h) { h.bytes = UINT64_MAX; }},
      {"contradict", [](SegmentHeader& h) { h.data_at = 0; }},
      {"contradict", [](SegmentHeader& h) { h.data_at = UINT64_MAX - 63; }},
      {"its header records 4", [](SegmentHeader& h) { h.data_bytes = 4; }},
      {"no bytes", [](SegmentHeader& h) { h.itemsize = 0; }},
      {"takes", [](SegmentHeader& h) { h.itemsize = UINT32_MAX; }},
      {"rank is 0", [](SegmentHeader& h) { h.ndim = 0; }},
      {"rank is 17", [](SegmentHeader& h) { h.ndim = 17; }},
      {"rank is 4294967295", [](SegmentHeader& h) { h.ndim = UINT32_MAX; }},
      {"impossible", [](SegmentHeader& h) { h.shape[0] = -16; }},
      {"impossible", [](SegmentHeader& h) { h.shape[0] = INT64_MAX; }},
      {"takes", [](SegmentHeader& h) { h.shape[1] = 0; }},
  };
  for (Case const& wrong : cases) {
    write();
    wrong.spoil(header());
    EXPECT_THAT(why_not(), HasSubstr(wrong.words));
  }
  write();
  header().space += 1;
  EXPECT_THAT(message_of<Error>([&] { static_cast<void>(read_segment(memory.bytes)); }), HasSubstr("namespace"));
  write();
  std::memset(header().dtype, 'x', sizeof(header().dtype));
  EXPECT_EQ(read_segment(memory.bytes).dtype_name.size(), sizeof(header().dtype)) << "a name without an end";
}

TEST_F(SegmentLayoutTest, TruncatedMemoryIsRefused) {
  write();
  std::size_t const needed = sizeof(SegmentHeader) + 16 * 8 * 4;
  for (std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64},
                             sizeof(SegmentHeader) - 1, sizeof(SegmentHeader), needed - 1})
    EXPECT_THROW(static_cast<void>(read_segment(memory.bytes.first(length))), ValueError) << length;
  EXPECT_EQ(read_segment(memory.bytes.first(needed)).data_bytes, needed - sizeof(SegmentHeader));
}

// `read_segment` either refuses a header, or returns elements that lie inside the memory and match the shape.
TEST_F(SegmentLayoutTest, RandomHeadersNeverYieldElementsOutsideMemory) {
  std::mt19937_64 random(20261122);
  int good = 0;
  for (int round = 0; round < 20'000; ++round) {
    write();
    for (std::uint64_t changes = random() % 3 + 1; changes > 0; --changes) {
      std::size_t const at = random() % offsetof(SegmentHeader, word);
      std::uint64_t const kinds[] = {0, 1, 0xff, random() & 0xff};
      memory.bytes[at] = static_cast<std::byte>(kinds[random() % 4]);
    }
    try {
      SegmentLayout const layout = read_segment(memory.bytes);
      ++good;
      EXPECT_LE(layout.data_at, memory.bytes.size());
      EXPECT_LE(layout.data_bytes, memory.bytes.size() - layout.data_at);
      std::int64_t size = 1;
      for (std::int64_t const extent : layout.shape) size *= extent;
      EXPECT_EQ(static_cast<std::size_t>(size) * layout.itemsize, layout.data_bytes);
    } catch (ValueError const&) {
    } catch (Error const&) {
    }
  }
  EXPECT_GT(good, 100);
  EXPECT_LT(good, 20'000);
}

}  // namespace
}  // namespace memarray::test
