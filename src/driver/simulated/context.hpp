#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "stream.hpp"

namespace memarray::simulated {

struct Context {
  cu::Context handle = nullptr;
  int device = 0;
  bool is_primary = false;
  std::int64_t references = 1;  // retain count of a primary context
  std::string site;
  cu::Result error = 0;  // after a kernel failed: the result of all calls but those that free
  std::set<int> peers;   // devices with memory that it can access
  // The default streams, created on first use.
  std::shared_ptr<Stream> legacy;
  std::unordered_map<std::thread::id, std::shared_ptr<Stream>> per_thread;
  // Completions of destroyed streams' work. Separate: those that the legacy stream has not waited for yet.
  std::vector<std::shared_ptr<Completion>> draining;
  std::vector<std::shared_ptr<Completion>> draining_blocking;
};

/// Each thread's stack of contexts. It holds handles, because a context may be destroyed while it is on a stack.
class ContextStack {
 public:
  [[nodiscard]] static bool push(cu::Context context) noexcept;
  static void pop() noexcept;
  [[nodiscard]] static cu::Context top() noexcept;  // null: none
  /// Pops the current context if its session has ended. Returns false if it has not.
  [[nodiscard]] static bool drop_dead();
};

}  // namespace memarray::simulated
