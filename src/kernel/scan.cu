#include <memarray/base/errors.hpp>
#include <memarray/detail/launch/device_element.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/kernel/operations.hpp>

#include <cub/device/device_scan.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

namespace memarray::detail {
namespace {

template <class T>
void scan_of(bool is_inclusive, std::int64_t size, void const* source, void* target, void* total, DeviceRun& run) {
  using Element = DeviceElement<T>;
  if (size == 0) return;
  auto const* const from = static_cast<Element const*>(source);
  auto* const to = static_cast<Element*>(target);
  run_cub(run, [&](void* scratch, std::size_t& bytes) {
    return is_inclusive
               ? cub::DeviceScan::InclusiveScan(scratch, bytes, from, to, plus{}, size, *run.bound_stream().stream)
               : cub::DeviceScan::ExclusiveScan(scratch, bytes, from, to, plus{}, Element{}, size,
                                                *run.bound_stream().stream);
  });
  if (!total) return;
  Element last{};
  Element before{};
  auto const bytes_of = [](Element const* element) { return reinterpret_cast<std::byte const*>(element); };
  run.read_back({{&last, bytes_of(from + size - 1), sizeof last}, {&before, bytes_of(to + size - 1), sizeof before}});
  *static_cast<Element*>(total) = plus{}(before, last);
}

}  // namespace

void scan_on_device(DType const& dtype, bool is_inclusive, std::int64_t size, void const* source, void* target,
                    void* total, DeviceRun& run) {
#define MEMARRAY_RUN_IF(type, name, code, bits) \
  if (dtype == dtype_of<type>()) return scan_of<type>(is_inclusive, size, source, target, total, run);
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_RUN_IF)
#undef MEMARRAY_RUN_IF
  throw UnsupportedTypeError("scans are not compiled for " + std::string(dtype.name_view()));
}

}  // namespace memarray::detail
