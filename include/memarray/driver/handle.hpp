#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/driver_functions.hpp>

#include <cstdint>
#include <memory>
#include <type_traits>

namespace memarray {

/// Shares a resource of the driver and all that it depends on. A handle points at the raw resource, inside a box that
/// embeds the handles it depends on and knows how to give it back, so destruction comes in the right order whoever
/// lets go last, on any thread. If a handle exists, its resource is valid; a null handle stands for a creation that
/// failed. A handle never refers to another resource than at first.
///
/// Of each kind there are `create_…` (owning), `create_…_ref` (somebody else destroys it, later than the handle) and
/// `create_…_with_owner` (it is good as long as the owner, any object, is kept). They never throw: a null handle's
/// reason is `get_last_error()`.
using ContextHandle = std::shared_ptr<cu::Context const>;
using StreamHandle = std::shared_ptr<cu::Stream const>;
using EventHandle = std::shared_ptr<cu::Event const>;
using MemoryPoolHandle = std::shared_ptr<cu::MemoryPool const>;
using DevicePtrHandle = std::shared_ptr<cu::DevicePtr const>;

/// Keeps a foreign resource good: whatever object that takes.
using KeepAlive = std::shared_ptr<void const>;

/// The raw resource, to hand to the driver; null for a null handle.
template <class Raw>
[[nodiscard]] Raw as_cu(std::shared_ptr<Raw const> const& handle) noexcept {
  return handle ? *handle : Raw{};
}

/// The same as a number, as Python and foreign code pass it on; 0 for a null handle.
template <class Raw>
[[nodiscard]] std::intptr_t as_intptr(std::shared_ptr<Raw const> const& handle) noexcept {
  // A pointer or a number.
  if constexpr (std::is_pointer_v<Raw>)
    return reinterpret_cast<std::intptr_t>(as_cu(handle));
  else
    return static_cast<std::intptr_t>(as_cu(handle));
}

}  // namespace memarray
