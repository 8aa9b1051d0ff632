#pragma once

#include <memarray/base/errors.hpp>
#include <memarray/detail/base/fork.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/handle.hpp>
#include <memarray/driver/last_error.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace memarray::detail {

/// The base of a box, at which its handle points.
template <class Raw>
struct Resource {
  Raw resource{};
};

/// A resource, its driver and, if foreign, its owner.
template <class Raw>
struct Box : Resource<Raw> {
  constexpr explicit Box(DriverTable const* table) noexcept : driver(table) {}
  Box(Box const&) = delete;
  Box& operator=(Box const&) = delete;

  /// Returns the driver that destroys the resource; null for a foreign or failed one and in a forked child.
  [[nodiscard]] DriverTable const* to_destroy() const noexcept { return owned ? of_this_process() : nullptr; }
  [[nodiscard]] DriverTable const* of_this_process() const noexcept {
    return driver && driver->fork_generation == fork_generation() ? driver : nullptr;
  }

  DriverTable const* driver;
  bool owned = false;
  KeepAlive owner{};
};

/// `handle` must not be null.
template <class TheBox, class Raw>
[[nodiscard]] TheBox& box_of(std::shared_ptr<Raw const> const& handle) noexcept {
  auto const* const resource = reinterpret_cast<Resource<Raw> const*>(handle.get());
  return const_cast<TheBox&>(static_cast<TheBox const&>(*resource));
}

/// Creates the box before the resource: no failure leaks it. `create(box)` returns a `CUresult`. Null with the last
/// error set on failure.
template <class TheBox, class Create, class... Arguments>
[[nodiscard]] auto make_handle(Create const& create, Arguments&&... arguments) noexcept
    -> std::shared_ptr<decltype(TheBox::resource) const> {
  try {
    auto const box = std::make_shared<TheBox>(std::forward<Arguments>(arguments)...);
    if (!succeeded(create(*box))) return nullptr;
    return {box, &box->resource};
  } catch (std::bad_alloc const&) {
    record_error(cuda_code::out_of_memory);
    return nullptr;
  }
}

extern ContextHandle const no_context;

[[nodiscard]] inline std::nullptr_t null_for_null(cu::Result code) noexcept {
  fail_for_null(code);
  return nullptr;
}

/// Sets the last error if null.
[[nodiscard]] inline DriverTable const* driver_or_error() noexcept {
  DriverTable const* const table = driver();
  if (!table) record_error(driver_absence().code);
  return table;
}

}  // namespace memarray::detail
