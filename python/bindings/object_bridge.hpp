#pragma once

namespace memarray::python {

/// Installs the functions with which the C API makes and reads Python objects.
void install_object_bridge() noexcept;

}  // namespace memarray::python
