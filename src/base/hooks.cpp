#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>

#include <atomic>

namespace memarray {
namespace {

struct Table {
  Hooks hooks;
  // Never freed: a replaced table may have readers.
  Table const* before;
};

// One pointer: a thread sees all entries or none.
std::atomic<Table const*> installed{nullptr};

}  // namespace

void set_hooks(Hooks const& hooks) noexcept {
  auto* const table = new Table{hooks, installed.load(std::memory_order_relaxed)};
  while (!installed.compare_exchange_weak(table->before, table, std::memory_order_acq_rel)) {
  }
}

Hooks hooks() noexcept {
  Table const* const table = installed.load(std::memory_order_acquire);
  return table ? table->hooks : Hooks{};
}

void call_aside(void (*call)(void* object), void* object) noexcept {
  auto const hook = hooks().call_aside;
  return hook ? hook(call, object) : call(object);
}

RuntimeRelease::RuntimeRelease() noexcept : _token(nullptr) {
  if (auto const table = hooks(); table.release) _token = table.release();
}

RuntimeRelease::~RuntimeRelease() {
  if (auto const table = hooks(); _token && table.reacquire) table.reacquire(_token);
}

void RuntimeRelease::poll_signals() {
  auto const table = hooks();
  if (_token && table.poll_signals && !table.poll_signals(_token)) throw Interrupted("the wait was interrupted");
}

}  // namespace memarray
