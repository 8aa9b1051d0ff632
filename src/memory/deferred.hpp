#pragma once

#include <memarray/base/config.hpp>

namespace memarray::detail {

/// A call deferred to a thread that may call the driver, unlike a stream's host function. Part of the object that it
/// frees, so deferring cannot fail.
struct Deferred {
  void (*run)(Deferred*) noexcept;
  Deferred* next = nullptr;
};

/// Lock-free; any thread may call it.
MEMARRAY_API void defer(Deferred* later) noexcept;
/// Runs all deferred calls, oldest first. One load if there are none.
MEMARRAY_API void run_deferred() noexcept;

}  // namespace memarray::detail
