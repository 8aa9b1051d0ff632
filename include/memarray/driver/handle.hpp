#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/driver_functions.hpp>

#include <cstdint>
#include <memory>
#include <type_traits>

namespace memarray {

/// A shared owner of a driver resource and of everything that the resource depends on. A handle points at the raw
/// resource inside a box. The box embeds the handles of the dependencies and the deallocation recipe. Destruction is
/// therefore in the right order, on any thread, whichever handle is dropped last. If a handle exists, its resource is
/// valid; a null handle stands for a failed creation. A handle always refers to one resource.
///
/// Each kind has `create_…` (owning), `create_…_ref` (borrowing: the resource must outlive the handle) and
/// `create_…_with_owner` (the resource is valid while the owner, any object, is alive). These functions, and the ones
/// that get or allocate a resource, never throw: `get_last_error()` gives the reason for a null handle.
using ContextHandle = std::shared_ptr<cu::Context const>;
using StreamHandle = std::shared_ptr<cu::Stream const>;
using EventHandle = std::shared_ptr<cu::Event const>;
using MemoryPoolHandle = std::shared_ptr<cu::MemoryPool const>;
using DevicePtrHandle = std::shared_ptr<cu::DevicePtr const>;

/// An object of any type that keeps a foreign resource valid.
using KeepAlive = std::shared_ptr<void const>;

/// Returns the raw resource, to pass to the driver; null for a null handle.
template <class Raw>
[[nodiscard]] Raw as_cu(std::shared_ptr<Raw const> const& handle) noexcept {
  return handle ? *handle : Raw{};
}

/// Returns the raw resource as a number, as Python and foreign code pass it; 0 for a null handle.
template <class Raw>
[[nodiscard]] std::intptr_t as_intptr(std::shared_ptr<Raw const> const& handle) noexcept {
  if constexpr (std::is_pointer_v<Raw>)
    return reinterpret_cast<std::intptr_t>(as_cu(handle));
  else
    return static_cast<std::intptr_t>(as_cu(handle));
}

}  // namespace memarray
