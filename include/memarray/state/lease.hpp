#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/device.hpp>
#include <memarray/base/options.hpp>
#include <memarray/detail/base/element_pointer.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/state/acquisition.hpp>
#include <memarray/detail/state/array_state.hpp>
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
/// A view of strided memory, with strides in bytes, also zero or negative.
using BufferView = BasicBufferView<std::byte>;
/// A read-only view, to which a `BufferView` converts.
using ConstBufferView = BasicBufferView<std::byte const>;

/// Options of a lease.
struct LeaseOptions {
  Timeout timeout = no_wait;       ///< time to wait for the lock
  bool discard = false;            ///< write lease: drop the contents, as all are set anew
  std::optional<Device> device{};  ///< where to use the memory; by default where it is
  /// The stream of the holder's work on a device, unused on the host. It waits for pending work, the next user for it.
  StreamChoice stream{};
};

namespace detail {

/// A lease of one array: inert, open once, then closed. Keeps the state and, once entered, the block until
/// destruction.
class MEMARRAY_API LeaseCore {
 public:
  enum class Kind : std::uint8_t { read, write };

  LeaseCore(ArrayStatePtr state, Kind kind, LeaseOptions const& options) noexcept;
  ~LeaseCore();
  LeaseCore(LeaseCore const&) = delete;
  LeaseCore& operator=(LeaseCore const&) = delete;

  /// Opens the lease; `where` is for traces. Throws `LockError` (time-out; not inert; escaped views under "error"),
  /// `ValueError` (no such device), `CudaError`, `OutOfMemoryError`, `Interrupted`; the lease is then unchanged.
  void enter(std::string const& where = {});
  /// Makes `enter` throw `ValueError` if the array has another shape once it is locked.
  void expect(std::span<std::int64_t const> shape) { _acquired.expect(shape); }
  /// Closes an open lease. Exports become escaped views. An `enter` in another thread ends with a `LockError`.
  void exit() noexcept;

  [[nodiscard]] bool is_open() const noexcept { return _status.load(std::memory_order_seq_cst) == Status::open; }
  [[nodiscard]] bool is_write() const noexcept { return _kind == Kind::write; }
  [[nodiscard]] std::int64_t lock_id() const noexcept;
  [[nodiscard]] Timeout timeout() const noexcept { return _timeout; }
  [[nodiscard]] ArrayState& state() const noexcept { return *_state; }
  [[nodiscard]] ArrayStatePtr const& state_ptr() const noexcept { return _state; }

  /// Counts an export, for a later `drop_export(is_write())`. Throws `LockError` unless open. Counts before
  /// the check, so that the array's next user misses no export.
  [[nodiscard]] Block& add_export() const {
    bool only = false;
    return add_export(only);
  }
  /// `only`: set if the block has no other export.
  [[nodiscard]] Block& add_export(bool& only) const {
    if (is_open()) {
      Block& block = *_acquired.block();
      only = block.add_export(is_write());
      if (is_open()) return block;
      block.drop_export(is_write());
    }
    throw_not_open();
  }
  [[nodiscard]] Block& block() const {
    check_open();
    return *_acquired.block();
  }
  /// Counts one export until destruction, for protocols without a release. Throws `LockError`.
  [[nodiscard]] Block& pin();
  /// Makes `stream` wait for the memory's pending work. Null requests no order: the lease's stream waits. Throws
  /// `LockError`, `CudaError`, `ValueError` (another device's stream).
  void order_export(StreamHandle const* stream) const;
  /// Returns the lease's `StreamDependencies` entry; 0 on the host.
  [[nodiscard]] StreamDependencies::Lease stream_lease() const noexcept { return _acquired.stream_lease(); }
  [[nodiscard]] StreamHandle stream() const { return _acquired.stream().get(); }
  /// Returns "unopened", "open" or "closed".
  [[nodiscard]] char const* status_name() const noexcept;
  /// Throw `LockError` unless the lease is open.
  void copy_shape(std::int64_t* extents) const;
  void check_open() const {
    if (!is_open()) throw_not_open();
  }
  [[noreturn]] void throw_not_open() const;

 private:
  enum class Status : std::uint8_t { inert, entering, open, closed };
  friend void enter_all(std::span<LeaseCore* const> leases, Timeout timeout, std::string const& where);

  // `begin` excludes other threads; `finish` or `abandon` ends the attempt.
  void begin();
  /// Returns false if the lease was closed meanwhile.
  [[nodiscard]] bool finish(std::string const& where) noexcept;
  void abandon() noexcept;

  ArrayStatePtr _state;
  Acquisition _acquired;
  Timeout _timeout;
  Kind _kind;
  std::atomic<Status> _status{Status::inert};
  std::atomic<bool> _pinned{false};
};

[[noreturn]] MEMARRAY_API void throw_lease_over();
/// Throws like `acquire_all` and `Residency::check_reachable`.
[[nodiscard]] MEMARRAY_API Acquisition acquire_lease(ArrayState& state, AccessMode mode, LeaseOptions const& options);
/// Returns the identity for `trace_closed`; null if memory is short.
[[nodiscard]] MEMARRAY_API void const* trace_typed_lease(ArrayState const* state,
                                                         std::source_location const& where) noexcept;
[[nodiscard]] inline bool tracing() noexcept { return options().trace_leases.load(std::memory_order_relaxed); }

}  // namespace detail

/// The common part of `ReadLease` and `WriteLease`. A lease that another was constructed from is closed; assignment
/// swaps the leases.
template <class T, int ndim>
class TypedLease {
 public:
  TypedLease(TypedLease&& other) noexcept
      : _state(std::exchange(other._state, nullptr)),
        _id(other._id),
        _expected(other._expected),
        _traced(other._traced),
        _acquired(std::move(other._acquired)) {}
  TypedLease& operator=(TypedLease&& other) noexcept {
    std::swap(_state, other._state);
    std::swap(_id, other._id);
    std::swap(_expected, other._expected);
    std::swap(_traced, other._traced);
    std::swap(_acquired, other._acquired);
    return *this;
  }
  /// Closes the lease.
  ~TypedLease() { close(); }

  /// Returns the id of an open write lease, else −1.
  [[nodiscard]] std::int64_t lock_id() const noexcept { return _state ? _id : -1; }
  /// Returns false once the lease is closed or moved from.
  [[nodiscard]] bool is_open() const noexcept { return _state != nullptr; }
  /// Releases the lock; does nothing if closed. On a device, work submitted in the lease's stream may still run: the
  /// array's next user waits for it.
  void close() noexcept {
    if (!_state) return;
    if (_traced) detail::trace_closed(_traced);
    detail::ArrayState* const state = std::exchange(_state, nullptr);
    if (!_acquired) return state->unlock_and_release(mode, _expected);
    _acquired.reset();
    state->release();
  }
  /// Returns the leased memory; on a device, for work in the lease's stream. Throws `LockError` (closed), `CudaError`.
  [[nodiscard]] T* ptr() const {
    if (!_state) detail::throw_lease_over();
    if (_acquired) [[unlikely]]
      return detail::elements_at<T>(_acquired->use());
    return detail::elements_at<T>(_state->residency().block().data());
  }
  // For views of the lease. `state` and `block` throw `LockError` if closed.
  [[nodiscard]] detail::ArrayState const& state() const {
    if (!_state) detail::throw_lease_over();
    return *_state;
  }
  [[nodiscard]] detail::Block& block() const { return _acquired ? *_acquired->block() : state().residency().block(); }
  [[nodiscard]] detail::StreamDependencies::Lease stream_lease() const noexcept {
    return _acquired ? _acquired->stream_lease() : 0;
  }
  /// Returns the leased memory for kernels. Throws like `ptr`.
  [[nodiscard]] ArrayIndexer<T, ndim> indexer() const {
    ArrayIndexer<T, ndim> result{ptr(), {}};
    for (int d = 0; d < ndim; ++d) result.extents[static_cast<std::size_t>(d)] = _state->shape()[d];
    return result;
  }

 protected:
  TypedLease(detail::ArrayState& state, LeaseOptions const& options, std::source_location const& where) {
    if (!options.device && options.stream.is_default()) [[likely]] {
      if constexpr (!std::is_const_v<T>) _id = detail::ArrayLock::next_lock_id();
      if (detail::Acquisition::try_with_reference(state, mode, _id, _expected)) [[likely]] {
        _state = &state;
        if (detail::tracing()) trace(where);
        return;
      }
    }
    bool const discards = options.discard && !std::is_const_v<T>;
    adopt(detail::acquire_lease(state, discards ? detail::AccessMode::overwrite : mode, options), where);
  }
  TypedLease(detail::Acquisition&& acquired, std::source_location const& where) { adopt(std::move(acquired), where); }

 private:
  static constexpr detail::AccessMode mode = std::is_const_v<T> ? detail::AccessMode::read : detail::AccessMode::write;

  void adopt(detail::Acquisition&& acquired, std::source_location const& where) {
    detail::ArrayState& state = acquired.state();
    _id = acquired.id();
    _acquired = detail::Acquisition::keep(std::move(acquired));
    state.retain();
    _state = &state;
    if (detail::tracing()) trace(where);
  }
  void trace(std::source_location const& where) { _traced = detail::trace_typed_lease(_state, where); }

  detail::ArrayState* _state = nullptr;
  std::int64_t _id = -1;
  detail::LockWord::Expected _expected = 0;
  void const* _traced = nullptr;
  std::unique_ptr<detail::Acquisition> _acquired;
};

/// A shared hold of an array for a scope: others may read it, none may change it. Throws `LockError` (a writer holds it
/// longer than `options.timeout`; escaped views under "error"), `ValueError` (no such device), `Interrupted`,
/// `CudaError`, `OutOfMemoryError`.
template <class T, int ndim>
class ReadLease : public TypedLease<T const, ndim> {
 public:
  explicit ReadLease(MemArray<T, ndim> const& array, LeaseOptions const& options = {},
                     std::source_location const& where = std::source_location::current())
      : TypedLease<T const, ndim>(array.state(), options, where) {}
  ReadLease(detail::Acquisition&& acquired, std::source_location const& where)
      : TypedLease<T const, ndim>(std::move(acquired), where) {}
  /// Returns a read-only view; one that outlives the lease is an escaped view. Throws `LockError` if closed.
  [[nodiscard]] ConstBufferView view() const;
};

/// An exclusive hold of an array, otherwise like `ReadLease`. Its `lock_id()` admits kernels and element access.
template <class T, int ndim>
class WriteLease : public TypedLease<T, ndim> {
 public:
  explicit WriteLease(MemArray<T, ndim>& array, LeaseOptions const& options = {},
                      std::source_location const& where = std::source_location::current())
      : TypedLease<T, ndim>(array.state(), options, where) {}
  WriteLease(detail::Acquisition&& acquired, std::source_location const& where)
      : TypedLease<T, ndim>(std::move(acquired), where) {}
  /// Returns a writable view, otherwise like `ReadLease::view`.
  [[nodiscard]] BufferView view() const;
};

namespace detail {

/// Opens all of `leases` or none. Throws like `acquire_all`, and `LockError` unless all are inert.
MEMARRAY_API void enter_all(std::span<LeaseCore* const> leases, Timeout timeout, std::string const& where);

}  // namespace detail
}  // namespace memarray
