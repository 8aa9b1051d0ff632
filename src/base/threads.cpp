#include <memarray/base/threads.hpp>

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <memarray/base/options.hpp>
#include <memarray/detail/base/fork.hpp>

namespace memarray {
namespace {

void pause_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins for longer than the gap between the loops of a time step, but too briefly to disturb other processes.
constexpr int spins = 2000;

class Pool {
 public:
  explicit Pool(std::uint32_t generation) noexcept : generation(generation) {}

  std::uint32_t const generation;

  /// Runs a loop and returns true. Returns false, without running it, while another loop runs.
  bool run(int width, std::int64_t chunks, void (*call)(void*, std::int64_t), void* context) {
    if (_busy.exchange(true, std::memory_order_acquire)) {
      return false;
    }
    resize(static_cast<std::size_t>(width) - 1);
    _call = call;
    _context = context;
    _chunks = chunks;
    _failure = nullptr;
    _failed.store(false, std::memory_order_relaxed);
    _next.store(0, std::memory_order_relaxed);
    open(chunks);
    work();
    close();
    std::exception_ptr const failure = std::exchange(_failure, nullptr);
    _busy.store(false, std::memory_order_release);
    if (failure) {
      std::rethrow_exception(failure);
    }
    return true;
  }

 private:
  // The gate: [loop number: 15 bits][open: 1][workers inside: 16]. The caller may touch the loop's data while the gate
  // is shut with no worker inside; workers may while they are inside. A loop number that wraps around makes one worker
  // miss one loop at most. Changes with a notification are sequentially consistent: the notification first checks for
  // waiters and must not do so before the change is visible.
  static constexpr std::uint32_t inside = 0xFFFF;
  static constexpr std::uint32_t is_open = 0x10000;
  static constexpr std::uint32_t loop = 0x20000;

  void open(std::int64_t chunks) noexcept {
    std::uint32_t const number = (_gate.load(std::memory_order_relaxed) & ~(loop - 1)) + loop;
    _gate.store(number | is_open, std::memory_order_seq_cst);
    if (chunks > static_cast<std::int64_t>(_workers.size())) {
      _gate.notify_all();
    } else {
      for (std::int64_t helper = 1; helper < chunks; ++helper) {
        _gate.notify_one();
      }
    }
  }

  void close() noexcept {
    std::uint32_t gate = _gate.fetch_and(~is_open, std::memory_order_acq_rel) & ~is_open;
    for (int spin = 0; (gate & inside) != 0; ++spin) {
      spin < spins ? pause_cpu() : _gate.wait(gate, std::memory_order_relaxed);
      gate = _gate.load(std::memory_order_acquire);
    }
  }

  void work() noexcept {
    for (;;) {
      std::int64_t const chunk = _next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= _chunks) {
        return;
      }
      try {
        _call(_context, chunk);
      } catch (...) {
        if (!_failed.exchange(true, std::memory_order_relaxed)) {
          _failure = std::current_exception();
        }
        _next.store(_chunks, std::memory_order_relaxed);
      }
    }
  }

  void serve(std::size_t index) noexcept {
    std::uint32_t seen = 0;
    for (int spin = 0;;) {
      std::uint32_t gate = _gate.load(std::memory_order_acquire);
      if (index >= _wanted.load(std::memory_order_relaxed)) {
        return;
      }
      std::uint32_t const number = gate & ~(loop - 1);
      if ((gate & is_open) == 0 || number == seen) {
        spin < spins ? pause_cpu() : _gate.wait(gate, std::memory_order_relaxed);
        ++spin;
        continue;
      }
      if (_gate.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
        work();
        if (((_gate.fetch_sub(1, std::memory_order_seq_cst) - 1) & (is_open | inside)) == 0) {
          _gate.notify_all();
        }
        seen = number;
        spin = 0;
      }
    }
  }

  void resize(std::size_t workers) {
    if (workers < _workers.size()) {
      _wanted.store(workers, std::memory_order_relaxed);
      _gate.fetch_add(loop, std::memory_order_seq_cst);
      _gate.notify_all();
      for (std::size_t i = workers; i < _workers.size(); ++i) {
        _workers[i].join();
      }
      _workers.resize(workers);
    }
    if (workers > _workers.size()) {
      grow(workers);
    }
  }

  // If the system refuses threads, continues with fewer. Workers block all signals, which are for the program's
  // threads.
  void grow(std::size_t workers) noexcept {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    _wanted.store(workers, std::memory_order_relaxed);
    try {
      _workers.reserve(workers);
      while (_workers.size() < workers) {
        _workers.emplace_back([this, index = _workers.size()] { serve(index); });
      }
    } catch (std::exception const&) {
      _wanted.store(_workers.size(), std::memory_order_relaxed);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  std::atomic<bool> _busy{false};
  std::vector<std::thread> _workers;
  void (*_call)(void*, std::int64_t) = nullptr;
  void* _context = nullptr;
  std::int64_t _chunks = 0;
  std::exception_ptr _failure;
  std::atomic<bool> _failed{false};
  std::atomic<std::size_t> _wanted{0};
  alignas(64) std::atomic<std::int64_t> _next{0};
  alignas(64) std::atomic<std::uint32_t> _gate{0};
};

std::atomic<Pool*> current{nullptr};

// A forked child has no workers, and its copy of the pool may be in any state, so it creates a new pool. Pools are
// never destroyed, because their threads never end.
Pool& pool() {
  Pool* known = current.load(std::memory_order_acquire);
  while (known == nullptr || known->generation != fork_generation()) {
    Pool* const fresh = new Pool(fork_generation());
    if (current.compare_exchange_strong(known, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) {
      return *fresh;
    }
    delete fresh;
  }
  return *known;
}

constexpr int most_threads = 1024;

}  // namespace

int threads() noexcept {
  int const chosen = options().threads.load(std::memory_order_relaxed);
  if (chosen > 0) {
    return std::min(chosen, most_threads);
  }
  // Queried each time, as the process's CPUs may change. The query is short compared with any loop worth threads.
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  int const count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0
                        ? CPU_COUNT(&cpus)
                        : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(count, 1, most_threads);
}

std::int64_t parallel_chunks(std::size_t bytes) noexcept {
  constexpr std::size_t worth_a_thread = std::size_t{1} << 20;
  constexpr std::size_t smallest_chunk = std::size_t{1} << 18;
  if (bytes < worth_a_thread) {
    return 1;
  }
  int const width = threads();
  if (width == 1) {
    return 1;
  }
  // Several chunks per thread, so that a late or slow thread leaves little to wait for.
  return static_cast<std::int64_t>(std::min(bytes / smallest_chunk, static_cast<std::size_t>(width) * 8));
}

void parallel_for(std::int64_t chunks, void (*call)(void*, std::int64_t), void* context) {
  if (chunks > 1) {
    int const width = threads();
    if (width > 1 && pool().run(width, chunks, call, context)) {
      return;
    }
  }
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    call(context, chunk);
  }
}

}  // namespace memarray
