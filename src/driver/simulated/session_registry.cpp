#include "session_registry.hpp"

#include <memarray/detail/base/fork.hpp>
#include <memarray/driver/driver_table.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "context.hpp"
#include "guard.hpp"
#include "handle_table.hpp"
#include "lock.hpp"
#include "session.hpp"

namespace memarray::simulated {
namespace {

struct HostMemory {
  std::size_t bytes;
  std::uint32_t session;
};

// A forked child creates its own: its parent's may be half changed.
struct Registry {
  std::uint32_t const generation = detail::fork_generation();
  Lock lock;
  std::map<std::uint32_t, std::weak_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Session>> open;  // the innermost last
  DriverTable const* outermost = nullptr;      // the driver before all blocks
  std::map<std::uintptr_t, HostMemory> host_memory;
};

constinit std::atomic<Registry*> current{nullptr};
constinit std::atomic<std::uint32_t> numbers{0};

// Never destroyed: handles are dropped at exit.
Registry& registry() {
  Registry* known = current.load(std::memory_order_acquire);
  while (!known || known->generation != detail::fork_generation()) {
    auto* const fresh = new Registry;
    if (current.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return *fresh;
    delete fresh;
  }
  return *known;
}

}  // namespace

std::uint32_t next_session_number() noexcept { return numbers.fetch_add(1, std::memory_order_relaxed) + 1; }

void add_session(std::shared_ptr<Session> const& session) {
  Registry& all = registry();
  std::lock_guard const guard(all.lock);
  all.sessions[session->number] = session;
}

void remove_session(std::uint32_t number) noexcept {
  Registry& all = registry();
  std::lock_guard const guard(all.lock);
  all.sessions.erase(number);
}

std::shared_ptr<Session> find_session(std::uint32_t number) {
  Registry& all = registry();
  std::lock_guard const guard(all.lock);
  auto const found = all.sessions.find(number);
  return found == all.sessions.end() ? nullptr : found->second.lock();
}

std::shared_ptr<Session> find_session_of_memory(std::uintptr_t address) {
  if (GuardedRange const* const range = find_guarded(address)) return find_session(range->session);
  std::uint32_t number = 0;
  {
    Registry& all = registry();
    std::lock_guard const guard(all.lock);
    auto found = all.host_memory.upper_bound(address);
    if (found == all.host_memory.begin()) return nullptr;
    --found;
    if (address - found->first >= found->second.bytes) return nullptr;
    number = found->second.session;
  }
  return find_session(number);
}

std::shared_ptr<Session> find_session_here() {
  while (ContextStack::drop_dead()) {
  }
  auto const parts = decode(ContextStack::top());
  if (auto session = parts ? find_session(parts->session) : nullptr) return session;
  Registry& all = registry();
  std::lock_guard const guard(all.lock);
  return all.open.empty() ? nullptr : all.open.back();
}

bool is_bare_child() noexcept {
  Registry const* const known = current.load(std::memory_order_acquire);
  return known && known->generation != detail::fork_generation();
}

void open_block(std::shared_ptr<Session> const& session) {
  Registry& all = registry();
  std::lock_guard const guard(all.lock);
  all.open.push_back(session);
  DriverTable const* const before = detail::replace_driver(session->table);
  if (all.open.size() == 1) all.outermost = before;
}

void close_block(Session const& session) noexcept {
  Registry& all = registry();
  std::shared_ptr<Session> closed;  // destroyed after the unlock
  std::lock_guard const guard(all.lock);
  auto const found =
      std::find_if(all.open.begin(), all.open.end(), [&](auto const& open) { return open.get() == &session; });
  if (found == all.open.end()) return;
  closed = *found;
  all.open.erase(found);
  detail::replace_driver(all.open.empty() ? all.outermost : all.open.back()->table);
}

void note_host_memory(std::uintptr_t begin, std::size_t bytes, std::uint32_t session) {
  Registry& all = registry();
  std::lock_guard const guard(all.lock);
  all.host_memory[begin] = {bytes, session};
}

void forget_host_memory(std::uintptr_t begin) noexcept {
  Registry& all = registry();
  std::lock_guard const guard(all.lock);
  all.host_memory.erase(begin);
}

}  // namespace memarray::simulated
