#include <memarray/base/errors.hpp>
#include <memarray/detail/base/element_pointer.hpp>

#include <string>

namespace memarray::detail {

void throw_misaligned(DType const& dtype, std::uintptr_t address, std::size_t wanted) {
  std::string const name(dtype.name_view());
  throw BufferError("expected " + name + " at a multiple of " + std::to_string(wanted) +
                    " bytes, as the element type in C++ asks; got imported memory at a multiple of " +
                    std::to_string(address & (~address + 1)) + " bytes, which " + name +
                    " allows; use std::complex in place of cuda::std::complex, or a copy() of the array");
}

}  // namespace memarray::detail
