#include <memarray/base/errors.hpp>
#include <memarray/detail/launch/device_element.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/kernel/add_index_tuple.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace memarray::detail {
namespace {

struct AddIndexOf {
  template <class T, class Indices>
  __device__ void operator()(Indices const& indices, T& element) const {
    AddIndex()(element, indices);
  }
};

/// Signed integers use the kernels of unsigned ones: they wrap alike, and those kernels are compiled anyway.
template <class T>
using Added = typename std::conditional_t<std::signed_integral<T>, std::make_unsigned<T>,
                                          std::type_identity<DeviceElement<T>>>::type;

/// Launches a kernel of a compiled rank. Leading extents of 1 fill up other ranks.
template <class T, int ndim>
void launch(std::span<std::int64_t const> shape, void const* source, void* target, BoundStream const& queue) {
  cuda::std::array<std::int64_t, ndim> extents{};
  std::size_t const padding = ndim - shape.size();
  std::int64_t size = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(ndim); ++d) {
    extents[d] = d < padding ? 1 : shape[d - padding];
    size *= extents[d];
  }
  ElementArgument<T, false> const element{static_cast<T const*>(source), static_cast<T*>(target)};
  if (size <= INT32_MAX)
    launch_device<std::int32_t, false>(extents, size, queue, AddIndexOf(), element);
  else
    launch_device<std::int64_t, true>(extents, size, queue, AddIndexOf(), element);
}

template <class T>
void launch_any_rank(std::span<std::int64_t const> shape, void const* source, void* target, BoundStream const& queue) {
  switch (shape.size()) {
    case 1: return launch<T, 1>(shape, source, target, queue);
    case 2: return launch<T, 2>(shape, source, target, queue);
    case 3: return launch<T, 3>(shape, source, target, queue);
    case 4:
    case 5:
    case 6: return launch<T, 6>(shape, source, target, queue);
    default: throw UnsupportedTypeError("add_index_tuple is compiled for 1 to 6 dimensions");
  }
}

}  // namespace

void add_index_on_device(DType const& dtype, std::span<std::int64_t const> shape, void const* source, void* target,
                         BoundStream const& queue) {
#define MEMARRAY_RUN_IF(type, name, code, bits) \
  if (dtype == dtype_of<type>()) return launch_any_rank<Added<type>>(shape, source, target, queue);
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_RUN_IF)
#undef MEMARRAY_RUN_IF
  throw UnsupportedTypeError("add_index_tuple is not compiled for " + std::string(dtype.name_view()));
}

}  // namespace memarray::detail
