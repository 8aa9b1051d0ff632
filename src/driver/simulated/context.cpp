#include "context.hpp"

#include "handle_table.hpp"
#include "session.hpp"
#include "session_registry.hpp"

namespace memarray::simulated {
namespace {

constexpr int most = 64;
// Trivially destroyed: handles are also dropped while threads exit.
thread_local cu::Context entries[most];
thread_local int depth = 0;

}  // namespace

bool ContextStack::push(cu::Context context) noexcept {
  if (depth == most) return false;
  entries[depth++] = context;
  return true;
}

void ContextStack::pop() noexcept {
  if (depth > 0) --depth;
}

cu::Context ContextStack::top() noexcept { return depth > 0 ? entries[depth - 1] : nullptr; }

bool ContextStack::drop_dead() {
  auto const parts = decode(top());
  if (!parts) return false;
  if (auto const session = find_session(parts->session); session && !session->is_retired()) return false;
  pop();
  return true;
}

}  // namespace memarray::simulated
