#include "strided/host_memory.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/state/trace.hpp>
#include <memarray/memory/default_resource.hpp>

#include <sched.h>

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace memarray::detail {
namespace {

void check_device_id(int device_id) {
  if (device_id < 0) throw ValueError("device_id is " + std::to_string(device_id) + "; device ids start at 0");
}

EscapedViews default_policy() noexcept { return options().escaped_views.load(std::memory_order_relaxed); }

}  // namespace

ArrayStatePtr ArrayState::make(DType const& dtype, Extents shape, int device_id, ArrayOptions const& options) {
  check_device_id(device_id);
  if (options.resource && !*options.resource)
    throw ValueError("ArrayOptions::resource is empty; leave it out for the pooled host memory");
  if (options.resource) check_host_reaches(options.resource->memory_type(), "ArrayOptions::resource");
  std::size_t const bytes = checked_bytes(checked_size(shape), dtype.itemsize);
  bool const zero = !options.uninitialized && dtype.init == nullptr;
  BlockPtr block =
      Block::allocate(options.resource, bytes, zero ? Block::Contents::zero : Block::Contents::uninitialized);
  if (!options.uninitialized && dtype.init != nullptr)
    fill_host(block->data(), dtype.init, dtype.itemsize, bytes / dtype.itemsize);
  return make_from_block(dtype, shape, std::move(block), device_id, options.escaped_views.value_or(default_policy()),
                         options.resource);
}

ArrayStatePtr ArrayState::make_on_device(DType const& dtype, Extents shape, int device_id,
                                         ArrayOptions const& options) {
  check_device_id(device_id);
  std::int64_t const size = checked_size(shape);
  std::size_t const bytes = checked_bytes(size, dtype.itemsize);
  DeviceMemoryPtr const memory = DeviceMemory::of(device_id);
  BoundStream const bound_stream = bind_stream(default_stream(), memory->context());
  BlockPtr block = allocate_for("a new array of " + std::string(dtype.name_view()), memory, bound_stream, bytes);
  if (!options.uninitialized) {
    std::vector<std::byte> const zero(dtype.itemsize);
    fill(*block, 0, dtype.init ? dtype.init : zero.data(), dtype.itemsize, static_cast<std::size_t>(size),
         bound_stream);
  } else {
    record_allocation(*block, bound_stream);
  }
  return make_from_block(dtype, shape, std::move(block), device_id, options.escaped_views.value_or(default_policy()),
                         std::nullopt);
}

ArrayStatePtr ArrayState::make_from_block(DType const& dtype, Extents shape, BlockPtr block) {
  return make_from_block(dtype, shape, std::move(block), 0, default_policy(), std::nullopt);
}

ArrayStatePtr ArrayState::make_shared(DType const& dtype, Extents shape, BlockPtr host, Segment& segment) {
  EscapedViews const usual = default_policy();
  ArrayStatePtr state = make_from_block(dtype, shape, std::move(host), 0,
                                        usual == EscapedViews::snapshot ? EscapedViews::error : usual, std::nullopt);
  state->_lock.add_segment(segment);
  return state;
}

ArrayStatePtr ArrayState::make_like(BlockPtr block) const {
  return make_from_block(_dtype, extents(), std::move(block), _residency.device_id(), escaped_views(),
                         _residency.resource());
}

ArrayStatePtr ArrayState::make_from_block(DType const& dtype, Extents shape, BlockPtr block, int device_id,
                                          EscapedViews policy, std::optional<MemoryResource> resource) {
  void* const memory = ::operator new(sizeof(ArrayState) + shape.size() * sizeof(std::int64_t));
  return ArrayStatePtr(new (memory) ArrayState(dtype, shape, std::move(block), device_id, policy, std::move(resource)));
}

ArrayState::ArrayState(DType const& dtype, Extents shape, BlockPtr block, int device_id, EscapedViews policy,
                       std::optional<MemoryResource> resource) noexcept
    : _residency(std::move(block), device_id, std::move(resource)),
      _policy(policy),
      _dtype(dtype),
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

// Stores under a sequence lock: `copy_shape` retries if the version is odd or has changed.
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

void ArrayState::set_escaped_views(EscapedViews policy) {
  if (_lock.segment() && policy == EscapedViews::snapshot)
    throw ValueError(
        "the escaped_views policy of an array in shared memory is 'error' or 'alias': it cannot continue in "
        "fresh memory, which other processes would not see");
  _policy.store(policy, std::memory_order_relaxed);
}

std::string ArrayState::describe() const {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(_ndim));
  copy_shape(extents.data());
  return "MemArray<" + std::string(_dtype.name_view()) + ", " + std::to_string(_ndim) + "> of shape " +
         shape_text(extents);
}

void ArrayState::refuse(char const* what, std::int64_t lock_id) const {
  std::string message = std::string(what) + " is refused on " + describe() + ": " + _lock.obstacle(lock_id);
  for (std::string const& line : traced_leases(this)) message += "\n  opened at " + line;
  throw LockError(message);
}

void ArrayState::check_policy(Block::Exports exports, char const* what) const {
  if (exports.total() == 0 || escaped_views() != EscapedViews::error) return;
  throw LockError(std::string(what) + " is refused on " + describe() + ": " + std::to_string(exports.total()) +
                  " exported view(s) of it are still alive (" + std::to_string(exports.writable) +
                  " writable) and its escaped_views policy is 'error'; drop them first");
}

void ArrayState::check_not_shared(char const* what) const {
  if (_lock.segment())
    throw Error(std::string(what) + " is refused on " + describe() +
                ", which is in shared memory: other processes have it there, with that shape; copy() it, and use the "
                "copy");
}

}  // namespace memarray::detail
