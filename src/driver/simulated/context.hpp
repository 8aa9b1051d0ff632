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
  std::int64_t references = 1;  // to a primary context
  std::string site;
  cu::Result error = 0;  // of a failed kernel, returned by later calls
  std::set<int> peers;   // devices whose memory it can access
  // Default streams, created on first use.
  std::shared_ptr<Stream> legacy;
  std::unordered_map<std::uint64_t, std::shared_ptr<Stream>> per_thread;
  // Work of destroyed streams. The legacy stream has yet to wait for `draining_blocking`.
  std::vector<std::shared_ptr<Completion>> draining;
  std::vector<std::shared_ptr<Completion>> draining_blocking;
};

/// Each thread's stack of current contexts, by handle: they may be destroyed.
class ContextStack {
 public:
  [[nodiscard]] static bool push(cu::Context context) noexcept;
  static void pop() noexcept;
  [[nodiscard]] static cu::Context top() noexcept;
  /// Pops the current context if its session has ended; true if so.
  [[nodiscard]] static bool drop_dead();
};

}  // namespace memarray::simulated
