#pragma once

#include <memarray/base/config.hpp>

namespace memarray {

/// The functions of a language runtime, which its binding installs. Any thread may call them.
struct Hooks {
  /// Releases the interpreter lock if held. Returns a token for `reacquire`, or nullptr.
  void* (*release)() noexcept = nullptr;
  void (*reacquire)(void* token) noexcept = nullptr;
  /// Handles signals while the lock is released as `token`. Returns false if a pending exception ends the wait.
  bool (*poll_signals)(void*& token) noexcept = nullptr;
  /// Makes the handled C++ exception pending in the runtime. The caller holds the lock.
  void (*raise)() noexcept = nullptr;
  /// Drops a reference under the lock; leaks it after the runtime's end.
  void (*drop_object)(void* object) noexcept = nullptr;
  /// Calls `call(object)`, which may run runtime code, with the thread's pending exception hidden.
  void (*call_aside)(void (*call)(void* object), void* object) noexcept = nullptr;
};

/// Installs a copy of `hooks`, before other threads use the library.
MEMARRAY_API void set_hooks(Hooks const& hooks) noexcept;
[[nodiscard]] MEMARRAY_API Hooks hooks() noexcept;

/// Calls foreign code through `Hooks::call_aside`.
MEMARRAY_API void call_aside(void (*call)(void* object), void* object) noexcept;

/// A scope without the interpreter lock, if the thread held it.
class MEMARRAY_API RuntimeRelease {
 public:
  RuntimeRelease() noexcept;
  ~RuntimeRelease();
  RuntimeRelease(RuntimeRelease const&) = delete;
  RuntimeRelease& operator=(RuntimeRelease const&) = delete;

  /// Handles pending signals. Throws `Interrupted` if a handler raised.
  void poll_signals();

 private:
  void* _token;
};

}  // namespace memarray
