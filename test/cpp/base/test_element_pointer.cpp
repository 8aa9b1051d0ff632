#include <memarray/detail/base/element_pointer.hpp>

#include <gtest/gtest.h>
#include <memarray/base/cuda_complex.hpp>
#include <memarray/base/errors.hpp>

#include <complex>
#include <cstddef>
#include <string>

namespace memarray::detail {
namespace {

static_assert(is_overaligned<cuda::std::complex<double>> && is_overaligned<cuda::std::complex<float> const>);
static_assert(!is_overaligned<std::complex<double>> && !is_overaligned<double const>);

TEST(ElementPointerTest, UnderalignedMemoryIsRefusedForOveralignedType) {
  alignas(16) std::byte memory[64];
  EXPECT_EQ(static_cast<void*>(elements_at<cuda::std::complex<double>>(memory + 16)), memory + 16);
  EXPECT_EQ(static_cast<void*>(elements_at<std::complex<double>>(memory + 8)), memory + 8);
  try {
    static_cast<void>(elements_at<cuda::std::complex<double> const>(memory + 8));
    FAIL();
  } catch (BufferError const& error) {
    EXPECT_STREQ(error.what(),
                 "expected complex128 at a multiple of 16 bytes, as the element type in C++ asks; got imported memory "
                 "at a multiple of 8 bytes, which complex128 allows; use std::complex in place of cuda::std::complex, "
                 "or a copy() of the array");
  }
}

}  // namespace
}  // namespace memarray::detail
