#pragma once

#include <memarray/base/config.hpp>

namespace memarray {

/// Functions that a language binding installs. Any thread may call them.
struct Hooks {
  /// Releases the interpreter lock if held. Returns a token for `reacquire`, or nullptr.
  void* (*release)() noexcept = nullptr;
  void (*reacquire)(void* token) noexcept = nullptr;
  /// Reacquires the lock, handles signals, and releases it as a new `token`. Returns false if an exception is pending.
  bool (*poll_signals)(void*& token) noexcept = nullptr;
  /// Makes the handled C++ exception pending. Needs the lock.
  void (*raise)() noexcept = nullptr;
  /// Drops a reference under the lock; leaks it after the runtime's end.
  void (*drop_object)(void* object) noexcept = nullptr;
  /// Calls `call(object)`, which may run runtime code, with a pending exception hidden.
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
