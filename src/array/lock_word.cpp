#include <memarray/array/lock_word.hpp>
#include <memarray/base/fork.hpp>
#include <memarray/base/hooks.hpp>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace memarray::detail {
namespace {

constexpr int spins = 64;
constexpr int yields = 16;
// The longest a waiter sleeps before it looks at signals.
constexpr std::chrono::nanoseconds slice = std::chrono::milliseconds(20);

void futex_wait(std::atomic<std::uint32_t>& epoch, std::uint32_t seen, std::chrono::nanoseconds for_at_most) noexcept {
  static_assert(sizeof(epoch) == sizeof(std::uint32_t));
  timespec const limit{static_cast<std::time_t>(for_at_most.count() / 1'000'000'000),
                       static_cast<long>(for_at_most.count() % 1'000'000'000)};
  ::syscall(SYS_futex, &epoch, FUTEX_WAIT_PRIVATE, seen, &limit, nullptr, 0);
}

/// A count whose high half is the process that it was counted in: threads that waited in a parent do not exist here, so
/// what they counted is worth nothing.
constexpr std::uint64_t one_generation = std::uint64_t{1} << 32;

constexpr bool is_of(std::uint64_t count, std::uint32_t generation) noexcept {
  return count / one_generation == generation;
}

class Counted {
 public:
  explicit Counted(std::atomic<std::uint64_t>& count) noexcept : _count(count), _generation(fork_generation()) {
    std::uint64_t const first = _generation * one_generation + 1;
    std::uint64_t seen = _count.load(std::memory_order_relaxed);
    while (
        !_count.compare_exchange_weak(seen, is_of(seen, _generation) ? seen + 1 : first, std::memory_order_seq_cst)) {
    }
  }
  ~Counted() {
    std::uint64_t seen = _count.load(std::memory_order_relaxed);
    while (is_of(seen, _generation) && !_count.compare_exchange_weak(seen, seen - 1, std::memory_order_seq_cst)) {
    }
  }
  Counted(Counted const&) = delete;
  Counted& operator=(Counted const&) = delete;

 private:
  std::atomic<std::uint64_t>& _count;
  std::uint32_t _generation;
};

}  // namespace

template <class Try>
bool LockWord::wait(Timeout timeout, Try const& attempt) {
  if (timeout && *timeout <= no_wait) return false;
  Deadline const deadline(timeout);
  RuntimeRelease released;
  for (int i = 0; i < spins + yields; ++i) {
    if (attempt()) return true;
    if (i >= spins) ::sched_yield();
  }
  for (;;) {
    // Marked before the look at the word, so that whoever frees it after that look sees a sleeper to wake.
    std::uint32_t const seen = _epoch.load(std::memory_order_seq_cst);
    _bits.fetch_or(sleepers, std::memory_order_seq_cst);
    if (attempt()) return true;
    Timeout const rest = deadline.rest();
    if (rest && *rest <= no_wait) return false;
    futex_wait(_epoch, seen, std::min(slice, rest.value_or(slice)));
    released.poll_signals();
  }
}

bool LockWord::wait_shared(Timeout timeout, bool past_writers) {
  // Another reader's exclusive moment is no conflict: it is waited out even by those who would not wait.
  while (ends_soon(load())) {
    if (wait_settled() && try_lock_shared(past_writers)) return true;
  }
  if (try_lock_shared(past_writers)) return true;
  return wait(timeout, [&] { return try_lock_shared(past_writers); });
}

bool LockWord::wait_settled() {
  return wait(std::chrono::milliseconds(1), [&] { return !ends_soon(load()); });
}

bool LockWord::wait_exclusive(std::int64_t id, Timeout timeout) {
  if (timeout && *timeout <= no_wait) return false;
  // Readers that were held back for a writer that gave up must hear of it, after it is uncounted.
  struct Wake {
    LockWord& word;
    bool taken = false;
    ~Wake() {
      if (!taken) word.wake_sleepers();
    }
  } wake{*this};
  Counted const writer(_waiting_writers);
  return wake.taken = wait(timeout, [&] { return try_lock_exclusive(id); });
}

bool LockWord::waiters_are_of_this_process() const noexcept {
  return is_of(_waiting_writers.load(std::memory_order_relaxed), fork_generation());
}

bool LockWord::give_and_wake(std::uint64_t hold, With with) noexcept {
  _bits.fetch_sub(hold, std::memory_order_seq_cst);
  wake_sleepers();
  return with == With::reference && release();
}

void LockWord::wake_sleepers() noexcept {
  _bits.fetch_and(~sleepers, std::memory_order_seq_cst);
  _epoch.fetch_add(1, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &_epoch, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace memarray::detail
