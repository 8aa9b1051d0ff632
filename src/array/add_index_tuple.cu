#include "device_types.cuh"

#include <memarray/array/array_indexer.hpp>
#include <memarray/array/launch_device.hpp>
#include <memarray/base/errors.hpp>

#include <cstddef>
#include <string>

namespace memarray::detail {
namespace {

/// One element: ranks between those that are compiled get leading extents of 1.
template <class T, int ndim, class IndexT>
struct AddIndexBody {
  ArrayIndexer<T, ndim, IndexT> indexer;
  T const* source;

  __device__ void operator()(std::int64_t linear) const {
    auto const indices = indexer.get_indices(static_cast<IndexT>(linear));
    IndexT sum = 0;
    for (int d = 0; d < ndim; ++d) sum += indices[d];
    indexer.pointer[linear] = static_cast<T>(source[linear] + static_cast<T>(sum));
  }
};

template <class T, int ndim>
void launch(std::span<std::int64_t const> shape, void const* source, void* target, Queue const& queue) {
  ArrayIndexer<T, ndim> wide{static_cast<T*>(target), {}};
  ArrayIndexer<T, ndim, std::int32_t> narrow{static_cast<T*>(target), {}};
  std::size_t const padding = ndim - shape.size();
  bool fits = true;
  for (std::size_t d = 0; d < static_cast<std::size_t>(ndim); ++d) {
    wide.extents[d] = d < padding ? 1 : shape[d - padding];
    fits = fits && wide.extents[d] <= INT32_MAX;
    narrow.extents[d] = static_cast<std::int32_t>(wide.extents[d]);
  }
  std::int64_t const size = wide.size();
  auto const* const from = static_cast<T const*>(source);
  if (fits && size <= INT32_MAX)
    launch_device(size, queue, AddIndexBody<T, ndim, std::int32_t>{narrow, from});
  else
    launch_device(size, queue, AddIndexBody<T, ndim, std::int64_t>{wide, from});
}

template <class T>
void launch_any_rank(std::span<std::int64_t const> shape, void const* source, void* target,
                     Queue const& queue) {
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
                         Queue const& queue) {
#define MEMARRAY_RUN_IF(type, name, code, bits) \
  if (dtype == dtype_of<type>()) return launch_any_rank<DeviceType<type>>(shape, source, target, queue);
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_RUN_IF)
#undef MEMARRAY_RUN_IF
  throw UnsupportedTypeError("add_index_tuple is not compiled for " + std::string(dtype.name_view()));
}

}  // namespace memarray::detail
