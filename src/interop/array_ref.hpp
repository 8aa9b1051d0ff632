#pragma once

#include <memarray/interop/c_arrays.h>
#include <memarray/interop/c_views.h>
#include <memarray/base/errors.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "failure.hpp"
#include "ref.hpp"

// The targets of C API refs. A lease has its own count, as a `LeaseCore` cannot be moved.
struct MemArrayArray : memarray::detail::Counted<memarray::detail::ArrayStatePtr> {
  using Counted::Counted;
};
struct MemArrayView : memarray::detail::Counted<memarray::detail::ViewCore> {
  using Counted::Counted;
};
struct MemArrayLease {
  MemArrayLease(memarray::detail::ArrayState& state, memarray::detail::LeaseCore::Kind kind,
                memarray::LeaseOptions const& options) noexcept
      : core(memarray::detail::ArrayStatePtr::share(&state), kind, options) {}

  std::atomic<std::size_t> count{1};
  memarray::detail::LeaseCore core;
};

namespace memarray::detail {

extern MemArrayArrayAPI const array_api;
extern MemArrayViewAPI const view_api;

/// Returns a new ref; null with the last error set on failure.
template <class Object, class Make>
Object* give_made(Make const& make) noexcept {
  return attempt<Object*>(nullptr, [&] { return new Object(make()); });
}
/// Fails without calling `make` if `ref` is null.
template <class Object, class Make>
Object* give_made_of(auto const* ref, Make const& make) noexcept {
  return none_null(ref) ? give_made<Object>(make) : nullptr;
}

/// Throws `UnsupportedTypeError` for an unknown name or null.
[[nodiscard]] inline DType const& dtype_named(char const* name) {
  DType const* const dtype = name ? find_dtype(std::string_view(name)) : nullptr;
  if (!dtype)
    throw UnsupportedTypeError(std::string("memarray has no dtype '") + (name ? name : "NULL") +
                               "'; those that it ships are called as NumPy calls them, such as \"float64\"");
  return *dtype;
}

/// Throws `ValueError` for too few or too many dimensions, and for a null `shape`.
[[nodiscard]] inline Extents extents_of(int ndim, std::int64_t const* shape, int least) {
  if (ndim > 0 && !shape) throw ValueError("the shape is NULL: pass the address of the extents");
  if (ndim < least || ndim > StridedLayout::max_ndim)
    throw ValueError("expected a shape of " + std::to_string(least) + " to " + std::to_string(StridedLayout::max_ndim) +
                     " dimensions, got one of " + std::to_string(ndim));
  return {shape, static_cast<std::size_t>(ndim)};
}

[[nodiscard]] inline Device device_of(MemArrayDevice const& device) noexcept {
  return {static_cast<DLDeviceType>(device.type), device.id};
}
/// Null is the default stream.
[[nodiscard]] inline StreamChoice stream_of(MemArrayStreamRef stream) noexcept {
  return stream ? StreamChoice(stream->handle) : StreamChoice();
}

}  // namespace memarray::detail
