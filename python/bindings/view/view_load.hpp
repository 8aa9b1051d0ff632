#pragma once

#include <memarray/detail/python/bridge.hpp>

namespace memarray::python {

/// Implements `Bridge::load_view`.
Loaded load_view(PyObject* object, ViewWanted const& wanted, bool converts, detail::ViewTarget view) noexcept;

}  // namespace memarray::python
