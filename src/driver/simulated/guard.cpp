#include "guard.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <system_error>

#include "lock.hpp"

namespace memarray::simulated {
namespace {

struct Slot {
  enum State : std::uint32_t { empty, changing, full };
  std::atomic<std::uint32_t> state{empty};
  // Read without a lock: the range must not be used after `unguard`.
  GuardedRange range;
};

constinit std::array<Slot, 256> slots{};
constinit std::atomic<std::size_t> slots_used{0};
constinit std::atomic<std::uint64_t> order{0};

struct sigaction previous;

// Text that a signal handler may compose.
class Words {
 public:
  Words& operator<<(char const* text) noexcept {
    while (*text != '\0' && _length + 1 < sizeof _text) _text[_length++] = *text++;
    _text[_length] = '\0';
    return *this;
  }
  Words& operator<<(std::uint64_t number) noexcept { return add(number, 10); }
  Words& hex(std::uint64_t number) noexcept {
    *this << "0x";
    return add(number, 16);
  }
  [[nodiscard]] char const* text() const noexcept { return _text; }

 private:
  Words& add(std::uint64_t number, unsigned base) noexcept {
    char digits[24];
    char* digit = digits + sizeof digits;
    *--digit = '\0';
    do {
      *--digit = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    return *this << digit;
  }

  char _text[320] = {};
  std::size_t _length = 0;
};

char const* kind_of_access([[maybe_unused]] void const* context) noexcept {
#if defined(__x86_64__)
  auto const error = static_cast<ucontext_t const*>(context)->uc_mcontext.gregs[REG_ERR];
  return (error & 2) != 0 ? "write to " : "read of ";
#else
  return "touch of ";
#endif
}

void report(GuardedRange const& range, std::uintptr_t address, void const* context) noexcept {
  Words words;
  words << "host touch of simulated device memory: " << kind_of_access(context);
  words.hex(address) << " on device " << static_cast<std::uint64_t>(range.device) << ", ";
  if (AllocationTable::Record const* const found = range.allocations->find(address)) {
    words << address - found->begin.load(std::memory_order_relaxed) << " bytes into " << found->bytes << " allocated";
    if (found->site[0] != '\0') words << " at " << found->site;
  } else {
    words << "in no allocation";
  }
  range.log->add(words.text());
  Words line;
  line << "memarray: " << words.text() << "\n";
  [[maybe_unused]] auto const written = write(STDERR_FILENO, line.text(), std::strlen(line.text()));
}

void call_previous(int signal, siginfo_t* info, void* context) noexcept {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    // After a fault, the instruction runs again and ends the process. A sent signal does not recur.
    sigaction(SIGSEGV, &previous, nullptr);
    if (info->si_code <= 0) raise(signal);
  }
}

void handle(int signal, siginfo_t* info, void* context) {
  int const saved = errno;
  auto const address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  GuardedRange const* const range = info->si_code > 0 ? find_guarded(address) : nullptr;
  if (!range) {
    call_previous(signal, info, context);
  } else {
    report(*range, address, context);
    if (!range->go_on ||
        mprotect(reinterpret_cast<void*>(range->begin), range->end - range->begin, PROT_READ | PROT_WRITE) != 0) {
      sigaction(SIGSEGV, &previous, nullptr);
    }
  }
  errno = saved;
}

// The handler is never removed: other handlers may chain to it.
void install() {
  static Lock lock;
  static bool is_installed = false;
  std::lock_guard const guard(lock);
  if (is_installed) return;
  struct sigaction action{};
  action.sa_sigaction = handle;
  // SA_NODEFER: a fault in the previous handler is delivered.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  if (sigaction(SIGSEGV, nullptr, &previous) != 0 || sigaction(SIGSEGV, &action, nullptr) != 0)
    throw std::system_error(errno, std::system_category(), "simulated devices: sigaction");
  is_installed = true;
}

}  // namespace

std::uint64_t next_in_order() noexcept { return order.fetch_add(1, std::memory_order_relaxed) + 1; }

void TouchLog::add(char const* words) noexcept {
  std::size_t const number = _count.fetch_add(1, std::memory_order_relaxed);
  if (number >= _touches.size()) return;
  Touch& touch = _touches[number];
  std::memcpy(touch.words, words, std::min(std::strlen(words), sizeof touch.words - 1));
  touch.order.store(next_in_order(), std::memory_order_release);
}

std::vector<std::pair<std::uint64_t, std::string>> TouchLog::touches() const {
  std::vector<std::pair<std::uint64_t, std::string>> all;
  for (Touch const& touch : _touches)
    if (std::uint64_t const number = touch.order.load(std::memory_order_acquire)) all.emplace_back(number, touch.words);
  return all;
}

AllocationTable::AllocationTable(std::size_t capacity)
    : _capacity(capacity),
      // Pages are committed only when used.
      _records(static_cast<Record*>(mmap(nullptr, capacity * sizeof(Record), PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
  if (_records == MAP_FAILED) throw std::system_error(errno, std::system_category(), "simulated devices: mmap");
}

AllocationTable::~AllocationTable() { munmap(_records, _capacity * sizeof(Record)); }

std::size_t AllocationTable::add(std::uintptr_t begin, std::size_t bytes, char const* site) {
  std::size_t number = _used.load(std::memory_order_relaxed);
  if (_removed.empty()) {
    _removed.reserve(number + 1);
    _used.store(number + 1, std::memory_order_release);
  } else {
    number = _removed.back();
    _removed.pop_back();
  }
  Record& record = _records[number];
  record.bytes = bytes;
  std::size_t const length = strnlen(site, sizeof record.site - 1);
  std::memcpy(record.site, site, length);
  record.site[length] = '\0';
  record.begin.store(begin, std::memory_order_release);
  return number;
}

void AllocationTable::remove(std::size_t number) {
  _records[number].begin.store(0, std::memory_order_release);
  _removed.push_back(number);
}

AllocationTable::Record const* AllocationTable::find(std::uintptr_t address) const noexcept {
  std::size_t const used = _used.load(std::memory_order_acquire);
  for (Record const* record = _records; record != _records + used; ++record) {
    std::uintptr_t const begin = record->begin.load(std::memory_order_acquire);
    if (begin != 0 && address >= begin && address - begin < record->bytes) return record;
  }
  return nullptr;
}

std::size_t guard(GuardedRange const& range) {
  install();
  for (Slot& slot : slots) {
    std::uint32_t expected = Slot::empty;
    if (!slot.state.compare_exchange_strong(expected, Slot::changing, std::memory_order_acquire)) continue;
    slot.range = range;
    slot.state.store(Slot::full, std::memory_order_release);
    auto const number = static_cast<std::size_t>(&slot - slots.data());
    std::size_t used = slots_used.load(std::memory_order_relaxed);
    while (used <= number && !slots_used.compare_exchange_weak(used, number + 1, std::memory_order_release)) {
    }
    return number;
  }
  throw std::system_error(ENOMEM, std::system_category(), "too many simulated devices at once");
}

void unguard(std::size_t number) noexcept { slots[number].state.store(Slot::empty, std::memory_order_release); }

GuardedRange const* find_guarded(std::uintptr_t address) noexcept {
  std::size_t const used = slots_used.load(std::memory_order_acquire);
  for (std::size_t number = 0; number < used; ++number) {
    Slot const& slot = slots[number];
    if (slot.state.load(std::memory_order_acquire) != Slot::full) continue;
    if (address >= slot.range.begin && address < slot.range.end) return &slot.range;
  }
  return nullptr;
}

}  // namespace memarray::simulated
