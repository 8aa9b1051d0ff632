#include <memarray/base/dtype.hpp>

#include <array>

namespace memarray {
namespace {

#define MEMARRAY_LIST_DTYPE(type, spelling, code, bits) dtype_traits<type>::value,
constexpr std::array shipped = {MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_LIST_DTYPE)};
#undef MEMARRAY_LIST_DTYPE

}  // namespace

std::span<DType const> shipped_dtypes() noexcept { return shipped; }

DType const* find_dtype(std::string_view name) noexcept {
  for (DType const& dtype : shipped) {
    if (dtype.name_view() == name) {
      return &dtype;
    }
  }
  return nullptr;
}

DType const* find_dtype(DLDataType type) noexcept {
  for (DType const& dtype : shipped) {
    if (dtype.dl.code == type.code && dtype.dl.bits == type.bits && dtype.dl.lanes == type.lanes) {
      return &dtype;
    }
  }
  return nullptr;
}

}  // namespace memarray
