#include "c_api_test.hpp"

#include <memarray/interop/c_views.h>

#include <cstdint>
#include <string>
#include <vector>

namespace memarray::test {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t last = INT64_MAX;
constexpr std::int64_t first = INT64_MIN;

/// A view of [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]].
class CViewsTest : public CApiTest {
 protected:
  CViewsTest() {
    std::int64_t const shape[] = {3, 4};
    view = views.create_view("int32", 2, shape);
    auto* const data = static_cast<std::int32_t*>(views.view_data(view, 1));
    for (int i = 0; i < 12; ++i) data[i] = i;
  }
  ~CViewsTest() override {
    for (MemArrayViewRef const one : made) views.release_view(one);
    views.release_view(view);
    devices.end();  // releases what the library keeps for later
  }

  /// Registers a view, which is released with the test.
  MemArrayViewRef keep(MemArrayViewRef one) { return made.emplace_back(one); }

  static std::vector<std::int64_t> shape_of(MemArrayViewRef one) {
    return {views.view_shape(one), views.view_shape(one) + views.view_ndim(one)};
  }
  static std::vector<std::int64_t> strides_of(MemArrayViewRef one) {
    return {views.view_strides(one), views.view_strides(one) + views.view_ndim(one)};
  }
  template <class T>
  static std::vector<T> elements(MemArrayViewRef one) {
    MemArrayViewRef const dense = views.contiguous_view(one);
    auto const* const data = static_cast<T const*>(views.view_data(dense, 0));
    std::vector<T> result(data, data + views.view_size(dense));
    views.release_view(dense);
    return result;
  }

  MemArrayViewRef view = nullptr;
  std::vector<MemArrayViewRef> made;
};

TEST_F(CViewsTest, DTypeShapeAndStridesAreReported) {
  MemArrayDevice where{};
  EXPECT_STREQ(views.view_dtype(view), "int32");
  EXPECT_EQ(views.view_itemsize(view), 4U);
  EXPECT_EQ(views.view_size(view), 12);
  EXPECT_THAT(shape_of(view), ElementsAre(3, 4));
  EXPECT_THAT(strides_of(view), ElementsAre(16, 4));
  EXPECT_EQ(views.view_device(view, &where), 0);
  EXPECT_EQ(where.type * 10 + where.id, 10);
  EXPECT_EQ(views.view_is_writable(view), 1);
  EXPECT_EQ(views.view_is_contiguous(view), 1);
  EXPECT_EQ(views.size, sizeof(MemArrayViewAPI));
}

TEST_F(CViewsTest, SlicesTransposesAndReshapesDoNotCopy) {
  MemArrayViewRef const part = keep(views.slice_view(view, 1, -1, first, -2));
  EXPECT_THAT(elements<std::int32_t>(part), ElementsAre(3, 1, 7, 5, 11, 9));
  EXPECT_THAT(strides_of(part), ElementsAre(16, -8));
  EXPECT_EQ(elements<std::int32_t>(keep(views.slice_view(view, 0, 0, last, 1))), elements<std::int32_t>(view));
  EXPECT_THAT(elements<std::int32_t>(keep(views.slice_view(view, 0, last, first, -2))),
              ElementsAre(8, 9, 10, 11, 0, 1, 2, 3));
  MemArrayViewRef const row = keep(views.select_view(view, 0, -1));
  EXPECT_THAT(elements<std::int32_t>(row), ElementsAre(8, 9, 10, 11));
  int const axes[] = {1, 0};
  EXPECT_THAT(shape_of(keep(views.transpose_view(view, axes))), ElementsAre(4, 3));
  MemArrayViewRef const turned = keep(views.transpose_view(view, nullptr));
  EXPECT_THAT(strides_of(turned), ElementsAre(4, 16));
  EXPECT_EQ(views.view_is_contiguous(turned), 0);
  std::int64_t const shape[] = {2, -1};
  EXPECT_THAT(shape_of(keep(views.reshape_view(view, 2, shape))), ElementsAre(2, 6));
  EXPECT_EQ(views.reshape_view(turned, 2, shape), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR);
  std::int64_t const many[] = {5, 3, 4};
  MemArrayViewRef const repeated = keep(views.broadcast_view(view, 3, many));
  EXPECT_THAT(strides_of(repeated), ElementsAre(0, 16, 4));
  EXPECT_EQ(views.view_data(repeated, 1), nullptr);
  expect_error(MEMARRAY_BUFFER_ERROR, "read-only");
  EXPECT_EQ(views.view_data(row, 0), static_cast<std::int32_t*>(views.view_data(view, 0)) + 8);
}

TEST_F(CViewsTest, DerivedViewKeepsMemoryAlive) {
  MemArrayViewRef const row = keep(views.select_view(view, 0, 1));
  views.release_view(view);
  view = nullptr;
  EXPECT_THAT(elements<std::int32_t>(row), ElementsAre(4, 5, 6, 7));
}

TEST_F(CViewsTest, ReductionsApplyToGivenAxes) {
  int const rows = 0;
  int const columns = -1;
  int const both[] = {1, 0};
  MemArrayViewRef const sum = keep(views.sum_view(view, 1, &rows));
  EXPECT_STREQ(views.view_dtype(sum), "int64");
  EXPECT_THAT(elements<std::int64_t>(sum), ElementsAre(12, 15, 18, 21));
  EXPECT_THAT(elements<double>(keep(views.mean_view(view, 1, &columns))), ElementsAre(1.5, 5.5, 9.5));
  MemArrayViewRef const least = keep(views.min_view(view, 2, both));
  EXPECT_EQ(views.view_ndim(least), 0);
  std::int32_t element = -1;
  EXPECT_EQ(views.read_element(least, &element), 0);
  EXPECT_EQ(element, 0);
  EXPECT_EQ(views.read_element(keep(views.max_view(view, 0, nullptr)), &element), 0);
  EXPECT_EQ(element, 11);
  int const far = 2;
  EXPECT_EQ(views.sum_view(view, 1, &far), nullptr);
  expect_error(MEMARRAY_INDEX_ERROR);
  EXPECT_EQ(views.sum_view(view, -1, &far), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR);
  EXPECT_EQ(views.sum_view(view, 1, nullptr), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR);
  MemArrayViewRef const nothing = keep(views.slice_view(view, 0, 0, 0, 1));
  EXPECT_EQ(views.max_view(nothing, 0, nullptr), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR);
  EXPECT_EQ(views.read_element(nothing, &element), -1);
  expect_error(MEMARRAY_INDEX_ERROR, "no element");
}

TEST_F(CViewsTest, FillCopyAndCastProduceExpectedElements) {
  MemArrayViewRef const copy = keep(views.copy_view(keep(views.transpose_view(view, nullptr))));
  std::int32_t const value = -1;
  EXPECT_EQ(views.fill_view(keep(views.select_view(view, 1, 2)), &value), 0);
  EXPECT_THAT(elements<std::int32_t>(view), ElementsAre(0, 1, -1, 3, 4, 5, -1, 7, 8, 9, -1, 11));
  EXPECT_THAT(elements<std::int32_t>(copy), ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  EXPECT_THAT(elements<double>(keep(views.cast_view(keep(views.select_view(view, 0, 0)), "float64"))),
              ElementsAre(0, 1, -1, 3));
  EXPECT_EQ(views.cast_view(view, "bool"), nullptr);
  expect_error(MEMARRAY_TYPE_ERROR);
  EXPECT_EQ(views.cast_view(view, "wrong"), nullptr);
  expect_error(MEMARRAY_UNSUPPORTED_TYPE_ERROR, "'wrong'");
}

TEST_F(CViewsTest, InvalidIndicesAxesAndRanksAreRefused) {
  EXPECT_EQ(views.select_view(view, 0, 3), nullptr);
  expect_error(MEMARRAY_INDEX_ERROR);
  EXPECT_EQ(views.slice_view(view, 2, 0, 1, 1), nullptr);
  expect_error(MEMARRAY_INDEX_ERROR);
  EXPECT_EQ(views.slice_view(view, 0, 0, 1, 0), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR, "step");
  int const twice[] = {0, 0};
  EXPECT_EQ(views.transpose_view(view, twice), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR);
  EXPECT_EQ(views.create_view("int8", 17, views.view_shape(view)), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR, "0 to 16");
  EXPECT_EQ(views.create_view("int8", 1, nullptr), nullptr);
  expect_error(MEMARRAY_VALUE_ERROR, "the shape is NULL");
  MemArrayViewRef const point = keep(views.create_view("int8", 0, nullptr));
  EXPECT_EQ(views.view_size(point), 1);
}

TEST_F(CViewsTest, NullArgumentsAreRefused) {
  std::int64_t const shape[] = {1};
  MemArrayDevice where{};
  int element = 0;
  EXPECT_EQ(views.view_itemsize(nullptr), 0U);
  for (std::int64_t const failed :
       {std::int64_t{views.view_ndim(nullptr)}, views.view_size(nullptr),
        std::int64_t{views.view_device(nullptr, &where)}, std::int64_t{views.view_device(view, nullptr)},
        std::int64_t{views.fill_view(nullptr, &element)}, std::int64_t{views.fill_view(view, nullptr)},
        std::int64_t{views.read_element(nullptr, &element)}, std::int64_t{views.read_element(view, nullptr)}})
    EXPECT_EQ(failed, -1);
  expect_error(invalid_handle);
  for (void const* const failed :
       {static_cast<void const*>(views.view_dtype(nullptr)), static_cast<void const*>(views.view_shape(nullptr)),
        static_cast<void const*>(views.view_strides(nullptr)), static_cast<void const*>(views.view_data(nullptr, 0))})
    EXPECT_EQ(failed, nullptr);
  expect_error(invalid_handle);
  for (MemArrayViewRef const failed :
       {views.slice_view(nullptr, 0, 0, 1, 1), views.select_view(nullptr, 0, 0), views.transpose_view(nullptr, nullptr),
        views.reshape_view(nullptr, 1, shape), views.broadcast_view(nullptr, 1, shape), views.copy_view(nullptr),
        views.contiguous_view(nullptr), views.cast_view(nullptr, "int8"),
        views.view_to_device(nullptr, {1, 0}, nullptr), views.sum_view(nullptr, 0, nullptr),
        views.mean_view(nullptr, 0, nullptr), views.min_view(nullptr, 0, nullptr), views.max_view(nullptr, 0, nullptr)})
    EXPECT_EQ(failed, nullptr);
  expect_error(invalid_handle);
  EXPECT_EQ(views.view_is_writable(nullptr) + views.view_is_contiguous(nullptr), 0);
  EXPECT_EQ(views.retain_view(nullptr), nullptr);
  views.release_view(nullptr);
  EXPECT_EQ(api.peek_last_error(), 0);
}

TEST_F(CViewsTest, DeviceViewsUseGivenStream) {
  MemArrayContextRef const context = api.get_primary_context(1);
  MemArrayStreamRef const stream = api.create_stream(context, 1, 0);
  api.release_context(context);
  MemArrayViewRef const there = views.view_to_device(view, {2, 1}, stream);
  ASSERT_NE(there, nullptr);
  MemArrayViewRef const sum = views.sum_view(there, 0, nullptr);
  std::int64_t total = 0;
  EXPECT_EQ(views.read_element(sum, &total), 0);
  EXPECT_EQ(total, 66);
  EXPECT_NE(views.view_data(there, 1), nullptr);
  MemArrayViewRef const back = views.view_to_device(there, {1, 0}, nullptr);
  EXPECT_EQ(elements<std::int32_t>(back), elements<std::int32_t>(view));
  for (MemArrayViewRef const one : {there, sum, back}) views.release_view(one);
  api.release_stream(stream);
  EXPECT_EQ(views.view_to_device(view, {2, 7}, nullptr), nullptr);
  expect_error(101);
  EXPECT_EQ(elements<std::int32_t>(keep(views.view_to_device(view, {1, 5}, nullptr))), elements<std::int32_t>(view));
  for (int const type : {1, 2}) {
    EXPECT_EQ(views.view_to_device(view, {type, -1}, nullptr), nullptr);
    expect_error(MEMARRAY_VALUE_ERROR, "device ids start at 0");
  }
}

}  // namespace
}  // namespace memarray::test
