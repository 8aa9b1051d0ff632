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
  std::int64_t references = 1;  // of a primary context: how often it was retained
  std::string site;
  cu::Result error = 0;  // since a kernel failed: the answer to all but what gives back
  std::set<int> peers;   // devices whose memory it reaches
  // The streams that are not created but are there; made when first used.
  std::shared_ptr<Stream> legacy;
  std::unordered_map<std::thread::id, std::shared_ptr<Stream>> per_thread;
  // Ends of the work of streams that are destroyed; apart: of those that the legacy stream has yet to wait for.
  std::vector<std::shared_ptr<Completion>> draining;
  std::vector<std::shared_ptr<Completion>> draining_blocking;
};

/// Each thread's stack of contexts, as handles: a context may end while it is on one.
class ContextStack {
 public:
  [[nodiscard]] static bool push(cu::Context context) noexcept;
  static void pop() noexcept;
  [[nodiscard]] static cu::Context top() noexcept;  // null: none
  /// Pops what was left current when its session went; false if that is not so.
  [[nodiscard]] static bool drop_dead();
};

}  // namespace memarray::simulated
