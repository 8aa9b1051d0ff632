#pragma once

#include <memarray/base/cuda_code.hpp>
#include <memarray/driver/simulated_devices.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "context.hpp"
#include "event.hpp"
#include "handle_table.hpp"
#include "injection.hpp"
#include "lock.hpp"
#include "memory.hpp"

namespace memarray::simulated {

/// The state of one block of simulated devices. Exists while the block, a resource or a stream's thread does.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// Throws like `SimulatedDevices`.
  [[nodiscard]] static std::shared_ptr<Session> make(testing::SimulatedOptions const& options);
  ~Session();

  std::uint32_t const number;
  std::uint32_t const generation;
  testing::SimulatedOptions const options;
  DriverTable const* const table;
  Injection injection;

  /// Guards the members below.
  Lock lock;
  TouchLog touches;
  Memory memory;
  Handles<Context, cu::Context> contexts;
  Handles<Stream, cu::Stream> streams;  // created ones
  Handles<Event, cu::Event> events;
  Handles<Pool, cu::MemoryPool> pools;  // default pools only once requested

  [[nodiscard]] bool has_device(int device) const noexcept { return device >= 0 && device < options.count; }

  /// Uses a lock of its own.
  void violation(std::string words);
  [[nodiscard]] std::vector<std::string> violations() const;
  void note_wait(std::size_t function);
  [[nodiscard]] std::vector<std::string> waits() const;
  // Callers hold the lock.
  [[nodiscard]] testing::LiveResources live() const;
  [[nodiscard]] std::vector<std::string> live_resources() const;

  [[nodiscard]] std::chrono::nanoseconds delay() const noexcept {
    return std::chrono::nanoseconds(_delay.load(std::memory_order_relaxed));
  }
  void set_delay(std::chrono::nanoseconds each) noexcept { _delay.store(each.count(), std::memory_order_relaxed); }

  // Callers hold the lock. A null result leaves the code in `error`. An unknown handle is a violation.
  [[nodiscard]] std::shared_ptr<Context> current(std::size_t function, cu::Result& error);
  [[nodiscard]] std::shared_ptr<Context> context(cu::Context handle, std::size_t function, cu::Result& error);
  [[nodiscard]] std::shared_ptr<Stream> stream(cu::Stream handle, std::size_t function, cu::Result& error);
  /// Like `current` and `stream`, but fail after a failed kernel in the context.
  [[nodiscard]] std::shared_ptr<Context> working_context(std::size_t function, cu::Result& error);
  [[nodiscard]] std::shared_ptr<Stream> working_stream(cu::Stream handle, std::size_t function, cu::Result& error);
  /// Returns the error of the context's failed kernel.
  [[nodiscard]] cu::Result state_of(cu::Context handle) const;
  [[nodiscard]] std::shared_ptr<Event> event(cu::Event handle, std::size_t function, cu::Result& error);
  [[nodiscard]] std::shared_ptr<Pool> pool(cu::MemoryPool handle, std::size_t function, cu::Result& error);
  std::shared_ptr<Stream> start_stream(Context& context, Stream::Kind kind, unsigned flags, int priority);
  /// Adds the dependencies of default streams.
  std::shared_ptr<Completion> submit(Stream& stream, Operation operation);
  /// Returns the completions of all work in contexts that `of` accepts.
  [[nodiscard]] std::vector<std::shared_ptr<Completion>> work(std::function<bool(Context const&)> const& of);
  void end_stream(Context& context, Stream& stream);
  /// The context's work must have completed. Each kind of resource left in it is a violation.
  void destroy(Context& context, std::size_t function);
  /// Trims pools to their release thresholds, like a device at a wait.
  void trim_pools();
  void reclaim(Allocation const& allocation, std::shared_ptr<Freeing> freeing);

  // Without the lock.
  void close() noexcept;   // the block has ended
  void retire() noexcept;  // frees everything if closed, without live resources and threads
  [[nodiscard]] bool is_retired() const noexcept { return _is_retired.load(std::memory_order_acquire); }
  void begin_thread() noexcept { _threads.fetch_add(1); }
  void end_thread() noexcept { _threads.fetch_sub(1); }

 private:
  Session(testing::SimulatedOptions const& options, std::uint32_t number);

  template <typename T, typename Handle>
  std::shared_ptr<T> known(Handles<T, Handle> const& handles, Handle handle, char const* kind, std::size_t function);

  std::atomic<std::int64_t> _delay{0};
  std::atomic<bool> _is_closed{false};
  std::atomic<bool> _is_retired{false};
  std::atomic<int> _threads{0};
  mutable Lock _words_lock;
  std::vector<std::pair<std::uint64_t, std::string>> _violations;
  std::vector<std::string> _waits;
  std::shared_ptr<Session> _self;
};

inline void wait(std::vector<std::shared_ptr<Completion>> const& work) noexcept {
  for (auto const& completion : work) completion->wait();
}

template <typename... Parts>
[[nodiscard]] std::string words(Parts const&... parts) {
  std::ostringstream joined;
  (joined << ... << parts);
  return joined.str();
}

}  // namespace memarray::simulated
