#include "use.hpp"

#include <memarray/driver/simulated_devices.hpp>

#include <mutex>

#include "guard.hpp"
#include "session.hpp"
#include "session_registry.hpp"

namespace memarray {
namespace simulated {
namespace {

// Returns the start of a violation's text, or null. Callers hold the lock.
char const* refusal(Session& session, std::uintptr_t address) {
  auto const allocation = session.memory.find(address);
  if (!allocation) return "use after free or of unallocated memory: ";
  Stream const* const stream = running_stream();
  if (!stream) return nullptr;
  if (!allocation->is_ready) return "use before the allocation, in the order of streams, of ";
  if (allocation->device == stream->device) return nullptr;
  auto const context = session.contexts.find(stream->context);
  bool const reaches = allocation->pool ? allocation->pool->reached_by.contains(stream->device)
                                        : context && context->peers.contains(allocation->device);
  return reaches ? nullptr : "use of another device's memory without access to it: ";
}

}  // namespace
Use::Use(Session& session, char const* what, std::vector<MemoryRange> const& ranges)
    : _session(session), _ranges(ranges) {
  std::lock_guard const guard(session.lock);
  for (MemoryRange const& range : ranges) {
    if (!range.allocation) continue;
    if (range.allocation->is_freed) {
      session.violation(words(what, ": use after free of ", session.memory.describe(range.address)));
    } else if (!range.allocation->is_ready) {
      session.violation(words(what, ": use before the allocation, in the order of streams, of ",
                              session.memory.describe(range.address)));
    }
    ++range.allocation->in_use;
  }
}

Use::~Use() {
  std::lock_guard const guard(_session.lock);
  for (MemoryRange const& range : _ranges)
    if (range.allocation) --range.allocation->in_use;
}

}  // namespace simulated

void* testing::detail::reachable(void const* pointer) noexcept {
  simulated::Hidden const hidden;
  auto const address = reinterpret_cast<std::uintptr_t>(pointer);
  simulated::GuardedRange const* const range = simulated::find_guarded(address);
  if (!range) return const_cast<void*>(pointer);
  std::byte* const reached = range->reach + (address - range->begin);
  if (auto const session = simulated::find_session(range->session)) {
    std::lock_guard const guard(session->lock);
    if (char const* const why = simulated::refusal(*session, address))
      session->violation(simulated::words("kernel: ", why, session->memory.describe(address)));
  }
  return reached;
}

}  // namespace memarray
