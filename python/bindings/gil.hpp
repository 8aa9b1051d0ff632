#pragma once

namespace memarray::python {

/// Tells the core how to let go of the GIL and how to look at signals. Safe when the interpreter is finalising: a
/// thread that would take the GIL back then sleeps for ever, as unwinding it through `noexcept` would end the process.
void install_hooks();

}  // namespace memarray::python
