#pragma once

#include <memarray/base/config.hpp>

namespace memarray {

/// What the core asks of a language runtime that it knows nothing of. The Python binding fills this in once, when
/// it is imported; until then every entry does nothing. Entries may be called from any thread.
struct Hooks {
  /// Lets go of the interpreter lock if the calling thread holds it; returns a token for `reacquire`, or nullptr.
  void* (*release)() noexcept = nullptr;
  void (*reacquire)(void* token) noexcept = nullptr;
  /// With the lock let go as `token`: handles pending signals. False: the wait must end, an exception is pending.
  bool (*poll_signals)(void*& token) noexcept = nullptr;
  /// With the lock held, while a C++ exception is handled: makes it the runtime's pending one.
  void (*raise)() noexcept = nullptr;
  /// Gives back a reference to an object of the runtime, taking the lock for it; leaks it where there is none any more.
  void (*drop_object)(void* object) noexcept = nullptr;
  /// Calls what may run the runtime's code, from any thread: an exception that is pending on it is kept from that code.
  void (*call_aside)(void (*call)(void* object), void* object) noexcept = nullptr;
};

/// Copied, not referenced. Call it before other threads use the library.
MEMARRAY_API void set_hooks(Hooks const& hooks) noexcept;
[[nodiscard]] MEMARRAY_API Hooks hooks() noexcept;

/// Calls somebody else's code, which may be the runtime's, by the hook of that name.
MEMARRAY_API void call_aside(void (*call)(void* object), void* object) noexcept;

/// Lets go of the interpreter lock for a scope, if the calling thread holds it.
class MEMARRAY_API RuntimeRelease {
 public:
  RuntimeRelease() noexcept;
  ~RuntimeRelease();
  RuntimeRelease(RuntimeRelease const&) = delete;
  RuntimeRelease& operator=(RuntimeRelease const&) = delete;

  /// Throws `Interrupted` if a signal handler raised.
  void poll_signals();

 private:
  void* _token;
};

}  // namespace memarray
