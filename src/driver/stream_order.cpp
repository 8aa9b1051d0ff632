#include <memarray/base/cuda_code.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/driver/stream_order.hpp>

#include <cstddef>

namespace memarray {
namespace {

using detail::ContextScope;
using detail::succeeded;

// Another driver's handle is no valid address.
template <class Handle>
bool goes_with(ContextScope const& scope, Handle const& handle) noexcept {
  if (!scope.driver()) return false;
  if (!handle) return detail::fail_for_null(cuda_code::invalid_handle);
  ContextHandle const& context = context_of(handle);
  return succeeded(!context || driver_of(context) == scope.driver() ? 0 : cuda_code::invalid_handle);
}

}  // namespace

// Submitting blocks on a full queue, too.
namespace detail {

cu::Result wait(DriverTable const& driver, StreamHandle const& stream, EventHandle const& event) noexcept {
  if (driver_of(context_of(event)) != &driver) return cuda_code::invalid_handle;
  RuntimeRelease const released;
  return driver.cuStreamWaitEvent(*stream, *event, 0);
}

cu::Result synchronize(DriverTable const& driver, EventHandle const& event) noexcept {
  if (driver_of(context_of(event)) != &driver) return cuda_code::invalid_handle;
  RuntimeRelease const released;
  return driver.cuEventSynchronize(*event);
}

cu::Result synchronize(DriverTable const& driver, StreamHandle const& stream) noexcept {
  RuntimeRelease const released;
  return driver.cuStreamSynchronize(*stream);
}

}  // namespace detail

bool record(EventHandle const& event, StreamHandle const& stream) noexcept {
  ContextScope const scope(context_of(event));
  if (!goes_with(scope, stream)) return false;
  RuntimeRelease const released;
  return succeeded(scope.driver()->cuEventRecord(*event, *stream));
}

namespace {

bool wait_in(ContextHandle const& context, StreamHandle const& stream, EventHandle const& event) noexcept {
  if (!event) return true;
  ContextScope const scope(context);
  return goes_with(scope, stream) && succeeded(detail::wait(*scope.driver(), stream, event));
}

}  // namespace

bool wait(StreamHandle const& stream, EventHandle const& event) noexcept {
  // A default stream is that of the current context, here the event's.
  ContextHandle const& of_stream = context_of(stream);
  return wait_in(of_stream ? of_stream : context_of(event), stream, event);
}

bool synchronize(EventHandle const& event) noexcept {
  ContextScope const scope(context_of(event));
  return scope.driver() && succeeded(detail::synchronize(*scope.driver(), event));
}

bool synchronize(StreamHandle const& stream, ContextHandle const& context) noexcept {
  ContextHandle const& of_stream = context_of(stream);
  ContextScope const scope(of_stream ? of_stream : context);
  return goes_with(scope, stream) && succeeded(detail::synchronize(*scope.driver(), stream));
}

bool is_lost(ContextHandle const& context) noexcept {
  testing::detail::WaitSite const site("checking for a lost context");
  ContextScope const scope(context);
  if (!scope.driver()) return false;
  RuntimeRelease const released;
  std::size_t free = 0;
  std::size_t total = 0;
  cu::Result const failed = scope.driver()->cuCtxSynchronize();
  // Errors of one function alone do not count.
  return failed != 0 && scope.driver()->cuMemGetInfo(&free, &total) == failed;
}

bool synchronize_all() noexcept {
  bool all = true;
  RuntimeRelease const released;
  for (int device = 0; device <= detail::last_held_device(); ++device) {
    ContextHandle const context = detail::held_primary_context(device);
    if (!context) continue;
    ContextScope const scope(context);
    all = scope.driver() && succeeded(scope.driver()->cuCtxSynchronize()) && all;
  }
  return all;
}

std::optional<bool> query(EventHandle const& event) noexcept {
  ContextScope const scope(context_of(event));
  if (!scope.driver()) return std::nullopt;
  cu::Result const result = scope.driver()->cuEventQuery(*event);
  if (result == cuda_code::not_ready) return false;
  return succeeded(result) ? std::optional(true) : std::nullopt;
}

std::optional<double> elapsed(EventHandle const& start, EventHandle const& end) noexcept {
  ContextScope const scope(context_of(start));
  if (!goes_with(scope, end)) return std::nullopt;
  float milliseconds = 0;
  if (!succeeded(scope.driver()->cuEventElapsedTime(&milliseconds, *start, *end))) return std::nullopt;
  return 1e-3 * static_cast<double>(milliseconds);
}

namespace detail {

void wait(BoundStream const& bound_stream, EventHandle const& event, char const* site) {
  testing::detail::WaitSite const named(site);
  if (!wait_in(bound_stream.context, bound_stream.stream, event))
    throw_last_error("making a stream wait for work on memory that it uses");
}

bool synchronize(BoundStream const& bound_stream) noexcept {
  return memarray::synchronize(bound_stream.stream, bound_stream.context);
}

bool synchronize(ContextHandle const& context) noexcept {
  ContextScope const scope(context);
  RuntimeRelease const released;
  return scope.driver() && succeeded(scope.driver()->cuCtxSynchronize());
}

}  // namespace detail
}  // namespace memarray
