#include "stream.hpp"

#include <pthread.h>
#include <signal.h>

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "context.hpp"
#include "session.hpp"
#include "site.hpp"

namespace memarray::simulated {
namespace {

thread_local Stream const* stream_here = nullptr;
thread_local Session* session_here = nullptr;
thread_local bool program_runs_here = false;

// A scope that leaves signals to the program's threads. Faults always go to the thread that caused them.
class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int const fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &_before);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &_before, nullptr); }
  BlockedSignals(BlockedSignals const&) = delete;
  BlockedSignals& operator=(BlockedSignals const&) = delete;

 private:
  sigset_t _before;
};

}  // namespace

Stream const* running_stream() noexcept { return stream_here; }
Session* running_session() noexcept { return session_here; }

ProgramCode::ProgramCode() noexcept { program_runs_here = true; }
ProgramCode::~ProgramCode() { program_runs_here = false; }
bool ProgramCode::runs() noexcept { return program_runs_here; }

Stream::Stream(cu::Stream handle, Context& context, Kind kind, unsigned flags, int priority)
    : handle(handle),
      context(context.handle),
      device(context.device),
      kind(kind),
      flags(flags),
      priority(priority),
      site(current_site()) {}

void Stream::start(std::shared_ptr<Session> session, std::shared_ptr<Stream> stream) {
  BlockedSignals const blocked;
  Session& counted = *session;
  counted.begin_thread();
  try {
    std::thread([session = std::move(session), stream = std::move(stream)]() mutable {
      Hidden const hidden;
      stream->run(*session);
      stream.reset();
      session->end_thread();
      session->retire();
      session.reset();
    }).detach();
  } catch (...) {
    counted.end_thread();
    throw;
  }
}

std::shared_ptr<Completion> Stream::submit(Operation operation) {
  auto completion = std::make_shared<Completion>();
  push({std::move(operation), completion});
  return _last = completion;
}

void Stream::end() { push({}); }

void Stream::push(Entry entry) {
  entry.submitted->leave();
  {
    std::lock_guard const guard(_lock);
    _queue.push_back(std::move(entry));
  }
  _pushed.fetch_add(1, std::memory_order_seq_cst);
  _pushed.notify_one();
}

Stream::Entry Stream::next() {
  for (;;) {
    std::uint32_t const seen = _pushed.load(std::memory_order_acquire);
    {
      std::lock_guard const guard(_lock);
      if (!_queue.empty()) {
        Entry entry = std::move(_queue.front());
        _queue.pop_front();
        return entry;
      }
    }
    _pushed.wait(seen, std::memory_order_acquire);
  }
}

void Stream::run(Session& session) {
  stream_here = this;
  session_here = &session;
  for (;;) {
    Entry entry = next();
    entry.submitted->arrive();
    if (!entry.completion) return;
    for (auto const& completion : entry.operation.after) completion->wait();
    if (entry.operation.takes_time)
      if (auto const delay = session.delay(); delay.count() > 0) std::this_thread::sleep_for(delay);
    if (entry.operation.work) entry.operation.work();
    // Releases the work's resources before its completion is visible.
    entry.operation = {};
    entry.completion->finish();
  }
}

}  // namespace memarray::simulated
