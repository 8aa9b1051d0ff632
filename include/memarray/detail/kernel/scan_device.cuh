#pragma once

#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/detail/launch/scan_pieces.hpp>

#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_scan.cuh>

#include <cstddef>

namespace memarray::detail {
inline namespace MEMARRAY_LAUNCH_NAMESPACE {

template <class R>
struct ToValue {
  template <class T>
  MEMARRAY_HD R operator()(T const& element) const {
    return static_cast<R>(element);
  }
};

/// Scans in the run's stream. Waits for `total` unless null. Throws `CudaError`, `OutOfMemoryError`.
template <class T, class R, class Op>
void scan_in(DeviceRun& run, HostScan<T, R, Op> const& scan, R* total) {
  if (scan.size == 0) return;
  auto const values = thrust::make_transform_iterator(scan.source, ToValue<R>{});
  Joined<R, Op> join = scan.join;
  run_cub(
      run,
      [&](void* scratch, std::size_t& bytes) {
        return scan.is_inclusive ? cub::DeviceScan::InclusiveScan(scratch, bytes, values, scan.target, join, scan.size,
                                                                  *run.bound_stream().stream)
                                 : cub::DeviceScan::ExclusiveScan(scratch, bytes, values, scan.target, join, scan.init,
                                                                  scan.size, *run.bound_stream().stream);
      },
      "scanning on a device");
  if (!total) return;
  T last{};
  R before{};
  auto const bytes_of = [](auto const* element) { return reinterpret_cast<std::byte const*>(element); };
  run.read_back({{&last, bytes_of(scan.source + scan.size - 1), sizeof last},
                 {&before, bytes_of(scan.target + scan.size - 1), sizeof before}});
  *total = join(before, static_cast<R>(last));
}

}  // namespace MEMARRAY_LAUNCH_NAMESPACE
}  // namespace memarray::detail
