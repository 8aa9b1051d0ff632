#include "memory/deferred.hpp"
#include "segment.hpp"
#include "strided/host_memory.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/state/hold.hpp>
#include <memarray/detail/state/trace.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/memory/default_resource.hpp>

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace memarray::detail {
namespace {

// How often a reader retries when others settle at that moment, before it counts as a conflict.
constexpr int looks = 10'000;

}  // namespace

ArrayStatePtr ArrayState::make(DType const& dtype, Extents shape, int device_id, ArrayOptions const& options) {
  if (device_id < 0) throw ValueError("device_id is " + std::to_string(device_id) + "; device ids start at 0");
  if (options.resource && !*options.resource)
    throw ValueError("ArrayOptions::resource is empty; leave it out for the pooled host memory");
  if (options.resource) check_host_reaches(options.resource->memory_type(), "ArrayOptions::resource");
  std::size_t const bytes = checked_bytes(checked_size(shape), dtype.itemsize);
  bool const zero = !options.uninitialized && dtype.init == nullptr;
  BlockPtr block =
      Block::allocate(options.resource, bytes, zero ? Block::Contents::zero : Block::Contents::uninitialized);
  if (!options.uninitialized && dtype.init != nullptr)
    fill_host(block->data(), dtype.init, dtype.itemsize, bytes / dtype.itemsize);

  EscapedViews const policy =
      options.escaped_views.value_or(memarray::options().escaped_views.load(std::memory_order_relaxed));
  ArrayStatePtr state = make_around(Side::host, std::move(block), dtype, shape, device_id, policy);
  state->_resource = options.resource;
  return state;
}

ArrayStatePtr ArrayState::make_around(Side side, BlockPtr block, DType const& dtype, Extents shape, int device_id,
                                      EscapedViews policy) {
  void* const memory = ::operator new(sizeof(ArrayState) + shape.size() * sizeof(std::int64_t));
  return ArrayStatePtr(new (memory) ArrayState(side, std::move(block), dtype, shape, device_id, policy));
}

ArrayState::ArrayState(Side side, BlockPtr block, DType const& dtype, Extents shape, int device_id,
                       EscapedViews policy) noexcept
    : _storage(side, std::move(block)),
      _policy(policy),
      _dtype(dtype),
      _device_id(device_id),
      _ndim(static_cast<int>(shape.size())),
      _shape(reinterpret_cast<std::int64_t*>(this + 1)) {
  std::uninitialized_copy(shape.begin(), shape.end(), _shape);
}

ArrayState::~ArrayState() = default;

void ArrayState::destroy() noexcept {
  this->~ArrayState();
  ::operator delete(this);
}

std::int64_t ArrayState::size() const noexcept {
  std::int64_t product = 1;
  for (int d = 0; d < _ndim; ++d) product *= _shape[d];
  return product;
}

// A sequence lock: the version is odd while the extents change, and a reader that sees a change retries.
void ArrayState::set_shape(Extents shape) noexcept {
  _shape_version.fetch_add(1, std::memory_order_acq_rel);
  for (int d = 0; d < _ndim; ++d)
    std::atomic_ref(_shape[d]).store(shape[static_cast<std::size_t>(d)], std::memory_order_release);
  _shape_version.fetch_add(1, std::memory_order_release);
}

void ArrayState::copy_shape(std::int64_t* extents) const noexcept {
  for (;;) {
    std::uint32_t const before = _shape_version.load(std::memory_order_acquire);
    for (int d = 0; d < _ndim; ++d) extents[d] = std::atomic_ref(_shape[d]).load(std::memory_order_acquire);
    if (before % 2 == 0 && _shape_version.load(std::memory_order_relaxed) == before) return;
    ::sched_yield();
  }
}

Device ArrayState::device() const noexcept { return on_device() ? Device{kDLCUDA, device_id()} : Device{}; }

Device ArrayState::exported_device() const noexcept {
  if (on_device()) return {_exported_type.load(std::memory_order_relaxed), device_id()};
  if (_resource && _resource->memory_type() == MemoryType::unified) return exported_managed_device();
  return {};
}

std::int64_t ArrayState::lock_id() const noexcept {
  std::int64_t const word = _word.load();
  if (LockWord::is_writer(word) && word != LockWord::settling) return word;
  return _segment ? _segment->lock_id() : -1;
}

std::string ArrayState::describe() const {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(_ndim));
  copy_shape(extents.data());
  return "MemArray<" + std::string(_dtype.name_view()) + ", " + std::to_string(_ndim) + "> of shape " +
         shape_text(extents);
}

void ArrayState::refuse(char const* what, std::int64_t lock_id) const {
  std::int64_t const word = _word.load();
  std::string holder = _segment ? _segment->holder() : "";
  if (!holder.empty()) {
  } else if (word == LockWord::settling || word == LockWord::operation)
    holder = "an operation of memarray is using it; try again, or pass a timeout";
  else if (LockWord::is_writer(word))
    holder = word >= LockWord::first_lease_id
                 ? "it is leased for writing (lock id " + std::to_string(word) + "); close that lease first"
                 : "it is held for writing under lock id " + std::to_string(word) + "; call exit() first";
  else if (std::int64_t const readers = LockWord::readers(word); readers > 0)
    holder = "it is leased for reading by " + std::to_string(readers) + (readers == 1 ? " lease" : " leases") +
             "; close " + (readers == 1 ? "it" : "them") + " first";
  else
    holder = lock_id >= 0
                 ? "the lease with the given id is over"
                 : "somebody held it a moment ago, or a writer is waiting for it; try again, or pass a timeout";
  std::string message = std::string(what) + " is refused on " + describe() + ": " + holder;
  if (lock_id >= 0) message += " (lock id " + std::to_string(lock_id) + " was given)";
  if (_word.is_lost(true))
    message +=
        "; it was taken before this process was forked: if by a thread that does not exist here, it stays held in "
        "this process and is not waited for: work on a copy that was made before the fork";
  for (std::string const& line : traced_leases(this)) message += "\n  opened at " + line;
  throw LockError(message);
}

void ArrayState::check_write(std::int64_t lock_id, char const* what) const {
  // The id of a closed lease is refused even on a free array: it is the caller's mistake.
  if (lock_id >= 0 ? !is_held_under(lock_id) : _word.load() != LockWord::free) refuse(what, lock_id);
  if (_segment && lock_id < 0 && _segment->is_used_elsewhere()) refuse(what, lock_id);
}

void ArrayState::check_read(std::int64_t lock_id, char const* what) {
  if (lock_id >= 0 ? !is_held_under(lock_id) : LockWord::is_writer(_word.load_settled())) refuse(what, lock_id);
  if (_segment && lock_id < 0 && _segment->is_written_elsewhere()) refuse(what, lock_id);
}

bool ArrayState::take(Access access, std::int64_t id, Timeout timeout, Place const& place, bool past_writers,
                      std::function<void()> const& prepare) {
  run_deferred();
  if (_segment) [[unlikely]]
    return take_among_processes(access, id, timeout, place, past_writers, prepare);
  // Runs under the exclusive lock: does all of `steps`, or moves the array back and releases the lock.
  auto const all_of = [&](auto const& steps) {
    std::optional<std::pair<Storage, int>> before;
    try {
      steps(before);
      if (prepare) prepare();
    } catch (...) {
      if (before) {
        _device_id = before->second;
        _storage = std::move(before->first);
      }
      _word.unlock_exclusive();
      throw;
    }
  };
  if (access == Access::read) {
    auto const settle = [&] {
      all_of([&](auto& before) {
        settle_for_read(place.stream);
        if (!place.device) return;
        before.emplace(_storage, device_id());
        arrive_for_lease(place, access);
      });
      _word.downgrade();
      return true;
    };
    Deadline const deadline(timeout);
    for (int look = 0; look < looks; ++look) {
      if (!_word.lock_shared(deadline.rest(), past_writers)) return false;
      if (!must_settle(place, look == 0)) {
        try {
          if (prepare) prepare();
        } catch (...) {
          _word.unlock_shared();
          throw;
        }
        return true;
      }
      _word.unlock_shared();
      if (_word.try_settle()) return settle();
      ::sched_yield();
    }
    return timeout != Timeout(no_wait) && _word.settle(deadline.rest()) && settle();
  }
  if (!_word.lock_exclusive(id, timeout)) return false;
  all_of([&](auto& before) {
    // Exports of the other side count, too: it becomes stale.
    if (auto const all = _storage.exports(); all.total() != 0) check_policy(all, "writing");
    if (place.device && *place.device != _storage.block()->device()) {
      before.emplace(_storage, device_id());
      arrive_for_lease(place, access);
    }
    auto const exports = _storage.block()->exports();
    if (exports.total() != 0 && access == Access::write && must_leave_block())
      detach(exports.writable != 0 ? "a writable view was kept" : "a view was kept and the write may be partial",
             place.stream);
  });
  return true;
}

void ArrayState::give_back(Access access) noexcept {
  if (_segment) [[unlikely]]
    give_back_among_processes(access);
  if (access == Access::read)
    _word.unlock_shared();
  else
    _word.unlock_exclusive();
}

std::int64_t ArrayState::next_lock_id() noexcept {
  // Threads draw ids in batches to avoid contention on the counter.
  constexpr std::int64_t batch = 1024;
  static std::atomic<std::int64_t> next_batch{LockWord::first_lease_id};
  thread_local std::int64_t next = 0;
  if (next % batch == 0) next = next_batch.fetch_add(batch, std::memory_order_relaxed);
  return next++;
}

void ArrayState::check_policy(Block::Exports exports, char const* what) const {
  if (escaped_views() != EscapedViews::error) return;
  throw LockError(std::string(what) + " is refused on " + describe() + ": " + std::to_string(exports.total()) +
                  " exported view(s) of it are still alive (" + std::to_string(exports.writable) +
                  " writable) and its escaped_views policy is 'error'; drop them first");
}

void ArrayState::settle_for_read(StreamChoice const& stream) {
  auto const exports = _storage.block()->exports();
  if (exports.writable == 0 || escaped_views() == EscapedViews::alias) return;
  check_policy(exports, "reading");
  detach("a writable view was kept", stream_here(stream));
}

void ArrayState::leave_views_before(ArrayState const& receiver) {
  if (must_leave_block() && receiver.escaped_views() == EscapedViews::alias)
    detach("a view was kept and its memory goes to an array that writes under kept views", StreamChoice());
}

bool ArrayState::must_leave_block() const noexcept {
  return escaped_views() == EscapedViews::snapshot && _storage.block()->exports().total() != 0;
}

BoundStream ArrayState::queue(StreamChoice const& stream) const {
  return bind_stream(stream.get(), _storage.block(Side::device)->uses()->memory().context());
}

StreamChoice ArrayState::stream_here(StreamChoice const& stream) const {
  if (!on_device()) return {};
  ContextHandle const context = context_of(stream.get());
  return context && device_id_of(context) != _storage.block()->device().id ? StreamChoice() : stream;
}

BlockPtr ArrayState::allocate_on(DeviceMemoryPtr const& memory, BoundStream const& queue, std::size_t bytes) const {
  return allocate_for(describe(), memory, queue, bytes);
}

BlockPtr ArrayState::fresh_block(StreamChoice const& stream) const {
  if (on_device()) return allocate_on(_storage.block()->uses()->memory_ptr(), queue(stream), bytes());
  return Block::allocate(_resource, bytes(), Block::Contents::uninitialized);
}

BlockPtr ArrayState::copied_block(char const* why, StreamChoice const& stream) const {
  BlockPtr fresh = fresh_block(stream);
  Block& current = *_storage.block();
  if (on_device()) {
    current.fence(false);
    copy(*fresh, current, bytes(), queue(stream), CopyMode::async);
  } else {
    await(current, Access::read, stream);
    copy_host(fresh->data(), current.data(), bytes());
  }
  report_copy(static_cast<std::int64_t>(bytes()), describe() + " went on in fresh memory, as " + why);
  return fresh;
}

void ArrayState::detach(char const* why, StreamChoice const& stream) {
  BlockPtr fresh = copied_block(why, stream);
  counters().versions.fetch_add(1, std::memory_order_relaxed);
  _storage.replace(_storage.current(), std::move(fresh));
}

void ArrayState::check_side(Side side) const {
  // A side that is valid but not current would become stale at the next write to the other.
  if (_storage.current() == side) return;
  throw Error(side == Side::host ? describe() + " is on a device: call move_memory(kDLCPU, …) before host_view()"
                                 : describe() + " is on the host: call move_memory(kDLCUDA, …) before device_view()");
}

void throw_moved_from() { throw Error("this MemArray was moved from: assign an array to it before it is used"); }

void throw_out_of_bounds(ArrayState const& state, int dimension, std::int64_t index) {
  throw IndexError("index " + std::to_string(index) + " of dimension " + std::to_string(dimension) + " is outside " +
                   state.describe());
}

void ArrayState::fill(void const* element, std::int64_t lock_id) {
  Hold hold(*this, Access::overwrite, lock_id, "fill", on_device() ? Hold::orders_itself : Hold::plain);
  if (on_device()) {
    detail::fill(hold.target_block(), 0, element, _dtype.itemsize, static_cast<std::size_t>(size()), hold.queue());
    return hold.commit(Hold::Work::counted);
  }
  fill_host(hold.target(), element, _dtype.itemsize, static_cast<std::size_t>(size()));
  hold.commit();
}

void ArrayState::resize(Extents shape) {
  check_not_shared("resize");
  if (static_cast<int>(shape.size()) != _ndim)
    throw ValueError("resize keeps the rank: " + describe() + " cannot become " + shape_text(shape));
  std::size_t const new_bytes = checked_bytes(checked_size(shape), _dtype.itemsize);
  Hold hold(*this, Access::overwrite, -1, "resize", Hold::in_place);
  std::size_t const kept = std::min(new_bytes, bytes());
  BlockPtr fresh;
  Block& block = *_storage.block();
  if (on_device()) {
    BoundStream const queue = this->queue({});
    fresh = allocate_on(block.uses()->memory_ptr(), queue, new_bytes);
    block.fence(false);
    copy(*fresh, block, kept, queue, CopyMode::async);
    std::vector<std::byte> const zeros(_dtype.itemsize);
    detail::fill(*fresh, kept, _dtype.init ? _dtype.init : zeros.data(), _dtype.itemsize,
                 (new_bytes - kept) / _dtype.itemsize, queue);
  } else {
    fresh = Block::allocate(_resource, new_bytes,
                            _dtype.init == nullptr ? Block::Contents::zero : Block::Contents::uninitialized);
    await(block, Access::read, {});
    copy_host(fresh->data(), block.data(), kept);
    if (_dtype.init != nullptr && new_bytes > kept)
      fill_host(fresh->data() + kept, _dtype.init, _dtype.itemsize, (new_bytes - kept) / _dtype.itemsize);
  }
  if (block.is_foreign())
    report_copy(static_cast<std::int64_t>(kept), describe() + " was resized out of memory of another owner");
  BlockPtr const old = _storage.replace(_storage.current(), std::move(fresh));
  set_shape(shape);
}

void ArrayState::exchange(ArrayState& other) {
  check_not_shared("exchange");
  other.check_not_shared("exchange");
  if (this == &other) return;
  if (_dtype != other._dtype || _ndim != other._ndim)
    throw TypeError("exchange swaps arrays of one dtype and rank, not " + describe() + " and " + other.describe());
  bool const ordered = this < &other;
  Hold first(ordered ? *this : other, Access::overwrite, -1, "exchange", Hold::in_place);
  Hold second(ordered ? other : *this, Access::overwrite, -1, "exchange", Hold::in_place);
  settle_for_read({});
  other.settle_for_read({});
  leave_views_before(other);
  other.leave_views_before(*this);
  std::vector<std::int64_t> const mine(_shape, _shape + _ndim);
  std::vector<std::int64_t> const theirs(other._shape, other._shape + _ndim);
  std::swap(_storage, other._storage);
  _device_id = other._device_id.exchange(_device_id);
  _exported_type = other._exported_type.exchange(_exported_type);
  std::swap(_resource, other._resource);
  set_shape(theirs);
  other.set_shape(mine);
}

ArrayStatePtr ArrayState::clone() {
  Hold const hold(*this, Access::read, -1, "copy");
  BlockPtr fresh = fresh_block({});
  if (on_device())
    copy(*fresh, *_storage.block(), bytes(), hold.queue(), CopyMode::async);
  else
    copy_host(fresh->data(), _storage.block()->data(), bytes());
  ArrayStatePtr twin = make_around(_storage.current(), std::move(fresh), _dtype,
                                   Extents(_shape, static_cast<std::size_t>(_ndim)), _device_id, escaped_views());
  twin->_resource = _resource;
  twin->_exported_type = _exported_type.load();
  return twin;
}

}  // namespace memarray::detail
