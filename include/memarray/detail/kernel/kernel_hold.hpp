#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/device.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/state/acquisition.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace memarray::detail {

/// An array or view of a launch.
class KernelHold {
 public:
  KernelHold() noexcept = default;
  KernelHold(KernelHold const&) = delete;
  KernelHold& operator=(KernelHold const&) = delete;

  /// Requests an array, within the write lease `lock_id` unless −1. `alignment`: bytes, of the C++ element type.
  void request(ArrayState& state, AccessMode mode, std::int64_t lock_id, std::size_t alignment) noexcept {
    _state = &state;
    _lock_id = lock_id;
    _mode = mode;
    _alignment = static_cast<std::uint8_t>(alignment);
  }
  /// Requests the one-element array that receives a reduction's value.
  void request_result(ArrayState& state, std::int64_t lock_id, std::size_t alignment) noexcept {
    request(state, AccessMode::overwrite, lock_id, alignment);
    _is_result = true;
  }
  /// Requests a view, which must outlive this.
  void request(ViewCore const& view, AccessMode mode, std::size_t alignment) noexcept {
    _view = &view;
    _mode = mode;
    _alignment = static_cast<std::uint8_t>(alignment);
  }

  /// Copies an array to write first if views have escaped, so that kernels may read any element.
  void copy_all() noexcept { _copies_all = true; }
  /// Likewise, for launches that may outlast a write lease. Throws `LockError` if one was given.
  MEMARRAY_API void copy_for_launches();

  [[nodiscard]] AccessMode mode() const noexcept { return _mode; }
  [[nodiscard]] DType const& dtype() const noexcept { return _view ? _view->dtype() : _state->dtype(); }
  [[nodiscard]] std::string describe() const { return _view ? "a " + _view->describe() : _state->describe(); }
  [[nodiscard]] bool on_device() const noexcept { return _view ? _view->on_device() : _state->residency().on_device(); }
  /// Returns the device of device memory, else the CPU.
  [[nodiscard]] Device device() const;

  // Once held:
  [[nodiscard]] Extents extents() const noexcept { return _view ? _view->layout().shape() : _state->extents(); }
  [[nodiscard]] std::int64_t size() const noexcept { return _view ? _view->layout().size() : _state->size(); }
  /// Returns null for an array, which is dense.
  [[nodiscard]] ViewCore const* view() const noexcept { return _view; }
  /// Returns the old contents, as kernels address them.
  [[nodiscard]] std::byte const* source() const noexcept { return _source; }
  /// Returns the new contents: `source()`, or fresh memory under escaped views.
  [[nodiscard]] std::byte* target() const noexcept { return _target; }
  /// True for an `update` array that writes fresh memory.
  [[nodiscard]] bool copies_old() const noexcept { return _mode == AccessMode::update && _source != _target; }

 private:
  friend class HeldArrays;
  friend class HeldLaunch;

  ArrayState* _state = nullptr;
  ViewCore const* _view = nullptr;  // instead of `_state`
  std::int64_t _lock_id = -1;
  std::byte const* _source = nullptr;
  std::byte* _target = nullptr;
  LockWord::Expected _expected = 0;
  AccessMode _mode = AccessMode::read;
  std::uint8_t _alignment = 1;
  bool _is_locked = false;  // by the lock word alone: private host memory without escaped views
  bool _is_partial = false;
  bool _is_result = false;
  bool _copies_all = false;
  ArrayStatePtr _kept;  // all other arrays: kernels may destroy or replace them
  std::unique_ptr<Acquisition> _acquired;
};

}  // namespace memarray::detail
