#pragma once

namespace memarray::python {

/// Where a thread ends that the finalising interpreter stops by unwinding it (`pthread_exit`, before Python 3.14): it
/// sleeps for ever instead, as no `noexcept` function can be unwound, and what it holds must not be given back half
/// done.
[[noreturn]] void park_for_ever() noexcept;

/// Tells the core how to let go of the GIL and how to look at signals. Safe when the interpreter is finalising: a
/// thread that would take the GIL back then sleeps for ever, as unwinding it through `noexcept` would end the process.
void install_hooks();

}  // namespace memarray::python
