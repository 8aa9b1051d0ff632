#pragma once

namespace memarray::python {

/// Installs the functions with which the C API makes and reads Python objects. Call once, at import.
void install_object_bridge() noexcept;

}  // namespace memarray::python
