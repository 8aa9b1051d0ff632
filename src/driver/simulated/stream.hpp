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

/// One entry of a stream's queue.
struct Operation {
  std::function<void()> work;                      // none: it only orders
  std::vector<std::shared_ptr<Completion>> after;  // what it waits for, beyond its stream's own order
  bool takes_time = false;                         // a copy or a kernel, which a session's delay makes longer
};

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

  /// Starts the thread, which keeps the session and the stream until `end`. Throws `std::system_error`.
  static void start(std::shared_ptr<Session> session, std::shared_ptr<Stream> stream);
  /// The next work of the stream. Callers hold the session's lock.
  std::shared_ptr<Completion> submit(Operation operation);
  /// The end of all work so far; null before any. Under the session's lock.
  [[nodiscard]] std::shared_ptr<Completion> const& last() const noexcept { return _last; }
  /// No work comes after that which there is; the thread ends when it is done.
  void end();

  /// What the legacy stream (for that one: nobody) last waited for in this, and this in the legacy stream.
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

/// The stream whose work the calling thread runs; null on the program's own threads.
[[nodiscard]] Stream const* running_stream() noexcept;
[[nodiscard]] Session* running_session() noexcept;
/// While it lives, the stream's thread runs code of the program, which the sanitizer sees and which may not call the
/// driver.
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
