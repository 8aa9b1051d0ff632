#include "device_strided_job.hpp"
#include "dtype_index.hpp"
#include "strided_copy.hpp"
#include "strided_fill.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/detail/strided/strided_job.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/simulated_devices.hpp>

#include <string>

namespace memarray::detail {

void StridedJob::check() const {
  switch (kind) {
    case Kind::copy: return check_copy(target.dtype, source.dtype);
    case Kind::reduce: return check_reduce(reduction, source.dtype, source.layout, axes);
    case Kind::add_index: return check_add_index(target.dtype);
    case Kind::fill: return;
  }
}

void StridedJob::run_on_host() const {
  switch (kind) {
    case Kind::copy: return detail::copy(written(), read());
    case Kind::reduce: return reduce(reduction, read(), axes, written());
    case Kind::add_index: return add_index(written(), source.data ? source.data : target.data);
    case Kind::fill: return detail::fill(written(), element.data());
  }
}

StridedJob StridedJob::of_nothing() const {
  StridedJob result{.kind = Kind::fill, .target = target, .element = std::vector<std::byte>(target.dtype.itemsize)};
  std::int64_t const none = 0;
  reduce(reduction, {nullptr, source.dtype, StridedLayout::dense({&none, 1}, source.dtype.itemsize)}, 1,
         {result.element.data(), target.dtype, StridedLayout()});
  return result;
}

namespace {

/// Allocates like a device, but launches nothing: `run_on_host` computes the results.
struct SimulatedMachine {
  DeviceRun& run;

  template <class Kernel>
  void launch(Kernel const&, std::int64_t) {}
  std::byte* scratch(std::size_t bytes) { return run.scratch(bytes); }
  std::byte* upload(std::size_t bytes, std::byte const* data) { return run.upload(bytes, data); }
};

}  // namespace

void StridedJob::submit(DeviceMemory& memory, BoundStream const& bound_stream) const {
  if (target.layout.size() == 0) return;
  DeviceRun run(memory, bound_stream, "an operation on a view of device memory");
  if (!memory.driver().is_simulated()) return strided_on_device(*this, run);
  SimulatedMachine machine{run};
  DeviceStridedJob(*this, machine).run();
  // With addresses for host code.
  StridedJob seen = *this;
  for (StridedElements* const elements : {&seen.target, &seen.source})
    if (elements->layout.size() != 0)
      elements->data = static_cast<std::byte*>(testing::detail::reachable(elements->data));
  launch_emulated(bound_stream, [job = std::move(seen)] { job.run_on_host(); });
}

}  // namespace memarray::detail
