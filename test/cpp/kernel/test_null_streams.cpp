// Calls every function that takes a stream of the user with a null one. test/architecture/test_null_handles.py compares
// the signatures here with those of the headers.
#include <memarray/memarray.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernel/places_test.hpp"

namespace memarray::test {
namespace {

using Numbers = MemArray<std::int64_t, 1>;

struct Arrays {
  Numbers source{{3}};
  Numbers target{{3}};
  Numbers one{{1}};
};

enum class Null { is_refused, is_refused_for_devices, is_accepted };

struct FunctionWithStream {
  char const* signature;  ///< with the type of each parameter before the stream
  Null null;
  std::function<void(Arrays&, StreamHandle const&)> call;
};

constexpr std::array<std::int64_t, 1> shape{3};
constexpr auto set_to_index = [](std::int64_t i, std::int64_t& element) { element = i; };
constexpr auto set_first = [](std::int64_t& element, std::int64_t i) { element = i; };
constexpr auto get = [](std::int64_t i, auto const& source) { return source[i]; };

template <class Use>
void use_view(Numbers& array, Use const& use) {
  WriteLease<std::int64_t, 1> const lease(array);
  BufferView const view(lease);
  if (view.device().is_cpu())
    use(view.as<std::int64_t, 1>());
  else
    use(view.as<std::int64_t, 1, on_device>());
}

using S = StreamHandle const&;

std::vector<FunctionWithStream> const& functions_with_streams() {
  constexpr Null refused = Null::is_refused;
  static std::vector<FunctionWithStream> const all = {
      {"for_each_index(array)", refused,
       [](Arrays& a, S stream) { for_each_index(shape, stream, set_to_index, update(a.target)); }},
      {"for_each_index(Index)", refused,
       [](Arrays& a, S stream) { for_each_index({3}, stream, set_to_index, update(a.target)); }},
      {"for_each_index(Range)", refused,
       [](Arrays& a, S stream) { for_each_index(range({1}, {3}), stream, set_to_index, update(a.target)); }},
      {"for_each_index(MemArray)", refused, [](Arrays& a, S stream) { for_each_index(a.target, stream, set_first); }},
      {"for_each_index(ArrayView)", refused,
       [](Arrays& a, S stream) {
         use_view(a.target, [&](auto const& view) { for_each_index(view, stream, set_first); });
       }},
      {"for_each_index(BufferView)", refused,
       [](Arrays& a, S stream) {
         WriteLease<std::int64_t, 1> const lease(a.target);
         for_each_index<std::int64_t, 1>(BufferView(lease), stream, set_first);
       }},
      {"Held()", refused,
       [](Arrays& a, S stream) { Held(stream, update(a.target)).for_each_index({3}, set_to_index); }},
      {"hold()", refused,
       [](Arrays& a, S stream) { hold(stream, update(a.target)).for_each_index({3}, set_to_index); }},
      {"transform_reduce(array)", refused,
       [](Arrays& a, S stream) {
         static_cast<void>(transform_reduce(shape, stream, std::int64_t{0}, plus(), get, read(a.source)));
       }},
      {"transform_reduce(Index)", refused,
       [](Arrays& a, S stream) {
         static_cast<void>(transform_reduce({3}, stream, std::int64_t{0}, plus(), get, read(a.source)));
       }},
      {"transform_reduce(Range)", refused,
       [](Arrays& a, S stream) {
         static_cast<void>(transform_reduce(range({1}, {3}), stream, std::int64_t{0}, plus(), get, read(a.source)));
       }},
      {"transform_reduce_into(MemArray, array)", refused,
       [](Arrays& a, S stream) { transform_reduce_into(a.one, shape, stream, 0, plus(), get, read(a.source)); }},
      {"transform_reduce_into(MemArray, Index)", refused,
       [](Arrays& a, S stream) { transform_reduce_into(a.one, {3}, stream, 0, plus(), get, read(a.source)); }},
      {"transform_reduce_into(MemArray, Range)", refused,
       [](Arrays& a, S stream) {
         transform_reduce_into(a.one, range({1}, {3}), stream, 0, plus(), get, read(a.source));
       }},
      {"reduce(MemArray)", refused,
       [](Arrays& a, S stream) { static_cast<void>(reduce(a.source, stream, std::int64_t{0}, plus())); }},
      {"minmax(MemArray)", refused, [](Arrays& a, S stream) { static_cast<void>(minmax(a.source, stream)); }},
      {"min(MemArray)", refused, [](Arrays& a, S stream) { static_cast<void>(min(a.source, stream)); }},
      {"max(MemArray)", refused, [](Arrays& a, S stream) { static_cast<void>(max(a.source, stream)); }},
      {"argmin(MemArray)", refused, [](Arrays& a, S stream) { static_cast<void>(argmin(a.source, stream)); }},
      {"argmax(MemArray)", refused, [](Arrays& a, S stream) { static_cast<void>(argmax(a.source, stream)); }},
      {"dot(MemArray, MemArray)", refused,
       [](Arrays& a, S stream) { static_cast<void>(dot(a.source, a.target, stream)); }},
      {"sum(MemArray)", refused, [](Arrays& a, S stream) { static_cast<void>(sum(a.source, stream)); }},
      {"inclusive_scan(MemArray, MemArray)", refused,
       [](Arrays& a, S stream) { inclusive_scan(a.source, a.target, stream); }},
      {"exclusive_scan(MemArray, MemArray)", refused,
       [](Arrays& a, S stream) { static_cast<void>(exclusive_scan(a.source, a.target, stream)); }},
      {"sort_by_key(MemArray, MemArray)", refused,
       [](Arrays& a, S stream) { sort_by_key(a.target, a.source, stream); }},
      {"in_stream()", Null::is_refused_for_devices,
       [](Arrays& a, S stream) {
         ReadLease<std::int64_t, 1> const lease(a.source);
         auto const view = ConstBufferView(lease).as<std::int64_t const, 1, on_device>();
         static_cast<void>(view.in_stream(stream));
       }},
      {"to_device(Device)", Null::is_refused_for_devices,
       [](Arrays& a, S stream) {
         ReadLease<std::int64_t, 1> const lease(a.source);
         static_cast<void>(ConstBufferView(lease).to_device(Device{}, stream));
       }},
      {"from_dlpack(DLManagedTensorVersioned)", Null::is_accepted,
       [](Arrays& a, S stream) {
         DLPackTensor exported = a.source.view().get_dlpack_tensor();
         static_cast<void>(ConstBufferView::from_dlpack(exported.release_versioned(), stream));
       }},
      {"from_dlpack(DLManagedTensor)", Null::is_accepted,
       [](Arrays& a, S stream) {
         WriteLease<std::int64_t, 1> const lease(a.target);
         DLPackTensor exported = BufferView(lease).get_dlpack_tensor(false);
         static_cast<void>(BufferView::from_dlpack(exported.release_unversioned(), stream));
       }},
  };
  return all;
}

class NullStreamTest : public PlacesTest {
 protected:
  void fill(Numbers& array, std::vector<std::int64_t> const& numbers) const {
    if (devices) array.move_memory(kDLCPU, 0, 0, -1, false);
    for (std::int64_t i = 0; i < array.get_size(); ++i) array.write({i}, numbers[static_cast<std::size_t>(i)]);
    place(array);
  }
};
INSTANTIATE_TEST_SUITE_P(Places, NullStreamTest, ::testing::Values(1, 2, 0), name_of_place);

TEST_P(NullStreamTest, EveryFunctionRefusesOneAndChangesNothing) {
  std::vector<std::int64_t> const numbers{-7, 12, 5};
  for (FunctionWithStream const& function : functions_with_streams()) {
    if (function.null == Null::is_refused_for_devices && !devices) continue;
    SCOPED_TRACE(function.signature);
    Arrays arrays;
    fill(arrays.source, {3, 2, 1});
    fill(arrays.target, numbers);
    fill(arrays.one, {-1});
    EXPECT_NO_THROW(function.call(arrays, stream)) << "the control";
    fill(arrays.target, numbers);
    fill(arrays.one, {-1});
    if (function.null == Null::is_accepted) {
      EXPECT_NO_THROW(function.call(arrays, StreamHandle()));
      continue;
    }
    EXPECT_EQ(message_of<ValueError>([&] { function.call(arrays, StreamHandle()); }),
              "this stream handle is null: its creation failed, see get_last_error(); for the default stream pass "
              "default_stream()");
    for (Numbers const* array : {&arrays.source, &arrays.target, &arrays.one})
      EXPECT_EQ(array->state().lock().word().load(), detail::LockWord::free);
    EXPECT_EQ(fetched(arrays.target), numbers);
    EXPECT_EQ(fetched(arrays.one), std::vector<std::int64_t>{-1});
  }
}

TEST_P(NullStreamTest, OptionsOfLaunchesAndOfLeasesOnDevicesRefuseOne) {
  Numbers array({3});
  fill(array, {1, 2, 3});
  EXPECT_THROW(for_each_index(array, launch{.stream = StreamHandle()}, set_first), ValueError);
  if (devices) {
    EXPECT_THROW((WriteLease<std::int64_t, 1>(array, {.stream = StreamHandle()})), ValueError);
    EXPECT_THROW((ReadLease<std::int64_t, 1>(array, {.stream = StreamHandle()})), ValueError);
  }
  EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free);
  EXPECT_EQ(fetched(array), (std::vector<std::int64_t>{1, 2, 3}));
}

}  // namespace
}  // namespace memarray::test
