#pragma once

#include <memarray/base/config.hpp>

namespace memarray {

/// The functions of a language runtime that the core calls without knowing the runtime. The Python binding installs
/// them once, at import. Until then no entry has an effect. Entries may be called from any thread.
struct Hooks {
  /// Releases the interpreter lock if the calling thread holds it. Returns a token for `reacquire`, or nullptr.
  void* (*release)() noexcept = nullptr;
  void (*reacquire)(void* token) noexcept = nullptr;
  /// Handles pending signals while the lock is released as `token`. Returns false if the wait must end because an
  /// exception is pending.
  bool (*poll_signals)(void*& token) noexcept = nullptr;
  /// Makes the C++ exception that is being handled the runtime's pending exception. The caller holds the lock.
  void (*raise)() noexcept = nullptr;
  /// Drops a reference to an object of the runtime and acquires the lock to do so. Leaks it after the runtime's end.
  void (*drop_object)(void* object) noexcept = nullptr;
  /// Calls `call(object)`, which may run the runtime's code. Hides an exception that is pending on the thread from it.
  void (*call_aside)(void (*call)(void* object), void* object) noexcept = nullptr;
};

/// Installs a copy of `hooks`. Call it before other threads use the library.
MEMARRAY_API void set_hooks(Hooks const& hooks) noexcept;
[[nodiscard]] MEMARRAY_API Hooks hooks() noexcept;

/// Calls foreign code, which may run the runtime's, through `Hooks::call_aside`.
MEMARRAY_API void call_aside(void (*call)(void* object), void* object) noexcept;

/// A scope in which the interpreter lock is released, if the calling thread held it.
class MEMARRAY_API RuntimeRelease {
 public:
  RuntimeRelease() noexcept;
  ~RuntimeRelease();
  RuntimeRelease(RuntimeRelease const&) = delete;
  RuntimeRelease& operator=(RuntimeRelease const&) = delete;

  /// Handles pending signals. Throws `Interrupted` if a signal handler raised an exception.
  void poll_signals();

 private:
  void* _token;
};

}  // namespace memarray
