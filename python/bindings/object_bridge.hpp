#pragma once

namespace memarray::python {

/// Installs the C API's functions on Python objects.
void install_object_bridge() noexcept;

}  // namespace memarray::python
