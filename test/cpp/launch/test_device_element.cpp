// Kernel loads and stores, for each dtype and each address that an import accepts: under the launch plan, on the host
// for each thread of a grid, and on simulated devices.

#include <memarray/detail/launch/device_element.hpp>

#include "strided/device_strided_job.hpp"

#include <gtest/gtest.h>
#include <memarray/detail/launch/device_loop.hpp>
#include <memarray/detail/view/import_dlpack.hpp>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

using detail::DeviceComplex;
using detail::DeviceElement;

constexpr std::int64_t count = 37;

static_assert(std::is_trivially_copyable_v<DeviceComplex<float>>);
static_assert(alignof(DeviceComplex<float>) == 4 && alignof(DeviceComplex<double>) == 8);
static_assert(std::is_same_v<DeviceElement<float16>, float16>);

TEST(DeviceElementTest, ComplexAdditionAndConversionMatchTheHost) {
  auto const sum = DeviceComplex<float>(2) + DeviceComplex<float>(DeviceComplex<double>(0.5));
  EXPECT_EQ(sum.real, 2.5F);
  EXPECT_EQ(sum.imag, 0.0F);
  DeviceComplex<double> negative;
  negative.imag = -0.0;
  EXPECT_FALSE(std::signbit((negative + DeviceComplex<double>(1)).imag));
}

struct AddOne {
  template <class Indices, class T>
  void operator()(Indices const&, T& element) const {
    element = static_cast<T>(element + static_cast<T>(1));
  }
};

void expect_aligned(std::byte const* address, std::size_t alignment) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % alignment, 0U);
}

/// Runs grids on the host, and expects addresses that fit the width of their kernels' loads and stores.
struct WidthMachine {
  template <class Kernel>
  void launch(Kernel kernel, std::int64_t) {
    if constexpr (requires { kernel.word; }) {
      expect_aligned(kernel.target, kernel.word);
      if constexpr (requires { kernel.source; }) expect_aligned(kernel.source, kernel.word);
    }
    if constexpr (requires { kernel.how; }) {
      if constexpr (requires { kernel.source; }) expect_aligned(kernel.source, kernel.how.kind.alignment());
      if constexpr (requires { kernel.to; }) expect_aligned(kernel.target, kernel.to.alignment());
    }
    kernel.run({0, 0, 1, 1});
  }
  std::byte* scratch(std::size_t bytes) { return _scratch.emplace_back(bytes / 16 + 1).front().bytes; }
  std::byte* upload(std::size_t bytes, std::byte const* data) {
    return static_cast<std::byte*>(std::memcpy(scratch(bytes), data, bytes));
  }

 private:
  struct alignas(16) Line {
    std::byte bytes[16];
  };
  std::vector<std::vector<Line>> _scratch;
};

bool is_let_through(void* data, DType const& dtype) {
  try {
    std::int64_t const shape[] = {count};
    static_cast<void>(detail::import_owned(data, dtype, shape, {}, true, nullptr));
    return true;
  } catch (BufferError const&) {
    return false;
  }
}

/// Reduces a column of ones: along it, in parts, and across it, each element to one result.
void expect_reductions_fit(std::byte* data, DType const& dtype) {
  std::int64_t const shape[] = {count, 1};
  detail::StridedElements const source{data, dtype, StridedLayout::dense(shape, dtype.itemsize)};
  for (auto const reduction :
       {detail::Reduction::sum, detail::Reduction::mean, detail::Reduction::min, detail::Reduction::max})
    for (int const axis : {0, 1}) {
      SCOPED_TRACE(std::string(to_string(reduction)) + " over axis " + std::to_string(axis));
      alignas(16) std::byte found[16 * count] = {};
      alignas(16) std::byte expected[16 * count] = {};
      DType const& to = detail::reduced_dtype(reduction, dtype);
      detail::StridedJob job{.kind = detail::StridedJob::Kind::reduce,
                             .reduction = reduction,
                             .axes = detail::AxisMask{1} << axis,
                             .target = {found, to, StridedLayout::dense({shape + 1 - axis, 1}, to.itemsize)},
                             .source = source};
      WidthMachine machine;
      detail::DeviceStridedJob(job, machine).run();
      job.target.data = expected;
      job.run_on_host();
      EXPECT_EQ(std::memcmp(found, expected, sizeof found), 0);
    }
}

template <class T>
void expect_loads_fit_at(std::size_t offset) {
  using Element = DeviceElement<T>;
  alignas(16) std::byte memory[count * sizeof(T) + 16] = {};
  alignas(16) std::byte other[count * sizeof(T)] = {};
  std::byte* const data = memory + offset;
  if (!is_let_through(data, dtype_of<T>())) {
    EXPECT_NE(offset % alignof(T), 0U);
    return;
  }
  auto const address = reinterpret_cast<std::uintptr_t>(data);
  ASSERT_EQ(address % alignof(Element), 0U) << "elements one by one";
  auto* const elements = reinterpret_cast<Element*>(data);
  cuda::std::array<std::int64_t, 1> const shape{count};
  using Loop = detail::DeviceLoop<std::int32_t, std::uint32_t, 1, AddOne, detail::ElementArgument<Element, 1>>;
  Loop loop{count, 0, detail::Unravel<std::uint32_t, 1>(shape), {}, true, {}, {{{elements, elements, {1}}}}};
  if (loop.is_aligned()) {
    ASSERT_EQ(address % sizeof(detail::Vector<Element, Loop::width>), 0U) << "vectors";
    loop.vectors = count / Loop::width;
  }
  loop.run({0, 0, 1, 1});
  for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(reinterpret_cast<T*>(data)[i], static_cast<T>(1));
  expect_reductions_fit(data, dtype_of<T>());
  detail::StridedElements const here{data, dtype_of<T>(), StridedLayout::dense({&count, 1}, sizeof(T))};
  detail::StridedElements const there{other, dtype_of<T>(), here.layout};
  detail::StridedElements const cast{other, dtype_of<std::int8_t>(), StridedLayout::dense({&count, 1}, 1)};
  WidthMachine machine;
  for (auto const& target : {there, cast}) {
    detail::StridedJob const job{.kind = detail::StridedJob::Kind::copy, .target = target, .source = here};
    detail::DeviceStridedJob(job, machine).run();
  }
  std::vector<std::byte> one(data, data + sizeof(T));
  for (auto const kind : {detail::StridedJob::Kind::fill, detail::StridedJob::Kind::add_index}) {
    detail::StridedJob const job{.kind = kind, .target = here, .element = one};
    detail::DeviceStridedJob(job, machine).run();
  }
}

/// Calls `check` with each dtype's type and each offset to a multiple of 16 bytes.
template <class Check>
void for_each_dtype_and_offset(Check const& check) {
  for (std::size_t offset = 0; offset < 16; ++offset) {
#define MEMARRAY_TEST_CHECK(type, name, code, bits)      \
  {                                                      \
    SCOPED_TRACE(#name " at " + std::to_string(offset)); \
    check.template operator()<type>(offset);             \
  }
    MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_TEST_CHECK)
#undef MEMARRAY_TEST_CHECK
  }
}

TEST(DeviceElementTest, LoadsAreAlignedForEveryDtypeAndAcceptedAddress) {
  for_each_dtype_and_offset([]<class T>(std::size_t offset) { expect_loads_fit_at<T>(offset); });
}

class ElementsOnDeviceTest : public DeviceArrayTest {
 protected:
  /// Sums and scans elements that begin `offset` bytes into memory of the device, as another library's may.
  template <class T>
  void expect_sums_and_scans_at(std::uint64_t offset) {
    MemArray<std::uint8_t, 1> bytes({16 * count + 16});
    bytes.move_memory(kDLCUDA, 0, 0, -1, false);
    std::int64_t extent[] = {count};
    std::int64_t step[] = {1};
    DLTensor const tensor{
        const_cast<std::byte*>(memory_of(bytes)), {kDLExtDev, 0}, 1, dtype_of<T>().dl, extent, step, offset};
    if (offset % dtype_of<T>().alignment != 0) {
      EXPECT_THROW(static_cast<void>(detail::import_dlpack(tensor, true, {})), BufferError);
      return;
    }
    auto array = MemArray<T, 1>::adopt(BufferView(detail::import_dlpack(tensor, true, {})));
    for_each_index(array, stream, [](T& element, auto const&) { element = static_cast<T>(1); });
    EXPECT_EQ(sum(array, stream), typename detail::SumOf<T>::type(count));
    MemArray<T, 1> dense({count});
    dense.move_memory(kDLCUDA, 0, 0);
    EXPECT_EQ(exclusive_scan(array, dense, stream), static_cast<T>(count));
    inclusive_scan(dense, array, stream);
    EXPECT_EQ(array({1}), static_cast<T>(1));
  }

  StreamHandle stream = create_stream_handle(get_primary_context(0));
};

// The loads of sums and scans are CUB's: simulated devices check the addresses of their elements.
TEST_F(ElementsOnDeviceTest, SumsAndScansAcceptEveryDtypeAtEveryAcceptedAddress) {
  for_each_dtype_and_offset([this]<class T>(std::size_t offset) { expect_sums_and_scans_at<T>(offset); });
}

/// A fixture for complex numbers on a simulated device, half an element away from alignment, as another library's
/// memory may be.
template <class T>
class UnderalignedComplexTest : public DeviceArrayTest {
 protected:
  using Real = typename T::value_type;

  UnderalignedComplexTest() {
    for (std::int64_t i = 0; i < 2 * count + 1; ++i) reals.write({i}, static_cast<Real>(i % 2 == 1 ? i / 2 : 0));
    reals.move_memory(kDLCUDA, 0, 0);
    tensor.dl_tensor = {
        reals.state().residency().block().data(), {kDLExtDev, 0}, 1, dtype_of<T>().dl, extent, stride, sizeof(Real)};
    tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  }
  template <class E = T>
  MemArray<E, 1> adopted() {
    return MemArray<E, 1>::adopt(BufferView(detail::import_dlpack(&tensor)));
  }

  MemArray<Real, 1> reals{{2 * count + 1}};
  std::int64_t extent[1] = {count};
  std::int64_t stride[1] = {1};
  DLManagedTensorVersioned tensor{};
  StreamHandle stream = create_stream_handle(get_primary_context(0));
};
using Complexes = ::testing::Types<std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(UnderalignedComplexTest, Complexes);

TYPED_TEST(UnderalignedComplexTest, StdComplexIsAcceptedByKernels) {
  using Real = typename TypeParam::value_type;
  auto array = this->adopted();
  ASSERT_TRUE(array.is_foreign());
  auto const address = reinterpret_cast<std::uintptr_t>(array.state().residency().block().data());
  ASSERT_EQ(address % sizeof(TypeParam), sizeof(Real));
  EXPECT_EQ(sum(array, this->stream), std::complex<double>(count * (count - 1) / 2));
  add_index_tuple(array, as_intptr(this->stream));
  EXPECT_EQ(sum(array, this->stream), std::complex<double>(count * (count - 1)));
  auto sums = MemArray<TypeParam, 1>({count});
  sums.move_memory(kDLCUDA, 0, 0);
  EXPECT_EQ(exclusive_scan(array, sums, this->stream), TypeParam(static_cast<Real>(count * (count - 1))));
  for_each_index(array, this->stream, [](TypeParam& element, auto const&) { element *= Real{2}; });
  EXPECT_EQ(array({3}), TypeParam(12));
}

TYPED_TEST(UnderalignedComplexTest, CudaStdComplexIsRefused) {
  using Real = typename TypeParam::value_type;
  using Cuda = cuda::std::complex<Real>;
  auto array = this->template adopted<Cuda>();
  auto const run = [&] { for_each_index(array, this->stream, [](Cuda& element, auto const&) { element += 1; }); };
  std::string const words = message_of<BufferError>(run);
  EXPECT_NE(words.find("at a multiple of " + std::to_string(sizeof(TypeParam)) + " bytes"), std::string::npos) << words;
  EXPECT_NE(words.find("use std::complex"), std::string::npos) << words;
  EXPECT_THROW(static_cast<void>(array.ptr()), BufferError);
  MemArray<Cuda, 1> copy(array);
  for_each_index(copy, this->stream, [](Cuda& element, auto const&) { element += 1; });
  EXPECT_EQ(copy({3}), Cuda(4));
}

}  // namespace
}  // namespace memarray::test
