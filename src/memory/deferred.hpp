#pragma once

#include <memarray/base/config.hpp>

namespace memarray::detail {

/// Something to be done later, on an ordinary thread: memory that was dropped where no driver may be called, as in a
/// host function of a stream. Part of what it frees, so that deferring needs no memory and cannot fail.
struct Deferred {
  void (*run)(Deferred*) noexcept;
  Deferred* next = nullptr;
};

/// Any thread, without a lock.
MEMARRAY_API void defer(Deferred* later) noexcept;
/// Runs all that was deferred so far, in the order in which it was; called where the driver may be. One load if there
/// is nothing.
MEMARRAY_API void run_deferred() noexcept;

}  // namespace memarray::detail
