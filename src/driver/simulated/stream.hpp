#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "completion.hpp"
#include "lock.hpp"

namespace memarray::simulated {

class Session;
struct Context;

struct Operation {
  std::function<void()> work;                      // empty: only orders
  std::vector<std::shared_ptr<Completion>> after;  // waits for these, besides stream order
  bool takes_time = false;                         // prolonged by the session's delay
};

/// The most urgent priority; 0 is the least.
inline constexpr int greatest_priority = -5;

/// A queue and the thread that runs it.
class Stream {
 public:
  enum class Kind { legacy, blocking, nonblocking };

  Stream(cu::Stream handle, Context& context, Kind kind, unsigned flags, int priority);

  cu::Stream const handle;
  cu::Context const context;
  int const device;
  Kind const kind;
  unsigned const flags;
  int const priority;
  std::string const site;

  /// Starts the thread, which keeps the session and the stream alive until `end`. Throws `std::system_error`.
  static void start(std::shared_ptr<Session> session, std::shared_ptr<Stream> stream);
  /// Callers hold the session's lock, also for `last`.
  std::shared_ptr<Completion> submit(Operation operation);
  /// Returns the completion of all work so far; null if none.
  [[nodiscard]] std::shared_ptr<Completion> const& last() const noexcept { return _last; }
  /// Ends the thread after the work so far. Nothing may be submitted later.
  void end();

  /// The last work of this stream that the legacy stream waits for, and the reverse.
  std::shared_ptr<Completion> seen_by_legacy;
  std::shared_ptr<Completion> seen_of_legacy;

 private:
  struct Entry {
    Operation operation;
    std::shared_ptr<Completion> completion;
    std::unique_ptr<Edge> submitted = std::make_unique<Edge>();
  };

  void push(Entry entry);
  [[nodiscard]] Entry next();
  void run(Session& session);

  std::shared_ptr<Completion> _last;
  Lock _lock;
  std::deque<Entry> _queue;
  std::atomic<std::uint32_t> _pushed{0};
};

/// Returns the stream whose work the thread runs, or null.
[[nodiscard]] Stream const* running_stream() noexcept;
[[nodiscard]] Session* running_session() noexcept;
/// A scope in which a stream's thread runs the program's code: visible to the sanitizer, without driver calls.
class ProgramCode {
 public:
  ProgramCode() noexcept;
  ~ProgramCode();
  ProgramCode(ProgramCode const&) = delete;
  ProgramCode& operator=(ProgramCode const&) = delete;
  [[nodiscard]] static bool runs() noexcept;

 private:
  Visible _visible;
};

}  // namespace memarray::simulated
