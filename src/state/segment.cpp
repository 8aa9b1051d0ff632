#include "segment.hpp"
#include "futex.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace memarray::detail {
namespace {

// Fields of `SegmentHeader::word`. Claims distinguish words of equal state and slot.
constexpr std::uint64_t state_shift = SegmentSlotRef::number_bits;
constexpr std::uint64_t state_mask = 0xff;
constexpr std::uint64_t one_claim = std::uint64_t{1} << 32;
constexpr std::uint64_t free_word = 0;
/// A writer checks for readers; others yield meanwhile, without a futex wait.
constexpr std::uint64_t claimed = 1;
constexpr std::uint64_t held = 2;

constexpr Attempts attempts_among_processes{.spins = 0, .yields = 16};
/// After these yields, a claim is a conflict, or void if its process has ended.
constexpr int claim_yields = 1000;

constexpr std::uint64_t state_of(std::uint64_t word) noexcept { return word >> state_shift & state_mask; }
constexpr std::uint64_t claims_of(std::uint64_t word) noexcept { return word & ~(one_claim - 1); }

}  // namespace

Segment::Segment(std::span<std::byte> memory, SegmentLayout const& layout, KeepAliveGuard& keep_alive, std::string name)
    : ExportTally{[](ExportTally& tally, bool writable) { static_cast<Segment&>(tally)._slot.count_export(writable); },
                  [](ExportTally& tally, bool writable) noexcept {
                    static_cast<Segment&>(tally)._slot.uncount_export(writable);
                  },
                  [](ExportTally const& tally) noexcept { return static_cast<Segment const&>(tally).exports(); }},
      _header(*reinterpret_cast<SegmentHeader*>(memory.data())),
      _mapping(keep_alive.release()),
      _slot(_header, std::move(name)),
      _uid(layout.uid) {}

Segment::Attached Segment::attach(std::span<std::byte> memory, SegmentLayout const& layout, Block::KeepAlive keep_alive,
                                  std::string name) {
  KeepAliveGuard guard(keep_alive);
  auto* const segment = new Segment(memory, layout, guard, std::move(name));
  Block::KeepAlive const kept{segment, [](void* object) noexcept { delete static_cast<Segment*>(object); }};
  BlockPtr block = Block::adopt(memory.data() + layout.data_at, layout.data_bytes, Device{}, MemoryType::normal, kept);
  segment->_slot.check_settled();
  block->count_exports_in(*segment);
  return {std::move(block), segment};
}

bool Segment::is_held_here(std::uint64_t word) const noexcept {
  return state_of(word) == held && _slot.is_mine(_slot.numbered(SegmentSlotRef::number_in(word)));
}

bool Segment::is_dead(std::uint64_t word) const noexcept {
  if (state_of(word) == free_word) return false;
  SegmentSlot const* const slot = _slot.numbered(SegmentSlotRef::number_in(word));
  bool const dead = state_of(word) > held || !slot || !is_alive(slot->owner.load());
  // If the word has changed, the slot may have a new owner.
  return dead && _header.word.load() == word;
}

std::uint64_t Segment::claim_after(std::uint64_t word) const noexcept {
  return (claims_of(word) + one_claim) | claimed << state_shift | _slot.number();
}

void Segment::set_word(std::uint64_t state) noexcept {
  std::uint64_t const claims = claims_of(_header.word.load());
  _header.word.store(state == free_word ? claims : claims | state << state_shift | _slot.number());
}

bool Segment::claim() noexcept {
  for (int look = 0;;) {
    std::uint64_t word = _header.word.load();
    if (state_of(word) >= held) return false;
    if (state_of(word) == claimed) {
      if (++look < claim_yields) {
        ::sched_yield();
        continue;
      }
      if (!is_dead(word)) return false;
    }
    if (_header.word.compare_exchange_strong(word, claim_after(word))) return true;
  }
}

bool Segment::try_shared(bool ahead_of_writers) noexcept {
  if (state_of(_header.word.load()) >= held || (!ahead_of_writers && writer_waits())) return false;
  _slot.begin_reading();
  std::uint64_t word = _header.word.load();
  for (int look = 0; state_of(word) == claimed; word = _header.word.load()) {
    if (++look < claim_yields) {
      ::sched_yield();
      continue;
    }
    // A process that ended during its claim has changed nothing.
    if (!is_dead(word)) break;
    static_cast<void>(_header.word.compare_exchange_strong(word, claims_of(word)));
  }
  if (state_of(word) == free_word) return true;
  _slot.end_reading();
  // A waiting writer may have seen the temporary count. Readers alone would only wake each other.
  if (_header.waiting.load() != 0) wake();
  return false;
}

bool Segment::try_exclusive(std::int64_t id) {
  if (state_of(_header.word.load()) >= held || _slot.has_reader(false) || !claim()) return false;
  if (_slot.has_reader(false)) {
    set_word(free_word);
    wake();
    return false;
  }
  std::vector<Death> deaths;  // reported by `clear_dead`
  try {
    if (std::ranges::any_of(_slot.slots(), [](SegmentSlot const& slot) { return slot.readers.load() != 0; }))
      _slot.clear_dead(_slot.number(), deaths);
  } catch (...) {
    set_word(free_word);
    throw;
  }
  _slot.mine().lock_id.store(id);
  set_word(held);
  return true;
}

bool Segment::writer_waits() noexcept {
  std::uint32_t waiting = _header.waiting.load();
  if (waiting == 0) return false;
  SegmentSlot const* const slot = _slot.numbered(waiting);
  if (slot && slot->waits.load() != 0 && is_alive(slot->owner.load())) return true;
  static_cast<void>(_header.waiting.compare_exchange_strong(waiting, 0));
  return false;
}

template <class Try>
bool Segment::wait(Timeout timeout, Try const& attempt) {
  struct Sleeper {
    std::atomic<std::uint32_t>& count;
    explicit Sleeper(std::atomic<std::uint32_t>& sleepers) noexcept : count(sleepers) { count.fetch_add(1); }
    ~Sleeper() { count.fetch_sub(1); }
    Sleeper(Sleeper const&) = delete;
    Sleeper& operator=(Sleeper const&) = delete;
  };
  // Only `recover` ends the write hold of an ended process.
  auto const is_held_by_the_dead = [&] {
    std::uint64_t const word = _header.word.load();
    return state_of(word) != claimed && is_dead(word);
  };
  return wait_with_futex(
      _header.epoch, FutexScope::shared_memory, timeout, attempts_among_processes, attempt,
      [&] { return Sleeper(_header.sleepers); }, is_held_by_the_dead);
}

bool Segment::lock_shared(Timeout timeout, bool ahead_of_writers) {
  _slot.check_settled();
  return try_shared(ahead_of_writers) || wait(timeout, [&] { return try_shared(ahead_of_writers); });
}

bool Segment::lock_exclusive(std::int64_t id, Timeout timeout) {
  _slot.check_settled();
  if (try_exclusive(id)) return true;
  if (timeout && *timeout <= no_wait) return false;
  // The header names one waiting writer, which holds back new readers.
  struct Waiting {
    Segment& segment;
    explicit Waiting(Segment& of) noexcept : segment(of) { segment._slot.mine().waits.fetch_add(1); }
    ~Waiting() {
      segment._slot.mine().waits.fetch_sub(1);
      std::uint32_t mine = segment._slot.number();
      if (segment._header.waiting.compare_exchange_strong(mine, 0)) segment.wake();
    }
  } const waiting(*this);
  return wait(timeout, [&] {
    std::uint32_t none = 0;
    static_cast<void>(_header.waiting.compare_exchange_strong(none, _slot.number()));
    return try_exclusive(id);
  });
}

void Segment::unlock_shared() noexcept {
  _slot.end_reading();
  wake();
}

void Segment::unlock_exclusive() noexcept {
  std::uint64_t const word = _header.word.load();
  if (!is_held_here(word)) return;
  _slot.mine().lock_id.store(-1);
  set_word(free_word);
  wake();
}

void Segment::wake() noexcept {
  if (_header.sleepers.load() == 0) return;
  futex_wake_all(_header.epoch, FutexScope::shared_memory);
}

bool Segment::is_written_elsewhere() const noexcept {
  std::uint64_t const word = _header.word.load();
  return state_of(word) >= held && !is_held_here(word);
}

bool Segment::is_used_elsewhere() const noexcept {
  if (is_written_elsewhere()) return true;
  return _slot.has_reader(true);
}

std::int64_t Segment::lock_id() const noexcept {
  std::uint64_t const word = _header.word.load();
  SegmentSlot const* const slot = state_of(word) == held ? _slot.numbered(SegmentSlotRef::number_in(word)) : nullptr;
  return slot ? slot->lock_id.load() : -1;
}

std::string Segment::holder() const {
  auto const named = [](SegmentSlot const& slot) {
    ProcessStamp const owner = slot.owner.load();
    return owner == this_process() ? std::string("this process, through another array over the same shared memory,")
                                   : "process " + std::to_string(pid_of(owner));
  };
  std::uint64_t const word = _header.word.load();
  SegmentSlot const* const writer = _slot.numbered(SegmentSlotRef::number_in(word));
  if (state_of(word) >= held && !is_held_here(word)) {
    if (is_dead(word)) {
      int const pid = writer ? pid_of(writer->owner.load()) : 0;
      return "process " + std::to_string(pid) +
             " exited while it held it for writing, so its contents may be half written: call recover(), and "
             "write them again before they are used";
    }
    if (writer)
      return named(*writer) + " holds it for writing (lock id " + std::to_string(writer->lock_id.load()) +
             "); pass a timeout to wait for it";
  }
  std::string readers;
  for (SegmentSlot const& slot : _slot.slots()) {
    std::uint64_t const count = slot.readers.load();
    if (count == 0 || _slot.is_mine(&slot) || !is_alive(slot.owner.load())) continue;
    readers += (readers.empty() ? "" : " and ") + named(slot) + " holds it for reading (" + std::to_string(count) +
               (count == 1 ? " lease)" : " leases)");
  }
  if (!readers.empty()) return readers + "; pass a timeout to wait for it";
  SegmentSlot const* const waiter = _slot.numbered(_header.waiting.load());
  if (waiter && waiter->waits.load() != 0 && !_slot.is_mine(waiter)) return named(*waiter) + " waits to write it";
  return {};
}

std::vector<Death> Segment::recover() {
  _slot.check_settled();
  std::vector<Death> deaths;
  deaths.reserve(1);
  std::uint64_t word = _header.word.load();
  bool const dead = is_dead(word);
  if (dead && state_of(word) != claimed) {
    SegmentSlot const* const slot = _slot.numbered(SegmentSlotRef::number_in(word));
    deaths.push_back({slot ? pid_of(slot->owner.load()) : 0, Death::Held::write});
  }
  if (dead) {
    // Another process is recovering it.
    if (!_header.word.compare_exchange_strong(word, claim_after(word))) return {};
    set_word(free_word);
  }
  report_deaths(deaths, _slot.name());
  _slot.clear_dead(SegmentSlotRef::number_in(_header.word.load()), deaths);
  wake();
  return deaths;
}

}  // namespace memarray::detail
