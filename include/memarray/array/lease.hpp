#pragma once

#include <memarray/array/array_indexer.hpp>
#include <memarray/array/state.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/device.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>

namespace memarray {

template <class T, int ndim>
class MemArray;

/// How a lease is taken.
struct LeaseOptions {
  Timeout timeout = no_wait;  ///< 0: at once or `LockError`; `std::nullopt`: as long as it takes
  bool discard = false;       ///< of a write lease: its holder writes everything, so the old contents are given up
  std::optional<Device> device{};  ///< where the memory is wanted; by default where it is
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
  void enter(std::string const& where = {}) { enter(_options.timeout, false, where); }
  void enter(Timeout timeout, bool past_writers, std::string const& where);
  /// Closes it; harmless unless it is open. Exports stay alive and are from now on escaped views.
  void exit() noexcept;
  /// Closes it as if it had never been opened, while nobody else has seen it open.
  void undo_enter() noexcept;

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
    if (is_open()) {
      Block& block = *_block;
      block.add_export(is_write());
      if (is_open()) return block;
      block.drop_export(is_write());
    }
    throw_not_open();
  }
  /// Makes the lease itself a live export until it is destroyed, for protocols that have no release.
  [[nodiscard]] Block& pin();
  [[noreturn]] void throw_not_open() const;

 private:
  enum class Status : std::uint8_t { inert, entering, open, closed };

  StatePtr _state;
  BlockPtr _block;
  LeaseOptions _options;
  std::int64_t _id = -1;
  Kind _kind;
  std::atomic<Status> _status{Status::inert};
  std::atomic<bool> _pinned{false};
};

/// "file:line (function)" when leases are traced, else nothing.
[[nodiscard]] MEMARRAY_API std::string trace_location(std::source_location const& where);

/// What the two typed leases share.
template <class T, int ndim>
class TypedLease {
 public:
  /// Element access and kernels pass this on. −1 for a read lease.
  [[nodiscard]] std::int64_t lock_id() const noexcept { return _core ? _core->lock_id() : -1; }
  [[nodiscard]] bool is_open() const noexcept { return _core && _core->is_open(); }
  /// Ends the lease early; harmless when it is over.
  void close() noexcept {
    if (_core) _core->exit();
  }
  /// The leased memory. Throws `LockError` when the lease is over.
  [[nodiscard]] T* ptr() const {
    if (!is_open()) throw_over();
    return reinterpret_cast<T*>(_core->state().storage().block()->data());
  }
  [[nodiscard]] ArrayIndexer<T, ndim> indexer() const {
    T* const pointer = ptr();
    ArrayIndexer<T, ndim> result{pointer, {}};
    for (int d = 0; d < ndim; ++d) result.extents[d] = _core->state().shape()[d];
    return result;
  }
  /// The lease as the layers above know it.
  [[nodiscard]] LeaseCore& core() const noexcept { return *_core; }

 protected:
  TypedLease(StatePtr state, LeaseCore::Kind kind, LeaseOptions const& options)
      : _core(std::make_unique<LeaseCore>(std::move(state), kind, options)) {}
  void enter(std::source_location const& where) { _core->enter(trace_location(where)); }

 private:
  [[noreturn]] void throw_over() const;

  std::unique_ptr<LeaseCore> _core;
};

}  // namespace detail

/// A shared hold of an array, for a scope: others may read it, nobody changes it. Movable; ends when destroyed.
/// Throws `LockError` when a writer holds the array longer than `options.timeout`.
template <class T, int ndim>
class ReadLease : public detail::TypedLease<T const, ndim> {
 public:
  explicit ReadLease(MemArray<T, ndim> const& array, LeaseOptions const& options = {},
                     std::source_location const& where = std::source_location::current());
  struct Deferred {};
  /// Not open yet: for `leases`, which opens several or none.
  ReadLease(Deferred, MemArray<T, ndim> const& array, LeaseOptions const& options);
};

/// An exclusive hold of an array, for a scope. Kernels and element access pass under its `lock_id()`.
/// Throws `LockError` when somebody holds the array longer than `options.timeout`.
template <class T, int ndim>
class WriteLease : public detail::TypedLease<T, ndim> {
 public:
  explicit WriteLease(MemArray<T, ndim>& array, LeaseOptions const& options = {},
                      std::source_location const& where = std::source_location::current());
  struct Deferred {};
  WriteLease(Deferred, MemArray<T, ndim>& array, LeaseOptions const& options);
};

namespace detail {

/// Opens all of `leases`, or none and throws what the first refusal threw. The order in which they are taken is the same for every
/// caller, so that two callers cannot wait for each other; several reads of one array count as one.
MEMARRAY_API void enter_all(std::span<LeaseCore* const> leases, Timeout timeout, std::string const& where);
[[noreturn]] MEMARRAY_API void throw_lease_over();

template <class T, int ndim>
void TypedLease<T, ndim>::throw_over() const {
  throw_lease_over();
}

}  // namespace detail
}  // namespace memarray
