#include "view/foreign_bools.hpp"

#include <memarray/base/reports.hpp>
#include <memarray/base/struct_fields.hpp>
#include <memarray/detail/view/adopt.hpp>
#include <memarray/detail/view/import_dlpack.hpp>
#include <memarray/memarray.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "array/array_test.hpp"

namespace memarray::test {

struct Flagged {
  std::int16_t id;
  bool flags[2];
  bool is_last;
};

}  // namespace memarray::test

MEMARRAY_FIELDS(memarray::test::Flagged, id, flags, is_last);

namespace memarray::test {
namespace {

using detail::checked_bools;
using detail::has_invalid_bools;
using detail::import_memory;
using detail::ViewCore;

constexpr std::int64_t rows = 2;
constexpr std::int64_t columns = 3;

/// A fixture for another library's bools, written as bytes: C++ cannot make a bool other than 0 or 1.
class ForeignBoolsTest : public ::testing::Test {
 protected:
  [[nodiscard]] ViewCore view(DType const& dtype, std::array<std::int64_t, 2> shape,
                              std::array<std::int64_t, 2> strides, bool writable = true) {
    return detail::import_owned(memory->data(), dtype, shape, strides, writable, memory);
  }
  [[nodiscard]] ViewCore bools(bool writable = true) {
    return view(dtype_of<bool>(), {rows, columns}, {columns, 1}, writable);
  }
  [[nodiscard]] static std::int64_t copies() { return static_cast<std::int64_t>(counters().copies.load()); }

  std::shared_ptr<std::array<std::uint8_t, 64>> memory =
      std::make_shared<std::array<std::uint8_t, 64>>(std::array<std::uint8_t, 64>{0, 1, 2, 255, 128, 0});
};

TEST_F(ForeignBoolsTest, BytesOtherThan0And1AreFound) {
  EXPECT_TRUE(has_invalid_bools(bools()));
  EXPECT_FALSE(has_invalid_bools(view(dtype_of<bool>(), {1, 2}, {2, 1})));
  EXPECT_FALSE(has_invalid_bools(view(dtype_of<bool>(), {0, 3}, {3, 1})));
  EXPECT_FALSE(has_invalid_bools(view(dtype_of<std::uint8_t>(), {rows, columns}, {columns, 1})));
  EXPECT_TRUE(has_invalid_bools(view(dtype_of<bool>(), {1, 2}, {2, 2}))) << "elements 0 and 2";
  EXPECT_FALSE(has_invalid_bools(view(dtype_of<bool>(), {1, 2}, {2, 5}))) << "elements 0 and 5";
}

TEST_F(ForeignBoolsTest, ReadersGetAReportedCopyOf0And1) {
  std::int64_t const before = copies();
  auto const read = ConstBufferView(bools()).as<bool const, 2>();
  EXPECT_EQ(copies(), before + 1);
  int trues = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) trues += static_cast<int>(read(i, j));
  EXPECT_EQ(trues, 4);
  EXPECT_NE(static_cast<void const*>(read.data()), memory->data());
  EXPECT_EQ((*memory)[2], 2);
}

TEST_F(ForeignBoolsTest, WritersAreRefused) {
  EXPECT_THROW(static_cast<void>(BufferView(bools()).as<bool, 2>()), BufferError);
  memory->fill(1);
  std::int64_t const before = copies();
  EXPECT_EQ(static_cast<void*>((BufferView(bools()).as<bool, 2>().data())), memory->data());
  EXPECT_EQ(copies(), before);
}

TEST_F(ForeignBoolsTest, CheckedCopyHasTheRequestedOrder) {
  ViewCore const transposed = view(dtype_of<bool>(), {columns, rows}, {1, columns});
  auto const read = ConstBufferView(transposed).as<bool const, 2, f_order>();
  EXPECT_TRUE(read(2, 0));
  EXPECT_TRUE(read(0, 1));
  EXPECT_FALSE(read(0, 0));
  EXPECT_FALSE(read(2, 1));
}

TEST_F(ForeignBoolsTest, BoolsInStructsAreChecked) {
  static_assert(sizeof(Flagged) == 6);
  *memory = {7, 0, 1, 0, 2, 9, 8, 0, 0, 3, 0, 9};
  ViewCore const structs = view(dtype_of<Flagged>(), {1, 2}, {12, 6});
  EXPECT_TRUE(has_invalid_bools(structs));
  auto const read = ConstBufferView(structs).as<Flagged const, 2>();
  EXPECT_EQ(read(0, 0).id, 7);
  EXPECT_EQ(read(0, 1).id, 8);
  EXPECT_TRUE(read(0, 0).flags[0] && !read(0, 0).flags[1] && read(0, 0).is_last);
  EXPECT_TRUE(!read(0, 1).flags[0] && read(0, 1).flags[1] && !read(0, 1).is_last);
  EXPECT_THROW(static_cast<void>(BufferView(structs).as<Flagged, 2>()), BufferError);
}

TEST_F(ForeignBoolsTest, CopiesOfStructsAreDenseAndValid) {
  *memory = {7, 0, 1, 0, 2, 9, 8, 0, 0, 3, 0, 9};
  ViewCore const copied = view(dtype_of<Flagged>(), {2, 1}, {6, 12}).copy();
  EXPECT_TRUE(copied.is_contiguous());
  std::array<std::uint8_t, 12> bytes{};
  std::memcpy(bytes.data(), copied.data(), bytes.size());
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 12>{7, 0, 1, 0, 1, 9, 8, 0, 0, 1, 0, 9}));
  ViewCore const columns_first = view(dtype_of<Flagged>(), {2, 2}, {6, 12}).copy();
  EXPECT_TRUE(columns_first.is_contiguous());
  EXPECT_FALSE(has_invalid_bools(columns_first.dtype(), columns_first.data(), columns_first.layout()));
}

TEST_F(ForeignBoolsTest, MemoryOfThisLibraryIsNotChecked) {
  MemArray<bool, 1> array({4});
  WriteLease const lease(array);
  EXPECT_FALSE(has_invalid_bools(BufferView(lease).core()));
}

TEST_F(ForeignBoolsTest, InvalidBoolsAreNotAdopted) {
  EXPECT_THROW(static_cast<void>(detail::adopt(bools())), BufferError);
  auto const array = MemArray<bool, 2>::share(detail::adopt_copy(bools()));
  EXPECT_FALSE(array.is_foreign());
  EXPECT_TRUE(array({1, 0}));
  EXPECT_FALSE(array({1, 2}));
}

TEST_F(ForeignBoolsTest, CopyFromConvertsInvalidBoolsTo0And1) {
  MemArray<bool, 2> array({rows, columns});
  array.copy_from(ConstBufferView(bools()));
  std::array<std::uint8_t, 6> bytes{};
  std::memcpy(bytes.data(), ReadLease(array).ptr(), bytes.size());
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 6>{0, 1, 1, 1, 1, 0}));
}

TEST_F(ForeignBoolsTest, CheckedViewsOfOtherTypesStayAsTheyAre) {
  ViewCore const numbers = view(dtype_of<std::uint8_t>(), {rows, columns}, {columns, 1});
  EXPECT_EQ(checked_bools(numbers, numbers.dtype(), true).data(), numbers.data());
  EXPECT_THROW(static_cast<void>(checked_bools(ViewCore(), dtype_of<bool>(), false)), ValueError);
}

/// A fixture for device memory with the bytes 0, 1, 2, 255, seen as bools.
class DeviceBoolsTest : public DeviceArrayTest {
 protected:
  DeviceBoolsTest() {
    std::uint8_t* const elements = raw.ptr();
    elements[1] = 1;
    elements[2] = 2;
    elements[3] = 255;
    raw.move_memory(kDLCUDA, 0, 0);
  }
  [[nodiscard]] ViewCore bools() {
    detail::LeaseCore lease(raw.state_ptr(), detail::LeaseCore::Kind::write, LeaseOptions{});
    lease.enter();
    ViewCore const view(lease);
    return {view.memory(), view.data(), dtype_of<bool>(), view.layout(), view.stream_ptr()};
  }
  using Bytes = std::array<std::uint8_t, 4>;
  [[nodiscard]] static Bytes bytes_at(void const* data) {
    Bytes bytes{};
    std::memcpy(bytes.data(), data, bytes.size());
    return bytes;
  }

  /// The bytes as another library's bools.
  [[nodiscard]] ViewCore foreign(DType const& dtype = dtype_of<bool>()) {
    std::array const shape{static_cast<std::int64_t>(raw.size()) / static_cast<std::int64_t>(dtype.itemsize)};
    StridedLayout const layout = StridedLayout::dense(shape, dtype.itemsize);
    return import_memory({raw.ptr(), {kDLCUDA, 0}, MemoryType::device, &dtype, layout, true}, {});
  }
  /// A copy of a view's bytes as they are.
  [[nodiscard]] static ViewCore as_bytes(ViewCore const& view) {
    std::array const shape{static_cast<std::int64_t>(view.bytes())};
    ViewCore const bytes(view.memory(), view.data(), dtype_of<std::uint8_t>(), StridedLayout::dense(shape, 1),
                         view.stream_ptr());
    return bytes.to_device(Device{});
  }

  static constexpr Bytes valid{0, 1, 1, 1};
  MemArray<std::uint8_t, 1> raw{{4}};
};

TEST_F(DeviceBoolsTest, CopiesOnTheHostAreValid) { EXPECT_EQ(bytes_at(bools().to_device(Device{}).data()), valid); }

TEST_F(DeviceBoolsTest, CopiesOfForeignMemoryOnTheHostNeedNoOtherCopy) {
  std::int64_t const before = copies();
  EXPECT_EQ(bytes_at(foreign().to_device(Device{}).data()), valid);
  EXPECT_EQ(copies(), before + 1) << "the move itself";
}

TEST_F(DeviceBoolsTest, OnlyBoolsOfForeignMemoryAreChecked) {
  EXPECT_TRUE(has_invalid_bools(foreign()));
  EXPECT_FALSE(has_invalid_bools(foreign().at(StridedLayout::dense(std::array<std::int64_t, 1>{2}, 1), 0)));
  EXPECT_FALSE(has_invalid_bools(foreign().at(StridedLayout::dense(std::array<std::int64_t, 1>{0}, 1), 0)));
  EXPECT_FALSE(has_invalid_bools(foreign(dtype_of<std::uint8_t>())));
  EXPECT_FALSE(has_invalid_bools(bools())) << "memory of this library";
}

TEST_F(DeviceBoolsTest, CopiesOnDevicesAreValid) {
  EXPECT_EQ(bytes_at(as_bytes(foreign().copy()).data()), valid);
  EXPECT_EQ(bytes_at(as_bytes(foreign().to_device({kDLCUDA, 1})).data()), valid);
  MemArray<bool, 1> array({4});
  array.move_memory(kDLCUDA, 0, 0);
  array.copy_from(ConstBufferView(foreign()));
  EXPECT_EQ(bytes_at(as_bytes(detail::view_of(array.state())).data()), valid);
}

TEST_F(DeviceBoolsTest, KernelsReadAReportedCopyAndWritersAreRefused) {
  std::int64_t const before = copies();
  auto const read = ConstBufferView(foreign()).as<bool const, 1, on_device>();
  EXPECT_EQ(copies(), before + 1);
  EXPECT_EQ(bytes_at(as_bytes(read.core()).data()), valid);
  EXPECT_THROW(static_cast<void>(BufferView(foreign()).as<bool, 1, on_device>()), BufferError);
  EXPECT_EQ(bytes_at(as_bytes(foreign(dtype_of<std::uint8_t>())).data()), (Bytes{0, 1, 2, 255}));
}

TEST_F(DeviceBoolsTest, InvalidBoolsAreNotAdopted) {
  EXPECT_THROW(static_cast<void>(detail::adopt(foreign())), BufferError);
  auto const array = MemArray<bool, 1>::share(detail::adopt_copy(foreign()));
  EXPECT_TRUE(array.get_on_device());
  EXPECT_EQ(sum(array, default_stream()), 3U);
}

TEST_F(DeviceBoolsTest, BoolsInStructsAreChecked) {
  raw.move_memory(kDLCPU, 0, 0);
  raw.resize({12});
  Bytes const first{7, 0, 1, 0};
  Bytes const second{2, 9, 8, 0};
  Bytes const third{0, 3, 0, 9};
  for (std::size_t i = 0; i < 4; ++i) {
    raw.write({i}, first.at(i));
    raw.write({i + 4}, second.at(i));
    raw.write({i + 8}, third.at(i));
  }
  raw.move_memory(kDLCUDA, 0, 0);
  ViewCore const structs = foreign(dtype_of<Flagged>());
  EXPECT_TRUE(has_invalid_bools(structs));
  ViewCore const copied = as_bytes(structs.copy());
  EXPECT_EQ(bytes_at(copied.data()), first);
  EXPECT_EQ(bytes_at(copied.data() + 4), (Bytes{1, 9, 8, 0}));
  EXPECT_EQ(bytes_at(copied.data() + 8), (Bytes{0, 1, 0, 9}));
  EXPECT_FALSE(
      has_invalid_bools(foreign(dtype_of<Flagged>()).at(StridedLayout::dense(std::array<std::int64_t, 1>{0}, 6), 0)));
}

TEST_F(DeviceBoolsTest, ElementsThatAreReadAreValid) {
  std::uint8_t element = 0;
  ViewCore const all = bools();
  for (std::int64_t i = 0; i < 4; ++i) {
    all.at(StridedLayout::dense(std::array<std::int64_t, 0>{}, 1), i).read_element(&element);
    EXPECT_EQ(element, valid.at(static_cast<std::size_t>(i)));
  }
}

TEST_F(DeviceBoolsTest, AdoptedArraysAreValidOnTheHost) {
  auto array = MemArray<bool, 1>::adopt(BufferView(bools()));
  std::uint8_t element = 0;
  detail::read_element(array.state(), 2, &element, -1);
  EXPECT_EQ(element, 1);
  array.move_memory(kDLCPU, 0, 0);
  EXPECT_EQ(bytes_at(ReadLease(array).ptr()), valid);
}

TEST_F(DeviceBoolsTest, ArraysWithCopiedContentsAreValidOnTheHost) {
  MemArray<bool, 1> array({4});
  array.move_memory(kDLCUDA, 0, 0);
  array.copy_from(ConstBufferView(bools()));
  array.move_memory(kDLCPU, 0, 0);
  EXPECT_EQ(bytes_at(ReadLease(array).ptr()), valid);
}

}  // namespace
}  // namespace memarray::test
