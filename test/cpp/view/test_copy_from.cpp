// Filling an array from a view of a different owner, layout, dtype and device.
#include <memarray/detail/view/copy_from.hpp>
#include <memarray/driver/stream_order.hpp>

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "array/array_test.hpp"

namespace memarray {
namespace {

using ::testing::HasSubstr;

template <class T>
ConstBufferView view_of(std::shared_ptr<std::vector<T>> const& values, std::vector<std::int64_t> const& shape,
                        std::vector<std::int64_t> const& strides = {}) {
  return ConstBufferView(BufferView::from_memory(values->data(), shape, values, strides));
}

template <class T>
std::shared_ptr<std::vector<T>> counted(std::size_t count) {
  auto values = std::make_shared<std::vector<T>>(count);
  for (std::size_t i = 0; i < count; ++i) (*values)[i] = static_cast<T>(static_cast<int>(i) - 3);
  return values;
}

class CopyFromTest : public test::ArrayTest {};

TEST_F(CopyFromTest, EveryLayoutArrivesInCOrder) {
  auto const values = counted<std::int32_t>(12);
  MemArray<std::int32_t, 2> a({3, 4});
  a.copy_from(view_of(values, {3, 4}));
  EXPECT_EQ(a({2, 3}), 8);
  MemArray<std::int32_t, 2> t({4, 3});
  t.copy_from(view_of(values, {3, 4}).transpose());
  EXPECT_EQ(t({3, 2}), 8);
  EXPECT_EQ(t({0, 2}), 5);
  t.copy_from(ConstBufferView(BufferView::from_memory(values->data(), {4, 3}, values)).slice(0, {.step = -1}));
  EXPECT_EQ(t({0, 0}), 6);
  a.copy_from(view_of(values, {12}).slice(0, {.start = 0, .stop = 4}).broadcast_to({3, 4}));
  EXPECT_EQ(a({2, 0}), -3);
  EXPECT_EQ(copies(), 0) << "another copy was made";
}

TEST_F(CopyFromTest, ElementsAreConvertedWithinTheirKind) {
  auto const values = std::make_shared<std::vector<std::int32_t>>(std::vector<std::int32_t>{
      std::numeric_limits<std::int32_t>::min(), -5, -1, 0, 3, 300, std::numeric_limits<std::int32_t>::max()});
  MemArray<double, 1> wide({7});
  wide.copy_from(view_of(values, {7}));
  EXPECT_EQ(wide({0}), -2147483648.0);
  EXPECT_EQ(wide({1}), -5.0);
  MemArray<std::int8_t, 1> narrow({7});
  narrow.copy_from(view_of(values, {7}));
  EXPECT_EQ(narrow({1}), -5);
  EXPECT_EQ(narrow({5}), 44) << "integers wrap, as NumPy's same_kind has it";
  MemArray<std::complex<float>, 1> complex({7});
  complex.copy_from(view_of(values, {7}));
  EXPECT_EQ(complex({2}), std::complex<float>(-1, 0));
  auto const special = std::make_shared<std::vector<double>>(
      std::vector<double>{-0.0, std::nan(""), INFINITY, -INFINITY, 5e-324, 1e300});
  MemArray<float, 1> floats({6});
  floats.copy_from(view_of(special, {6}));
  EXPECT_TRUE(std::signbit(floats({0})));
  EXPECT_TRUE(std::isnan(floats({1})));
  EXPECT_EQ(floats({3}), -INFINITY);
  EXPECT_EQ(floats({5}), INFINITY);
}

TEST_F(CopyFromTest, TypedViewsCanBeSources) {
  MemArray<double, 1> b({5});
  b.fill(1.25);
  ReadLease<double, 1> const lease(b);
  MemArray<float, 1> a({5});
  a.copy_from(lease.view().as<double const, 1>());
  EXPECT_EQ(a({4}), 1.25F);
}

TEST_F(CopyFromTest, RefusalsLeaveTheArrayAsItWas) {
  MemArray<std::int32_t, 1> a({4});
  a.fill(7);
  auto const floats = counted<float>(4);
  auto const longer = counted<std::int32_t>(5);
  EXPECT_THAT(test::message_of<TypeError>([&] { a.copy_from(view_of(floats, {4})); }), HasSubstr("same_kind"));
  EXPECT_THAT(test::message_of<ValueError>([&] { a.copy_from(view_of(longer, {5})); }), HasSubstr("shape (4,)"));
  EXPECT_THROW(a.copy_from(view_of(longer, {4, 1}, {4, 4})), ValueError);
  EXPECT_THROW(a.copy_from(ConstBufferView()), ValueError);
  auto const right = counted<std::int32_t>(4);
  {
    ReadLease<std::int32_t, 1> const held(a);
    EXPECT_THROW(a.copy_from(view_of(right, {4})), LockError);
  }
  {
    WriteLease<std::int32_t, 1> const held(a);
    EXPECT_THROW(a.copy_from(view_of(right, {4})), LockError);
    EXPECT_EQ(a({0}, held.lock_id()), 7);
    a.copy_from(view_of(right, {4}), held.lock_id());
    EXPECT_EQ(a({0}, held.lock_id()), -3);
  }
  a.fill(7);
  EXPECT_THROW(a.copy_from(view_of(right, {4}), 12345), LockError);
  EXPECT_EQ(a({3}), 7);
  EXPECT_EQ(a.get_lock_id(), -1);
}

TEST_F(CopyFromTest, EscapedViewsKeepTheOldContents) {
  MemArray<std::int64_t, 1> a({6});
  for (std::int64_t i = 0; i < 6; ++i) a.write({i}, i);
  ConstBufferView const kept = a.view();
  // The source is the array itself, reversed.
  a.copy_from(kept.slice(0, {.step = -1}));
  EXPECT_EQ(a({0}), 5);
  EXPECT_EQ((kept.as<std::int64_t const, 1>()(0)), 0);
}

TEST_F(CopyFromTest, SourceThatOverlapsIsCopiedFirst) {
  MemArray<std::int64_t, 1> a({6}, 0, {.escaped_views = EscapedViews::alias});
  for (std::int64_t i = 0; i < 6; ++i) a.write({i}, i);
  ConstBufferView const kept = a.view();
  a.copy_from(kept.slice(0, {.step = -1}));
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(a({i}), 5 - i);
  EXPECT_EQ(copies(), 1);
}

TEST_F(CopyFromTest, EmptyCopyNeedsTheSameShape) {
  auto const values = counted<float>(1);
  MemArray<double, 2> a({0, 3});
  a.copy_from(view_of(values, {0, 3}));
  EXPECT_EQ(a.size(), 0);
  EXPECT_THROW(a.copy_from(view_of(values, {3, 0})), ValueError);
}

class CopyFromDevicesTest : public test::DeviceArrayTest {};

TEST_F(CopyFromDevicesTest, CopiesBetweenTheHostAndEveryDevice) {
  std::vector<std::optional<int>> const places = {std::nullopt, 0, 1};
  for (auto const& from : places) {
    for (auto const& to : places) {
      SCOPED_TRACE(std::string(from ? "device " + std::to_string(*from) : "host") + " to " +
                   (to ? "device " + std::to_string(*to) : "host"));
      MemArray<std::int32_t, 2> source({3, 4}, from.value_or(0));
      for (std::int64_t i = 0; i < 12; ++i) source.write({i / 4, i % 4}, static_cast<std::int32_t>(i) - 5);
      if (from) source.move_memory(kDLCUDA, 0, *from);
      MemArray<std::int32_t, 2> same({3, 4});
      MemArray<double, 2> turned({4, 3});
      if (to) {
        same.move_memory(kDLCUDA, 0, *to);
        turned.move_memory(kDLCUDA, 0, *to);
      }
      {
        ReadLease<std::int32_t, 2> const lease(source,
                                               {.device = source.get_on_device() ? Device{kDLCUDA, *from} : Device{}});
        same.copy_from(lease.view());
        turned.copy_from(lease.view().transpose());
      }
      EXPECT_EQ(same.get_on_device(), to.has_value()) << "it stays where it is";
      same.move_memory(kDLCPU, 0, 0);
      turned.move_memory(kDLCPU, 0, 0);
      for (std::int64_t i = 0; i < 12; ++i) {
        EXPECT_EQ(same({i / 4, i % 4}), i - 5);
        EXPECT_EQ(turned({i % 4, i / 4}), static_cast<double>(i - 5));
      }
    }
  }
}

TEST_F(CopyFromDevicesTest, DriverFailureLeavesOldOrNewContents) {
  for (char const* const function : {"cuMemAllocFromPoolAsync", "cuMemcpyHtoDAsync", "cuMemcpyDtoDAsync"}) {
    SCOPED_TRACE(function);
    MemArray<float, 1> a({1000});
    a.fill(3);
    a.move_memory(kDLCUDA, 0, 0);
    auto const values = counted<float>(1000);
    sim.fail(function, 1, 700);
    try {
      a.copy_from(view_of(values, {1000}));
    } catch (CudaError const&) {
    }
    sim.clear();
    float const first = a({0});
    float const last = a({999});
    EXPECT_TRUE((first == 3 && last == 3) || (first == -3 && last == 996)) << first << ' ' << last;
    EXPECT_EQ(a.get_lock_id(), -1);
  }
}

}  // namespace
}  // namespace memarray
