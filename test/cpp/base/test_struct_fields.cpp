#include <memarray/base/struct_fields.hpp>

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <memarray/base/errors.hpp>

namespace fields_test {

enum class Phase : std::int16_t { solid, liquid };

struct Point {
  float x;
  std::int32_t id;
};

/// One member of each kind, with padding inside and at the end.
struct Everything {
  bool alive;
  Phase phase;
  std::uint64_t count;
  std::complex<float> amplitude;
  double tensor[2][3];
  std::array<std::int8_t, 4> flags;
  std::array<Point, 2> ends;
  Point origin;
  char label[5];
  char lines[2][3];
  std::byte raw[3];
  memarray::float16 weight;
  memarray::bfloat16 scale;
};

#pragma pack(push, 1)
struct Packed {
  char state;
  double level;
};
#pragma pack(pop)

/// Another type with the names, types and offsets of Point's fields.
struct Twin {
  float x;
  std::int32_t id;
};

struct alignas(32) Aligned {
  double level;
};

}  // namespace fields_test

MEMARRAY_FIELDS(fields_test::Point, x, id);
MEMARRAY_FIELDS(fields_test::Everything, alive, phase, count, amplitude, tensor, flags, ends, origin, label, lines, raw,
                weight, scale);
MEMARRAY_FIELDS(fields_test::Packed, state, level);
MEMARRAY_FIELDS(fields_test::Twin, x, id);
MEMARRAY_FIELDS(fields_test::Aligned, level);

namespace memarray::test {
namespace {

using detail::cover;
using detail::field_of;
using fields_test::Everything;
using fields_test::Point;

static_assert(Element<Point> && Element<Everything>);

// MEMARRAY_FIELDS does not compile unless `cover` is true for its list of members.
constexpr auto x = field_of<float>("x", offsetof(Point, x));
constexpr auto id = field_of<std::int32_t>("id", offsetof(Point, id));
static_assert(cover(std::array{x, id}, sizeof(Point), alignof(Point)));
static_assert(!cover(std::array{x}, sizeof(Point), alignof(Point)), "a member was left out at the end");
static_assert(!cover(std::array{id}, sizeof(Point), alignof(Point)), "a member was left out at the start");
static_assert(!cover(std::array{id, x}, sizeof(Point), alignof(Point)), "members in another order");
static_assert(!cover(std::array{x, x, id}, sizeof(Point), alignof(Point)), "a member named twice");

StructField const& field(StructFields const& fields, std::string const& name) {
  for (StructField const& one : fields.list)
    if (one.name == name) return one;
  throw IndexError("no field " + name);
}

TEST(StructFieldsTest, HaveTheOffsetsAndTypesOfTheMembers) {
  StructFields const& fields = *dtype_of<Everything>().fields;
  EXPECT_EQ(fields.itemsize, sizeof(Everything));
  ASSERT_EQ(fields.list.size(), 13U);
  struct Expected {
    char const* name;
    std::size_t offset;
    std::size_t nbytes;
    char const* typestr;
    std::vector<std::uint32_t> extents;
  };
  for (Expected const& expected : std::vector<Expected>{
           {"alive", offsetof(Everything, alive), 1, "|b1", {}},
           {"phase", offsetof(Everything, phase), 2, "<i2", {}},
           {"count", offsetof(Everything, count), 8, "<u8", {}},
           {"amplitude", offsetof(Everything, amplitude), 8, "<c8", {}},
           {"tensor", offsetof(Everything, tensor), 48, "<f8", {2, 3}},
           {"flags", offsetof(Everything, flags), 4, "|i1", {4}},
           {"ends", offsetof(Everything, ends), 16, "", {2}},
           {"origin", offsetof(Everything, origin), 8, "", {}},
           {"label", offsetof(Everything, label), 5, "|S5", {}},
           {"lines", offsetof(Everything, lines), 6, "|S3", {2}},
           {"raw", offsetof(Everything, raw), 3, "|u1", {3}},
           {"weight", offsetof(Everything, weight), 2, "<f2", {}},
           {"scale", offsetof(Everything, scale), 2, "|V2", {}},
       }) {
    StructField const& found = field(fields, expected.name);
    EXPECT_EQ(found.offset, expected.offset) << expected.name;
    EXPECT_EQ(found.nbytes(), expected.nbytes) << expected.name;
    EXPECT_EQ(found.typestr, expected.typestr) << expected.name;
    EXPECT_EQ(found.extents, expected.extents) << expected.name;
    EXPECT_EQ(found.nested != nullptr, found.typestr.empty()) << expected.name;
  }
  EXPECT_EQ(field(fields, "origin").nested, dtype_of<Point>().fields);
}

TEST(StructFieldsTest, FormatsIncludePadding) {
  EXPECT_EQ(dtype_of<Point>().fields->format, "T{=f:x:=i:id:}");
  EXPECT_EQ(dtype_of<fields_test::Packed>().fields->format, "T{=1s:state:=d:level:}");
  EXPECT_EQ(dtype_of<fields_test::Aligned>().fields->format, "T{=d:level:24x}");
  EXPECT_EQ(dtype_of<Everything>().fields->format.substr(0, 26), "T{=?:alive:1x=h:phase:4x=Q");
}

TEST(StructFieldsTest, EqualFieldsShareOneObject) {
  StructFields const* const point = dtype_of<Point>().fields;
  EXPECT_EQ(dtype_of<fields_test::Twin>().fields, point);
  EXPECT_EQ(intern_struct(8, 4, point->list), point);
  EXPECT_NE(intern_struct(12, 4, point->list), point);
  EXPECT_NE(std::string(dtype_of<fields_test::Twin>().name), dtype_of<Point>().name);
}

TEST(StructFieldsTest, ConcurrentInterningYieldsSameObjects) {
  constexpr std::uint32_t layouts = 64;
  std::vector<std::vector<StructFields const*>> seen(4);
  std::vector<std::thread> threads;
  threads.reserve(seen.size());
  for (auto& found : seen)
    threads.emplace_back([&found] {
      for (std::uint32_t i = 0; i < layouts; ++i)
        found.push_back(intern_struct(1000 + i, 1, std::vector{StructField{"a", i, "|u1"}}));
    });
  for (std::thread& thread : threads) thread.join();
  for (auto const& found : seen) EXPECT_EQ(found, seen.front());
}

TEST(StructFieldsTest, InvalidFieldsAreRefused) {
  auto const make = [](std::vector<StructField> const& fields, std::uint32_t itemsize = 16) {
    return intern_struct(itemsize, 1, fields);
  };
  EXPECT_THROW(make({}), ValueError);
  EXPECT_THROW(make({{"", 0, "<f4"}}), ValueError);
  EXPECT_THROW(make({{"a:b", 0, "<f4"}}), ValueError);
  EXPECT_THROW(make({{std::string("a\0b", 3), 0, "<f4"}}), ValueError);
  EXPECT_THROW(make({{"a", 0, "<f4"}, {"a", 4, "<f4"}}), ValueError);
  EXPECT_THROW(make({{"a", 0, "<f8"}, {"b", 4, "<f4"}}), ValueError);
  EXPECT_THROW(make({{"a", 12, "<f8"}}), ValueError);
  EXPECT_THROW(make({{"a", 0, ">f8"}}), ValueError);
  EXPECT_THROW(make({{"a", 0, "<M8"}}), ValueError);
  EXPECT_THROW(make({{"a", 0, "<f4", nullptr, {1U << 31, 1U << 31, 4}}}), ValueError);
  EXPECT_THROW(static_cast<void>(intern_struct(4, 3, std::vector{StructField{"a", 0, "<f4"}})), ValueError);
}

TEST(StructFieldsTest, ItemsizeFollowsFromTypestr) {
  for (auto const& [typestr, size] : std::vector<std::pair<char const*, std::uint32_t>>{
           {"|b1", 1}, {"|i1", 1}, {"<i8", 8},  {"=u4", 4}, {"<f2", 2}, {"<c16", 16}, {"|S7", 7},
           {"|V3", 3}, {"|b2", 0}, {"<i16", 0}, {"<i3", 0}, {"<f3", 0}, {"<c4", 0},   {">i4", 0},
           {"<U4", 0}, {"|O8", 0}, {"<M8", 0},  {"", 0},    {"<f", 0},  {"<f8x", 0}})
    EXPECT_EQ(field_itemsize(typestr), size) << typestr;
}

}  // namespace
}  // namespace memarray::test
