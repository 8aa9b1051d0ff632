#include <memarray/array/access.hpp>
#include <memarray/detail/view/import_dlpack.hpp>
#include <memarray/driver/device_ptr_handle.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernel/places_test.hpp"

namespace memarray::test {
namespace {

class ViewKernelsTest : public PlacesTest {};
INSTANTIATE_TEST_SUITE_P(Places, ViewKernelsTest, ::testing::Values(1, 2, 0), name_of_place);

// Compares kernels over random slices of an array with loops over its elements.
TEST_P(ViewKernelsTest, ExactlyTheElementsOfAViewAreVisited) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 40; ++trial) {
    std::array<std::int64_t, 3> const shape{static_cast<std::int64_t>(random() % 9),
                                            static_cast<std::int64_t>(random() % 9 + 1),
                                            static_cast<std::int64_t>(random() % 9 + 1)};
    MemArray<std::int64_t, 3> array(shape);
    MemArray<std::int64_t, 3> places(shape);
    for (std::int64_t i = 0; i < array.get_size(); ++i) places.ptr()[i] = i;
    count_up(array);
    // Kernels add at most 888, and sums wrap.
    using Limits = std::numeric_limits<std::int64_t>;
    for (std::int64_t i = 0; i < array.get_size(); i += 3)
      array.ptr()[i] =
          std::array{Limits::min(), Limits::max() - 1000, std::int64_t{-1}}[static_cast<std::size_t>(i / 3 % 3)];
    auto expected = contents(array);
    std::uint64_t expected_sum = 0;
    int const axis = static_cast<int>(random() % 3);
    Slice const slice{.step = random() % 2 == 0 ? 2 : -1};
    std::vector<int> const axes = random() % 2 == 0 ? std::vector<int>{2, 0, 1} : std::vector<int>{0, 1, 2};
    auto const picked = [&](BufferView const& whole) { return whole.slice(axis, slice).transpose(axes); };
    {
      WriteLease<std::int64_t, 3> lease(places);
      BufferView const part = picked(BufferView(lease));
      auto const typed = part.as<std::int64_t, 3>();
      for (std::int64_t i = 0; i < typed.extent(0); ++i)
        for (std::int64_t j = 0; j < typed.extent(1); ++j)
          for (std::int64_t k = 0; k < typed.extent(2); ++k) {
            auto const place = static_cast<std::size_t>(typed(i, j, k));
            expected_sum += static_cast<std::uint64_t>(expected[place]);
            expected[place] += 100 * i + 10 * j + k;
          }
    }
    place(array);
    {
      WriteLease<std::int64_t, 3> lease(array, {.stream = stream});
      BufferView const part = picked(BufferView(lease));
      std::array<std::int64_t, 3> extents{};
      std::ranges::copy(part.shape(), extents.begin());
      EXPECT_EQ(transform_reduce(
                    extents, stream, std::int64_t{0}, plus{}, [](auto const& i, auto const& x) { return x[i]; },
                    read<std::int64_t, 3>(part)),
                static_cast<std::int64_t>(expected_sum));
      for_each_index<std::int64_t, 3>(
          part, stream, [](std::int64_t& element, auto const& i) { element += 100 * i[0] + 10 * i[1] + i[2]; });
      for_each_index(extents, stream, [](auto const& i, auto const& x) { x[i] += 1; }, write<std::int64_t, 3>(part));
      for_each_index(
          range({0, 0, 0}, {extents[0], extents[1], extents[2]}), stream, [](auto const&, std::int64_t& x) { x -= 1; },
          update<std::int64_t, 3>(part));
    }
    ASSERT_EQ(fetched(array), expected) << trial;
  }
}

TEST_P(ViewKernelsTest, KernelsMayChangeViewsWhileTheyReduce) {
  MemArray<double, 2> array({40, 60});
  array.fill(1);
  place(array);
  WriteLease<double, 2> lease(array, {.stream = stream});
  BufferView const part = BufferView(lease).slice(1, {.step = -2});
  auto const total_of = [&](auto f, auto const& access) {
    return transform_reduce({40, 30}, stream, 0.0, plus{}, f, access);
  };
  auto const element = [](auto const&, double& x) { return x += 1; };
  auto const indexer = [](auto const& i, auto x) { return x[i] = static_cast<double>(i[1]); };
  EXPECT_EQ(total_of(element, update<double, 2>(part)), 2 * 1200);
  EXPECT_EQ(total_of(indexer, write<double, 2>(part)), 40 * 435);
  EXPECT_EQ(total_of([](auto const& i, auto const& x) { return x[i]; }, read<double, 2>(part)), 40 * 435);
  EXPECT_EQ(total_of(indexer, overwrite<double, 2>(part)), 40 * 435);
  lease.close();
  auto const found = fetched(array);
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t j = 0; j < 60; ++j)
      ASSERT_EQ(found[60 * i + j], j % 2 == 1 ? static_cast<double>((59 - j) / 2) : 1) << i << ' ' << j;
}

TEST_P(ViewKernelsTest, TypedViewsGiveIndexers) {
  MemArray<double, 2> array({4, 6});
  place(array);
  WriteLease<double, 2> lease(array, {.stream = stream});
  BufferView const whole(lease);
  auto const fill_in = [&](auto const& dense, auto const& strided) {
    for_each_index(
        {4, 6}, stream, [](auto const& i, ArrayIndexer<double, 2> x) { x[i] = static_cast<double>(10 * i[0] + i[1]); },
        overwrite(dense));
    for_each_index(
        {6, 2}, stream,
        [](auto const& i, StridedIndexer<double, 2> x) { x[i] = -x[i] - static_cast<double>(x.shape()[1]); },
        write(strided));
    for_each_index(dense, stream, [](double& element, auto const&) { element *= 2; });
  };
  if (devices)
    fill_in(whole.as<double, 2, c_order | on_device>(),
            whole.transpose().slice(1, {.step = 2}).as<double, 2, on_device>());
  else
    fill_in(whole.as<double, 2, c_order>(), whole.transpose().slice(1, {.step = 2}).as<double, 2>());
  lease.close();
  auto const found = fetched(array);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 6; ++j) {
      double const value = static_cast<double>(10 * i + j);
      ASSERT_EQ(found[6 * i + j], 2 * (i % 2 == 0 ? -value - 2 : value)) << i << j;
    }
}

TEST_P(ViewKernelsTest, ForeignMemoryIsReached) {
  if (devices) GTEST_SKIP() << "host memory";
  auto const memory = std::make_shared<std::vector<float>>(12);
  // From the last element backwards.
  auto const view = BufferView::from_memory(memory->data() + 11, {3, 2}, memory, {-16, -4});
  for_each_index<float, 2>(view, stream,
                           [](float& element, auto const& i) { element = static_cast<float>(10 * i[0] + i[1] + 1); });
  EXPECT_EQ(*memory, (std::vector<float>{0, 0, 22, 21, 0, 0, 12, 11, 0, 0, 2, 1}));
}

TEST_P(ViewKernelsTest, ForeignMemoryOfADeviceIsReached) {
  if (!devices) GTEST_SKIP() << "there is no device";
  // 3 rows of 4 elements, of which the view has 2 from the second on.
  DevicePtrHandle const memory = allocate_device(get_primary_context(0), 12 * sizeof(float));
  std::int64_t const whole[2] = {3, 4};
  std::int64_t const shape[2] = {3, 2};
  std::int64_t const strides[2] = {4, 1};
  auto const imported = [&](std::int64_t const* extents, std::size_t offset) {
    DLTensor const tensor{reinterpret_cast<void*>(as_intptr(memory)),
                          {kDLExtDev, 0},
                          2,
                          dtype_of<float>().dl,
                          const_cast<std::int64_t*>(extents),
                          const_cast<std::int64_t*>(strides),
                          offset};
    auto* const kept = new DevicePtrHandle(memory);
    return BufferView(detail::import_dlpack(
        tensor, true, {kept, [](void* object) noexcept { delete static_cast<DevicePtrHandle*>(object); }}));
  };
  BufferView const all = imported(whole, 0);
  BufferView const view = imported(shape, sizeof(float));
  for_each_index<float, 2>(all, stream, [](float& element, auto const&) { element = 0; });
  for_each_index<float, 2>(view, stream,
                           [](float& element, auto const& i) { element = static_cast<float>(10 * i[0] + i[1] + 1); });
  auto const copy = all.to_device(Device{});
  auto const elements = copy.as<float, 2>();
  EXPECT_EQ(std::vector<float>(elements.data(), elements.data() + 12),
            (std::vector<float>{0, 1, 2, 0, 0, 11, 12, 0, 0, 21, 22, 0}));
  double const sum = transform_reduce(
      {3, 2}, stream, 0.0, plus(), [](auto const& i, auto x) -> double { return x[i]; }, read<float, 2>(view));
  EXPECT_EQ(sum, 69);
}

TEST_P(ViewKernelsTest, ViewsThatDoNotFitAreRefused) {
  MemArray<double, 2> array({4, 6});
  MemArray<double, 1> other({4});
  place(array);
  place(other);
  WriteLease<double, 2> lease(array, {.stream = stream});
  BufferView const view(lease);
  auto const never = [](auto const&, auto&&...) { FAIL(); };
  EXPECT_THROW((for_each_index<float, 2>(view, stream, never)), TypeError);
  EXPECT_THROW((for_each_index<double, 1>(view, stream, never)), TypeError);
  EXPECT_THROW(for_each_index({5, 6}, stream, never, update<double, 2>(view)), ValueError) << "another shape";
  EXPECT_THROW(for_each_index(range({0, 0}, {4, 7}), stream, never, update<double, 2>(view)), ValueError);
  EXPECT_THROW(for_each_index({4, 6}, StreamHandle(), never, read<double, 2>(view)), ValueError);
  EXPECT_THROW(for_each_index({4, 6}, stream, never, update(array), read(other)), LockError) << "the lease holds it";
  BufferView closed(view);
  closed.close();
  EXPECT_THROW((for_each_index<double, 2>(closed, stream, never)), ValueError);
  if (devices) {
    MemArray<double, 1> host({4});
    EXPECT_THROW(for_each_index({4}, stream, never, read(host), read<double, 2>(view)), Error) << "two devices";
  }
  EXPECT_EQ(other.state().lock().word().load(), detail::LockWord::free);
}

TEST_P(ViewKernelsTest, WritesThroughAnEscapedViewFollowThePolicy) {
  for (EscapedViews const policy : {EscapedViews::snapshot, EscapedViews::error, EscapedViews::alias}) {
    MemArray<double, 1> array({6}, 0, {.escaped_views = policy});
    count_up(array);
    place(array);
    WriteLease<double, 1> lease(array, {.stream = stream});
    BufferView view(lease);
    lease.close();
    auto const before = contents_of(ConstBufferView(view));
    auto const add = [&](double value) {
      for_each_index<double, 1>(view, stream, [value](double& x, std::int64_t) { x += value; });
    };
    // Until the array's next use, all policies share the memory.
    add(100);
    if (policy == EscapedViews::error)
      EXPECT_THROW(static_cast<void>(sum(array, stream)), LockError);
    else
      EXPECT_EQ(sum(array, stream), 15 + 600);
    add(1000);
    auto seen = contents_of(ConstBufferView(view));
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(seen[i], before[i] + 1100) << to_string(policy);
    if (policy == EscapedViews::error) view.close();
    auto const now = fetched(array);
    double const added = policy == EscapedViews::snapshot ? 100 : 1100;
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(now[i], before[i] + added) << to_string(policy);
  }
}

TEST_P(ViewKernelsTest, ReadsOfAnEscapedViewFollowThePolicy) {
  auto const total = [&](ConstBufferView const& view) {
    return transform_reduce(
        {6}, stream, 0.0, plus{}, [](auto const& i, auto const& x) { return x[i]; }, read<double, 1>(view));
  };
  for (EscapedViews const policy : {EscapedViews::snapshot, EscapedViews::error, EscapedViews::alias}) {
    MemArray<double, 1> array({6}, 0, {.escaped_views = policy});
    count_up(array);
    place(array);
    ReadLease<double, 1> lease(array, {.stream = stream});
    ConstBufferView const view(lease);
    lease.close();
    auto const change = [&] { for_each_index(array, stream, [](double& x, std::int64_t) { x += 10; }); };
    if (policy == EscapedViews::error)
      EXPECT_THROW(change(), LockError);
    else
      change();
    EXPECT_EQ(total(view), policy == EscapedViews::alias ? 15 + 60 : 15) << to_string(policy);
    EXPECT_EQ(sum(array, stream), policy == EscapedViews::error ? 15 : 15 + 60) << to_string(policy);
  }
}

TEST_P(ViewKernelsTest, IndicesThatShareElementsAreNotChanged) {
  if (devices) GTEST_SKIP() << "host memory";
  auto const memory = std::make_shared<std::vector<double>>(8, 1.0);
  auto const view = BufferView::from_memory(memory->data(), {3, 4}, memory, {8, 8});
  EXPECT_THROW((for_each_index<double, 2>(view, stream, [](double&, auto const&) { FAIL(); })), ValueError);
  auto const never = [](auto const&, auto const&) { FAIL(); };
  EXPECT_THROW(for_each_index({3, 4}, stream, never, write<double, 2>(view)), ValueError);
  EXPECT_THROW(for_each_index({3, 4}, stream, never, overwrite<double, 2>(view)), ValueError);
  EXPECT_THROW(static_cast<void>(hold(stream, write<double, 2>(view))), ValueError);
  EXPECT_EQ(transform_reduce(
                {3, 4}, stream, 0.0, plus{}, [](auto const& i, auto const& x) { return x[i]; }, read<double, 2>(view)),
            12);
}

}  // namespace
}  // namespace memarray::test
