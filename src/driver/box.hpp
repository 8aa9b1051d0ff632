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

/// What a handle points into. The raw resource comes first, so that a box is found from its handle.
template <class Raw>
struct Resource {
  Raw resource{};
};

/// The part that all boxes have: the driver they were made with and, for foreign resources, what keeps them good.
template <class Raw>
struct Box : Resource<Raw> {
  constexpr explicit Box(DriverTable const* table) noexcept : driver(table) {}
  Box(Box const&) = delete;
  Box& operator=(Box const&) = delete;

  /// The driver, for destruction: null for resources that are not ours, for creations that failed, and in a forked
  /// child, where no function of the driver may be called.
  [[nodiscard]] DriverTable const* to_destroy() const noexcept { return owned ? of_this_process() : nullptr; }
  [[nodiscard]] DriverTable const* of_this_process() const noexcept {
    return driver && driver->fork_generation == fork_generation() ? driver : nullptr;
  }

  DriverTable const* driver;
  bool owned = false;
  KeepAlive owner{};
};

/// The box of a handle that is not null.
template <class TheBox, class Raw>
[[nodiscard]] TheBox& box_of(std::shared_ptr<Raw const> const& handle) noexcept {
  auto const* const resource = reinterpret_cast<Resource<Raw> const*>(handle.get());
  return const_cast<TheBox&>(static_cast<TheBox const&>(*resource));
}

/// Makes the box, then the resource in it, then the handle: whatever fails, nothing is lost. `create(box)` returns a
/// `CUresult`. Null with the last error set.
template <class TheBox, class Create, class... Arguments>
[[nodiscard]] auto make_handle(Create const& create, Arguments&&... arguments) noexcept
    -> std::shared_ptr<decltype(TheBox::resource) const> {
  try {
    auto const box = std::make_shared<TheBox>(std::forward<Arguments>(arguments)...);
    if (!succeeded(create(*box))) return nullptr;
    return {box, &box->resource};
  } catch (std::bad_alloc const&) {
    static_cast<void>(succeeded(cuda_code::out_of_memory));
    return nullptr;
  }
}

/// Of handles that are null.
extern ContextHandle const no_context;

/// What a function returns that was given a null handle, after `fail_for_null`.
[[nodiscard]] inline std::nullptr_t null_for_null(cu::Result code) noexcept {
  fail_for_null(code);
  return nullptr;
}

/// `driver()`, or null with the last error set.
[[nodiscard]] inline DriverTable const* driver_or_error() noexcept {
  DriverTable const* const table = driver();
  if (!table) static_cast<void>(succeeded(driver_absence().code));
  return table;
}

}  // namespace memarray::detail
