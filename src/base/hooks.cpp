#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>

#include <atomic>

namespace memarray {
namespace {

// One pointer, so that a thread sees all entries or none; the old table leaks, as its readers cannot be counted.
std::atomic<Hooks const*> installed{nullptr};

}  // namespace

void set_hooks(Hooks const& hooks) noexcept { installed.store(new Hooks(hooks), std::memory_order_release); }

Hooks hooks() noexcept {
  Hooks const* const table = installed.load(std::memory_order_acquire);
  return table ? *table : Hooks{};
}

RuntimeRelease::RuntimeRelease() noexcept : _token(nullptr) {
  if (auto const table = hooks(); table.release) _token = table.release();
}

RuntimeRelease::~RuntimeRelease() {
  if (_token) hooks().reacquire(_token);
}

void RuntimeRelease::poll_signals() {
  if (_token && !hooks().poll_signals(_token)) throw Interrupted("the wait was interrupted");
}

}  // namespace memarray
