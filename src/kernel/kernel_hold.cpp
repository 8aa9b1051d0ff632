#include <memarray/base/errors.hpp>
#include <memarray/detail/kernel/kernel_hold.hpp>

namespace memarray::detail {
namespace {

[[noreturn]] MEMARRAY_COLD void throw_hold_under_id(KernelHold const& hold) {
  throw LockError("hold takes no lock id, because it may outlast the write lease: close the lease of " +
                  hold.describe() + " first");
}

}  // namespace

Device KernelHold::device() const {
  if (!_view) return _state->residency().device();
  return _view->on_device() ? _view->device() : Device{};
}

void KernelHold::copy_for_launches() {
  if (_lock_id >= 0) throw_hold_under_id(*this);
  copy_all();
}

}  // namespace memarray::detail
