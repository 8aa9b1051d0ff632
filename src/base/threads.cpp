#include "loop_pool.hpp"
#include "ticks.hpp"

#include <memarray/base/options.hpp>
#include <memarray/base/threads.hpp>
#include <memarray/detail/base/fork.hpp>

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace memarray {
namespace {

using detail::most_threads;

void pause_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// An active wait of at most 100 µs, longer than the gap between a time step's loops.
class ActiveWait {
 public:
  [[nodiscard]] bool again() noexcept {
    for (int i = 0; i < 4; ++i) pause_cpu();
    if (++_rounds % 16 == 0) sched_yield();
    return detail::ticks() - _start < 100 * detail::ticks_of_microsecond();
  }

 private:
  unsigned _rounds = 0;
  std::uint64_t _start = detail::ticks();
};

int count_cpus() noexcept {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  int const count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0
                        ? CPU_COUNT(&cpus)
                        : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(count, 1, most_threads);
}

// An answer holds for 10 ms: a query takes as long as a short loop.
int cpus_of_process() noexcept {
  static std::atomic<std::uint64_t> queried{0};
  static std::atomic<int> known{0};
  std::uint64_t const now = detail::ticks();
  int count = known.load(std::memory_order_relaxed);
  if (count == 0 || now - queried.load(std::memory_order_relaxed) > 10'000 * detail::ticks_of_microsecond()) {
    count = count_cpus();
    known.store(count, std::memory_order_relaxed);
    queried.store(now, std::memory_order_relaxed);
  }
  return count;
}

// Returns 0 if MEMARRAY_THREADS is unset or invalid.
int threads_of_environment() noexcept {
  static int const chosen = [] {
    char const* const text = std::getenv("MEMARRAY_THREADS");
    if (text == nullptr) return 0;
    std::string_view const word(text);
    int number = 0;
    auto const [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (failure == std::errc() && end == word.data() + word.size() && number >= 1) return number;
    std::fprintf(stderr, "memarray: MEMARRAY_THREADS=%s is ignored; it must be an integer of at least 1\n", text);
    return 0;
  }();
  return chosen;
}

class Pool {
 public:
  explicit Pool(std::uint32_t generation) noexcept : generation(generation) {}

  std::uint32_t const generation;

  [[nodiscard]] bool is_awake() const noexcept { return _awake.load(std::memory_order_relaxed) > 0; }

  /// Returns false at once while another loop runs, or without memory.
  bool run(int width, std::int64_t chunks, void (*call)(void*, std::int64_t), void* context) {
    if (_busy.exchange(true, std::memory_order_acquire)) return false;
    if (!prepare(width)) {
      _busy.store(false, std::memory_order_release);
      return false;
    }
    _call = call;
    _context = context;
    _failure = nullptr;
    _failed.store(false, std::memory_order_relaxed);
    for (std::int64_t t = 0; t < width; ++t) {
      Part& part = _parts[static_cast<std::size_t>(t)];
      part.next.store(detail::begin_of_part(chunks, width, t), std::memory_order_relaxed);
      part.end = detail::begin_of_part(chunks, width, t + 1);
    }
    open();
    work(0);
    close();
    std::exception_ptr const failure = std::exchange(_failure, nullptr);
    _busy.store(false, std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
    return true;
  }

 private:
  /// The chunks with which a thread begins.
  struct alignas(64) Part {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  // `_gate`: [loop number: 15 bits][open: 1][workers inside: 16]. The caller changes the loop's data only while the
  // gate is shut and no worker is inside. A wrapped loop number makes a worker miss at most one loop. Changes of the
  // gate and the checks for sleepers that follow are sequentially consistent.
  static constexpr std::uint32_t inside = 0xFFFF;
  static constexpr std::uint32_t is_open = 0x10000;
  static constexpr std::uint32_t loop = 0x20000;

  void open() noexcept {
    std::uint32_t const number = (_gate.load(std::memory_order_relaxed) & ~(loop - 1)) + loop;
    _gate.store(number | is_open, std::memory_order_seq_cst);
    if (_awake.load(std::memory_order_seq_cst) + 1 < _width.load(std::memory_order_relaxed)) _gate.notify_all();
  }

  void close() noexcept {
    std::uint32_t gate = _gate.fetch_and(~is_open, std::memory_order_acq_rel) & ~is_open;
    if ((gate & inside) == 0) return;
    for (ActiveWait wait; (gate & inside) != 0; gate = _gate.load(std::memory_order_acquire)) {
      if (wait.again()) continue;
      _caller_sleeps.store(true, std::memory_order_seq_cst);
      gate = _gate.load(std::memory_order_seq_cst);
      if ((gate & inside) != 0) _gate.wait(gate, std::memory_order_relaxed);
      _caller_sleeps.store(false, std::memory_order_relaxed);
    }
  }

  void work(std::size_t thread) noexcept {
    auto const width = static_cast<std::size_t>(_width.load(std::memory_order_relaxed));
    for (std::size_t k = 0; k < width; ++k) {
      Part& part = _parts[(thread + k) % width];
      while (part.next.load(std::memory_order_relaxed) < part.end) {
        std::int64_t const chunk = part.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= part.end || _failed.load(std::memory_order_relaxed)) break;
        try {
          _call(_context, chunk);
        } catch (...) {
          if (!_failed.exchange(true, std::memory_order_relaxed)) _failure = std::current_exception();
        }
      }
    }
  }

  // `thread`: from 1; the caller of a loop is 0.
  void serve(int thread) noexcept {
    std::uint32_t seen = 0;
    bool is_awake = false;
    for (ActiveWait wait;;) {
      std::uint32_t gate = _gate.load(std::memory_order_acquire);
      std::uint32_t const number = gate & ~(loop - 1);
      // A stale width is harmless: the gate has changed as well.
      if ((gate & is_open) == 0 || number == seen || thread >= _width.load(std::memory_order_relaxed)) {
        if (is_awake) {
          if (_waits_actively.load(std::memory_order_relaxed) && wait.again()) continue;
          is_awake = false;
          _awake.fetch_sub(1, std::memory_order_seq_cst);
        }
        _gate.wait(gate, std::memory_order_relaxed);
        continue;
      }
      if (!std::exchange(is_awake, true)) _awake.fetch_add(1, std::memory_order_relaxed);
      if (_gate.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
        work(static_cast<std::size_t>(thread));
        std::uint32_t const left = _gate.fetch_sub(1, std::memory_order_seq_cst) - 1;
        if ((left & (is_open | inside)) == 0 && _caller_sleeps.load(std::memory_order_seq_cst)) _gate.notify_all();
        seen = number;
        wait = ActiveWait();
      }
    }
  }

  bool prepare(int width) noexcept {
    if (width != _width.load(std::memory_order_relaxed)) {
      if (static_cast<std::size_t>(width) > _part_count) {
        Part* const parts = new (std::nothrow) Part[static_cast<std::size_t>(width)];
        if (!parts) return false;
        _parts.reset(parts);
        _part_count = static_cast<std::size_t>(width);
      }
      _width.store(width, std::memory_order_relaxed);
    }
    // More threads than CPUs would wait for each other. The process's CPUs may change.
    bool const waits_actively = width <= cpus_of_process();
    if (waits_actively != _waits_actively.load(std::memory_order_relaxed))
      _waits_actively.store(waits_actively, std::memory_order_relaxed);
    if (static_cast<std::size_t>(width) > _workers.size() + 1) grow(static_cast<std::size_t>(width) - 1);
    return true;
  }

  // Continues with fewer threads if refused. Workers block signals, which are for the program's threads.
  void grow(std::size_t workers) noexcept {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      _workers.reserve(workers);
      while (_workers.size() < workers)
        _workers.emplace_back([this, thread = static_cast<int>(_workers.size()) + 1] { serve(thread); });
    } catch (std::exception const&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  std::atomic<bool> _busy{false};
  std::vector<std::thread> _workers;
  void (*_call)(void*, std::int64_t) = nullptr;
  void* _context = nullptr;
  std::unique_ptr<Part[]> _parts;
  std::size_t _part_count = 0;
  std::exception_ptr _failure;
  std::atomic<bool> _failed{false};
  std::atomic<int> _width{0};  // of the loop, with the caller
  std::atomic<bool> _waits_actively{true};
  std::atomic<bool> _caller_sleeps{false};
  alignas(64) std::atomic<int> _awake{0};  // workers that run or wait actively
  alignas(64) std::atomic<std::uint32_t> _gate{0};
};

std::atomic<Pool*> current{nullptr};

// A forked child has no workers and creates a new pool. Never destroyed: its threads never end. Null without memory.
Pool* pool() noexcept {
  Pool* known = current.load(std::memory_order_acquire);
  while (known == nullptr || known->generation != detail::fork_generation()) {
    Pool* const fresh = new (std::nothrow) Pool(detail::fork_generation());
    if (!fresh || current.compare_exchange_strong(known, fresh, std::memory_order_acq_rel, std::memory_order_acquire))
      return fresh;
    delete fresh;
  }
  return known;
}

}  // namespace

int threads() noexcept {
  int chosen = options().threads.load(std::memory_order_relaxed);
  if (chosen <= 0) chosen = threads_of_environment();
  return chosen > 0 ? std::min(chosen, most_threads) : cpus_of_process();
}

std::int64_t parallel_chunks(std::size_t bytes) noexcept {
  constexpr std::size_t smallest_chunk = std::size_t{1} << 18;
  if (bytes < detail::bytes_worth_sharing) return 1;
  int const width = threads();
  if (width == 1) return 1;
  // Several chunks per thread shorten the wait for a slow one.
  return static_cast<std::int64_t>(std::min(bytes / smallest_chunk, static_cast<std::size_t>(width) * 8));
}

void parallel_for(std::int64_t chunks, void (*call)(void*, std::int64_t), void* context) {
  detail::share_loop(chunks > 1 ? threads() : 1, chunks, call, context);
}

std::uint64_t detail::ticks_of_microsecond() noexcept {
  using Clock = std::chrono::steady_clock;
  static std::uint64_t const known = [] {
    auto const start = Clock::now();
    std::uint64_t const first = ticks();
    Clock::duration elapsed{};
    while (elapsed < std::chrono::microseconds(50)) elapsed = Clock::now() - start;
    std::uint64_t const counted = ticks() - first;
    auto const nanoseconds =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
    return std::max<std::uint64_t>(1, counted * 1000 / nanoseconds);
  }();
  return known;
}

bool detail::workers_are_awake() noexcept {
  Pool const* const known = current.load(std::memory_order_acquire);
  return known != nullptr && known->generation == detail::fork_generation() && known->is_awake();
}

void detail::share_loop(int width, std::int64_t chunks, void (*call)(void*, std::int64_t), void* context) {
  width = static_cast<int>(std::min<std::int64_t>(std::min(width, most_threads), chunks));
  Pool* const shared = width > 1 ? pool() : nullptr;
  if (shared && shared->run(width, chunks, call, context)) return;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) call(context, chunk);
}

}  // namespace memarray
