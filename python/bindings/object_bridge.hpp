#pragma once

namespace memarray::python {

/// Tells the C API how Python objects are made and read; once, at import.
void install_object_bridge() noexcept;

}  // namespace memarray::python
