#include "segment_slot.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/detail/base/fork.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace memarray::detail {
namespace {

constexpr std::uint64_t writable_export = std::uint64_t{1} << 32;
constexpr std::uint64_t read_only_export = 1;
constexpr std::uint32_t no_generation = UINT32_MAX;

char const* held_name(Death::Held what) noexcept {
  switch (what) {
    case Death::Held::write: return "for writing, so that its contents may be half written";
    case Death::Held::read: return "for reading";
    default: return "as exported views";
  }
}

}  // namespace

void report_deaths(std::span<Death const> deaths, std::string const& name) {
  for (Death const& death : deaths)
    report_death("process " + std::to_string(death.pid) + " exited while it held the array in shared memory " +
                 (name.empty() ? "" : "'" + name + "' ") + held_name(death.held) + "; that hold was cleared");
}

SegmentSlotRef::SegmentSlotRef(SegmentHeader& header, std::string name) noexcept
    : _header(header), _name(std::move(name)), _generation(no_generation) {}

SegmentSlotRef::~SegmentSlotRef() {
  if (is_settled()) mine().owner.store(0);
}

bool SegmentSlotRef::is_settled() const noexcept {
  return _generation.load(std::memory_order_acquire) == fork_generation();
}

bool SegmentSlotRef::settle() noexcept {
  if (is_settled()) return true;
  static_cast<void>(_settling.lock());
  bool done = is_settled();
  if (!done && (take_slot() || (make_room() && take_slot()))) {
    mine().exports.store(_local_exports.load());
    _generation.store(fork_generation(), std::memory_order_release);
    done = true;
  }
  _settling.unlock();
  return done;
}

void SegmentSlotRef::check_settled() {
  if (!settle())
    throw Error("this array in shared memory has " + std::to_string(SegmentHeader::slot_count) +
                " users already; drop some, or make another array");
}

bool SegmentSlotRef::take_slot() noexcept {
  for (std::uint32_t at = 0; at < SegmentHeader::slot_count; ++at) {
    ProcessStamp none = 0;
    if (!_header.slot[at].owner.compare_exchange_strong(none, this_process())) continue;
    _slot = at;
    std::uint32_t used = _header.used.load();
    while (used <= at && !_header.used.compare_exchange_weak(used, at + 1)) {
    }
    return true;
  }
  return false;
}

bool SegmentSlotRef::make_room() noexcept {
  try {
    std::vector<Death> deaths;
    clear_dead(number_in(_header.word.load()), deaths);
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

SegmentSlot* SegmentSlotRef::numbered(std::uint64_t number) const noexcept {
  return number == 0 || number > SegmentHeader::slot_count ? nullptr : &_header.slot[number - 1];
}

std::span<SegmentSlot> SegmentSlotRef::slots() const noexcept {
  return {_header.slot, std::min(_header.used.load(), SegmentHeader::slot_count)};
}

bool SegmentSlotRef::has_reader(bool others) const noexcept {
  return std::ranges::any_of(slots(), [&](SegmentSlot const& slot) {
    return slot.readers.load() != 0 && !(others && is_mine(&slot)) && is_alive(slot.owner.load());
  });
}

void SegmentSlotRef::count_export(bool writable) {
  check_settled();
  std::uint64_t const one = writable ? writable_export : read_only_export;
  _local_exports.fetch_add(one);
  mine().exports.fetch_add(one);
}

void SegmentSlotRef::uncount_export(bool writable) noexcept {
  // Settles first: a new slot starts with the local count, which includes this export.
  bool const counted = settle();
  std::uint64_t const one = writable ? writable_export : read_only_export;
  _local_exports.fetch_sub(one);
  if (counted) mine().exports.fetch_sub(one);
}

SegmentSlotRef::Exports SegmentSlotRef::exports() const noexcept {
  Exports total{0, 0};
  for (SegmentSlot const& slot : slots()) {
    std::uint64_t const counts = slot.exports.load();
    if (counts == 0 || !is_alive(slot.owner.load())) continue;
    total.read_only += static_cast<std::uint32_t>(counts);
    total.writable += static_cast<std::uint32_t>(counts / writable_export);
  }
  return total;
}

// Takes over each slot before it changes the counts, as other processes clear slots, too.
void SegmentSlotRef::clear_dead(std::uint64_t except, std::vector<Death>& deaths) {
  std::size_t const before = deaths.size();
  for (SegmentSlot& slot : slots()) {
    ProcessStamp owner = slot.owner.load();
    if (owner == 0 || is_alive(owner) || &slot == numbered(except)) continue;
    deaths.reserve(deaths.size() + 2);
    if (!slot.owner.compare_exchange_strong(owner, this_process())) continue;
    if (slot.readers.exchange(0) != 0) deaths.push_back({pid_of(owner), Death::Held::read});
    if (slot.exports.exchange(0) != 0) deaths.push_back({pid_of(owner), Death::Held::exports});
    slot.waits.store(0);
    slot.owner.store(0);
  }
  report_deaths(std::span(deaths).subspan(before), _name);
}

}  // namespace memarray::detail
