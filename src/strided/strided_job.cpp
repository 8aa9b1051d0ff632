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

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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

/// An address at which a kernel loads or stores, and the alignment that a GPU requires of it.
struct Access {
  std::byte const* address;
  std::size_t alignment;
};

/// A machine that collects the kernels' accesses. It allocates like a device and launches nothing: `run_on_host`
/// computes the results.
struct SimulatedMachine {
  DeviceRun& run;
  std::vector<Access> accesses{};

  template <class U>
  void launch(DeviceCopy<U> const& kernel, std::int64_t) {
    accesses.insert(accesses.end(), {{kernel.target, kernel.word}, {kernel.source, kernel.word}});
  }
  template <class U>
  void launch(DeviceFill<U> const& kernel, std::int64_t) {
    accesses.push_back({kernel.target, kernel.word});
  }
  template <class U>
  void launch(DeviceCast<U> const& kernel, std::int64_t) {
    accesses.insert(accesses.end(), {{kernel.target, kernel.to.alignment()}, {kernel.source, kernel.from.alignment()}});
  }
  template <class T, class U>
  void launch(DeviceAddIndex<T, U> const& kernel, std::int64_t) {
    std::size_t const alignment = kernel.in_vectors ? vector_bytes : alignof(T);
    accesses.insert(accesses.end(), {{kernel.target, alignment}, {kernel.source, alignment}});
  }
  template <class U>
  void launch(DeviceReduceWhole<U> const& kernel, std::int64_t) {
    accesses.insert(accesses.end(),
                    {{kernel.target, kernel.to.alignment()}, {kernel.source, kernel.how.kind.alignment()}});
  }
  template <class U>
  void launch(DeviceReduce<U> const& kernel, std::int64_t) {
    accesses.push_back({kernel.source, kernel.how.kind.alignment()});
  }
  template <class U>
  void launch(DeviceFold<U> const&, std::int64_t) {}
  template <class U>
  void launch(DeviceFinish<U> const& kernel, std::int64_t) {
    accesses.push_back({kernel.target, kernel.to.alignment()});
  }
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
  launch_emulated(bound_stream, [job = std::move(seen), accesses = std::move(machine.accesses)] {
    for (Access const& access : accesses) testing::detail::check_load(access.address, access.alignment);
    job.run_on_host();
  });
}

}  // namespace memarray::detail
