#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/device.hpp>
#include <memarray/base/options.hpp>
#include <memarray/detail/base/element_pointer.hpp>
#include <memarray/detail/memory/stream_uses.hpp>
#include <memarray/detail/state/claim.hpp>
#include <memarray/detail/state/state.hpp>
#include <memarray/detail/state/trace.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace memarray {

template <class T, int ndim>
class MemArray;

// buffer_view.hpp
template <class Byte>
class BasicBufferView;
/// Strided memory of whoever owns it, which it keeps alive: an array's or another library's. What it holds is known at
/// run time: dtype, shape and strides in bytes, any of which may be zero or negative.
using BufferView = BasicBufferView<std::byte>;
/// The same, read-only: of memory that is lent so, or to say that nobody writes. Every `BufferView` is one, too.
using ConstBufferView = BasicBufferView<std::byte const>;

/// How a lease is taken.
struct LeaseOptions {
  Timeout timeout = no_wait;       ///< 0: at once or `LockError`; `std::nullopt`: as long as it takes
  bool discard = false;            ///< of a write lease: its holder writes everything, so the old contents are given up
  std::optional<Device> device{};  ///< where the memory is wanted; by default where it is
  /// In which stream the holder uses it, on a device; by default the default stream. It waits there for what the memory
  /// was used for before, and whoever comes next waits for it.
  StreamChoice stream{};
};

namespace detail {

/// One lease: inert, then open once, then closed. While it is open nobody else changes (read lease) or touches (write
/// lease) the array. It keeps the array's state and, from `enter` to its own end, the block that it lends, which is
/// the only memory that it exports.
class MEMARRAY_API LeaseCore {
 public:
  enum class Kind : std::uint8_t { read, write };

  LeaseCore(StatePtr state, Kind kind, LeaseOptions const& options) noexcept;
  /// Closes it if need be.
  ~LeaseCore();
  LeaseCore(LeaseCore const&) = delete;
  LeaseCore& operator=(LeaseCore const&) = delete;

  /// Opens it. Throws `LockError` (held by somebody else when the time was up; not inert; escaped views under the
  /// policy "error"), `CudaError`, `OutOfMemoryError`, `Interrupted`; it is then still inert.
  void enter(std::string const& where = {});
  /// Closes it; harmless unless it is open. Exports stay alive and are from now on escaped views.
  void exit() noexcept;

  [[nodiscard]] bool is_open() const noexcept { return _status.load(std::memory_order_seq_cst) == Status::open; }
  [[nodiscard]] bool is_write() const noexcept { return _kind == Kind::write; }
  /// The id that element access and kernels pass; −1 for read leases and unless open.
  [[nodiscard]] std::int64_t lock_id() const noexcept;
  [[nodiscard]] Timeout timeout() const noexcept { return _options.timeout; }
  [[nodiscard]] State& state() const noexcept { return *_state; }
  [[nodiscard]] StatePtr const& state_ptr() const noexcept { return _state; }

  /// Counts an export of the lease's block and returns it; whoever gets it calls `drop_export(is_write())`.
  /// Throws `LockError` unless the lease is open: the count comes first, so that the next user of the array either
  /// sees it or came after this check failed.
  [[nodiscard]] Block& begin_export() const {
    bool only = false;
    return begin_export(only);
  }
  /// `only`: whether it is the block's only one.
  [[nodiscard]] Block& begin_export(bool& only) const {
    if (is_open()) {
      Block& block = *_block;
      only = block.add_export(is_write());
      if (is_open()) return block;
      block.drop_export(is_write());
    }
    throw_not_open();
  }
  /// The memory that it lends; throws `LockError` unless it is open.
  [[nodiscard]] Block& block() const {
    check_open();
    return *_block;
  }
  /// Makes the lease itself a live export until it is destroyed, for protocols that have no release.
  [[nodiscard]] Block& pin();
  /// Orders an export of memory on a device: work that the consumer submits to `stream` from now on comes after what
  /// the memory was used for, whatever the stream. Null: the consumer asks for no order, and gets that of the lease's
  /// own stream. Nothing on the host. Throws `LockError`, `CudaError`, `ValueError` (a stream of another device).
  void order_export(StreamHandle const* stream) const;
  /// Of the block's uses, on a device; else 0.
  [[nodiscard]] StreamUses::Lease lent() const noexcept { return _lent; }
  /// The stream that the lease was taken with. Throws as `StreamChoice::get` does.
  [[nodiscard]] StreamHandle stream() const { return _options.stream.get(); }
  /// "unopened", "open" or "closed".
  [[nodiscard]] char const* status_name() const noexcept;
  /// The extents of the leased memory; throws `LockError` unless it is open.
  void copy_shape(std::int64_t* extents) const;
  void check_open() const {
    if (!is_open()) throw_not_open();
  }
  [[noreturn]] void throw_not_open() const;

 private:
  enum class Status : std::uint8_t { inert, entering, open, closed };
  friend void enter_all(std::span<LeaseCore* const> leases, Timeout timeout, std::string const& where);

  // Opening: nobody else can, then the word is taken, then it is open; or it is inert again.
  void begin();
  void finish(Claim& claim, std::string const& where) noexcept;
  [[nodiscard]] Place place() const noexcept { return {_options.device, _options.stream}; }
  void abandon() noexcept { _status.store(Status::inert); }
  [[nodiscard]] State::Access access() const noexcept;

  StatePtr _state;
  BlockPtr _block;
  LeaseOptions _options;
  std::int64_t _id = -1;
  StreamUses::Lease _lent = 0;
  Kind _kind;
  std::atomic<Status> _status{Status::inert};
  std::atomic<bool> _pinned{false};
};

[[noreturn]] MEMARRAY_API void throw_lease_over();
/// What a C++ lease has to end: of memory on a device its streams, of shared memory its hold in the segment.
struct LeasedBlock {
  BlockPtr block;
  StreamUses::Lease lent;
  Segment* segment;
  State::Access access;
};
/// Takes what a C++ lease could not have at once. Throws as `take_all` does, and `CudaError` for a device that is not
/// there.
MEMARRAY_API void open_slowly(Claim& claim, LeaseOptions const& options);
/// Of a claim that was taken. Null if the memory is this process's, the host's and that of the array's current side.
/// Gives the claim back when it throws (`std::bad_alloc`).
[[nodiscard]] MEMARRAY_API std::unique_ptr<LeasedBlock> lease_block(Claim& claim);
/// The memory, to be used in the lease's stream.
[[nodiscard]] MEMARRAY_API std::byte* use_block(LeasedBlock& leased);
MEMARRAY_API void close_block(std::unique_ptr<LeasedBlock> leased) noexcept;
/// Remembers where a C++ lease was opened; the result is what `trace_closed` takes.
[[nodiscard]] MEMARRAY_API void const* trace_typed_lease(State const* state,
                                                         std::source_location const& where) noexcept;
[[nodiscard]] inline bool tracing() noexcept { return options().trace_leases.load(std::memory_order_relaxed); }

/// A C++ lease: the array's word and a reference to its state, taken and given back together.
template <class T, int ndim>
class TypedLease {
 public:
  TypedLease(TypedLease&& other) noexcept
      : _state(std::exchange(other._state, nullptr)),
        _id(other._id),
        _left(other._left),
        _traced(other._traced),
        _leased(std::move(other._leased)) {}
  TypedLease& operator=(TypedLease&& other) noexcept {
    std::swap(_state, other._state);
    std::swap(_id, other._id);
    std::swap(_left, other._left);
    std::swap(_traced, other._traced);
    std::swap(_leased, other._leased);
    return *this;
  }
  ~TypedLease() { close(); }

  /// Element access and kernels pass this on. −1 for a read lease, and when it is over.
  [[nodiscard]] std::int64_t lock_id() const noexcept { return _state ? _id : -1; }
  [[nodiscard]] bool is_open() const noexcept { return _state != nullptr; }
  /// Ends the lease early; harmless when it is over.
  void close() noexcept {
    if (!_state) return;
    if (_traced) trace_closed(_traced);
    if (_leased) close_block(std::move(_leased));
    std::exchange(_state, nullptr)->give_back_with_reference(access(), _left);
  }
  /// The leased memory; on a device, for work in the lease's stream. Throws `LockError` when the lease is over,
  /// `CudaError`.
  [[nodiscard]] T* ptr() const {
    if (!_state) throw_lease_over();
    if (_leased) [[unlikely]]
      return elements_at<T>(use_block(*_leased));
    return elements_at<T>(_state->storage().block()->data());
  }
  // What a view of the lease is made of. Throw `LockError` when it is over.
  [[nodiscard]] State const& state() const {
    if (!_state) throw_lease_over();
    return *_state;
  }
  [[nodiscard]] Block& block() const { return _leased ? *_leased->block : *state().storage().block(); }
  [[nodiscard]] StreamUses::Lease lent() const noexcept { return _leased ? _leased->lent : 0; }
  [[nodiscard]] ArrayIndexer<T, ndim> indexer() const {
    ArrayIndexer<T, ndim> result{ptr(), {}};
    for (int d = 0; d < ndim; ++d) result.extents[static_cast<std::size_t>(d)] = _state->shape()[d];
    return result;
  }

 protected:
  TypedLease(State& state, LeaseOptions const& options, std::source_location const& where) {
    if (!options.device && options.stream.is_default()) [[likely]] {
      if constexpr (!std::is_const_v<T>) _id = State::next_lock_id();
      if (state.try_take_with_reference(access(), _id, _left)) [[likely]] {
        _state = &state;
        if (tracing()) trace(where);
        return;
      }
    }
    bool const discard = options.discard && !std::is_const_v<T>;
    Claim claim{&state, discard ? State::Access::overwrite : access()};
    open_slowly(claim, options);
    adopt(claim, where);
  }
  /// Of a claim that was taken; it is given back if that fails.
  TypedLease(Claim& claim, std::source_location const& where) { adopt(claim, where); }

 private:
  [[nodiscard]] static constexpr State::Access access() noexcept {
    return std::is_const_v<T> ? State::Access::read : State::Access::write;
  }
  void adopt(Claim& claim, std::source_location const& where) {
    if (claim.block->uses() || claim.state->segment()) _leased = lease_block(claim);
    _state = claim.state;
    _state->retain();
    _id = claim.id;
    if (tracing()) trace(where);
  }
  void trace(std::source_location const& where) { _traced = trace_typed_lease(_state, where); }

  State* _state = nullptr;
  std::int64_t _id = -1;
  LockWord::Guess _left = 0;
  void const* _traced = nullptr;
  std::unique_ptr<LeasedBlock> _leased;
};

}  // namespace detail

/// A shared hold of an array, for a scope: others may read it, nobody changes it. Movable; ends when destroyed.
/// Throws `LockError` when a writer holds the array longer than `options.timeout`.
template <class T, int ndim>
class ReadLease : public detail::TypedLease<T const, ndim> {
 public:
  explicit ReadLease(MemArray<T, ndim> const& array, LeaseOptions const& options = {},
                     std::source_location const& where = std::source_location::current())
      : detail::TypedLease<T const, ndim>(array.state(), options, where) {}
  ReadLease(detail::Claim& claim, std::source_location const& where)
      : detail::TypedLease<T const, ndim>(claim, where) {}
  /// The leased memory; it may outlive the lease, by the array's policy for escaped views. Throws `LockError` when the
  /// lease is over.
  [[nodiscard]] ConstBufferView view() const;
};

/// An exclusive hold of an array, for a scope. Kernels and element access pass under its `lock_id()`.
/// Throws `LockError` when somebody holds the array longer than `options.timeout`.
template <class T, int ndim>
class WriteLease : public detail::TypedLease<T, ndim> {
 public:
  explicit WriteLease(MemArray<T, ndim>& array, LeaseOptions const& options = {},
                      std::source_location const& where = std::source_location::current())
      : detail::TypedLease<T, ndim>(array.state(), options, where) {}
  WriteLease(detail::Claim& claim, std::source_location const& where) : detail::TypedLease<T, ndim>(claim, where) {}
  /// The same, writable.
  [[nodiscard]] BufferView view() const;
};

namespace detail {

/// Opens all of `leases`, or none and throws what `take_all` threw or, for a lease that is not inert, `LockError`.
MEMARRAY_API void enter_all(std::span<LeaseCore* const> leases, Timeout timeout, std::string const& where);

}  // namespace detail
}  // namespace memarray
