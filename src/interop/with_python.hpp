#pragma once

#include "objects.hpp"

#include <memarray/base/hooks.hpp>

namespace memarray::detail {

/// Returns `body(python)`; null with the Python error set if it throws, without one if `memarray` is not imported.
/// Needs the GIL.
template <class Result, class Body>
Result* with_python(Body const& body) noexcept {
  ObjectBridge const* const python = object_bridge();
  if (!python) return nullptr;
  Result* result = nullptr;
  try {
    result = body(*python);
  } catch (...) {
    hooks().raise();
  }
  python->log_reports();
  return result;
}

}  // namespace memarray::detail
