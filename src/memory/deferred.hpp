#pragma once

#include <memarray/base/config.hpp>

namespace memarray::detail {

/// A call deferred to an ordinary thread. It frees memory that was dropped where the driver must not be called, as in a
/// host function of a stream. It is part of the object that it frees, so deferring allocates nothing and cannot fail.
struct Deferred {
  void (*run)(Deferred*) noexcept;
  Deferred* next = nullptr;
};

/// Defers a call. Lock-free; any thread may call it.
MEMARRAY_API void defer(Deferred* later) noexcept;
/// Runs all calls deferred so far, in order. Called where the driver may be called. Costs one load if there are none.
MEMARRAY_API void run_deferred() noexcept;

}  // namespace memarray::detail
