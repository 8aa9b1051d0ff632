#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/driver_functions.hpp>

#include <cstdint>
#include <memory>
#include <type_traits>

namespace memarray {

/// A shared owner of a driver resource, its dependencies and the recipe for its release: any thread may drop handles in
/// any order. A handle's resource is valid. A null handle is a failed creation: see `get_last_error()`.
///
/// `create_…` owns. `create_…_ref` borrows: the resource must outlive the handle. `create_…_with_owner` keeps the
/// resource's owner alive.
using ContextHandle = std::shared_ptr<cu::Context const>;
using StreamHandle = std::shared_ptr<cu::Stream const>;
using EventHandle = std::shared_ptr<cu::Event const>;
using MemoryPoolHandle = std::shared_ptr<cu::MemoryPool const>;
using DevicePtrHandle = std::shared_ptr<cu::DevicePtr const>;

/// Any object that keeps a foreign resource valid.
using KeepAlive = std::shared_ptr<void const>;

/// Returns the raw resource; null for a null handle.
template <class Raw>
[[nodiscard]] Raw as_cu(std::shared_ptr<Raw const> const& handle) noexcept {
  return handle ? *handle : Raw{};
}

/// Returns the raw resource as a number; 0 for a null handle.
template <class Raw>
[[nodiscard]] std::intptr_t as_intptr(std::shared_ptr<Raw const> const& handle) noexcept {
  if constexpr (std::is_pointer_v<Raw>)
    return reinterpret_cast<std::intptr_t>(as_cu(handle));
  else
    return static_cast<std::intptr_t>(as_cu(handle));
}

}  // namespace memarray
