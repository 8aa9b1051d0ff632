#include "emulate_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "poison.hpp"
#include "session.hpp"
#include "site.hpp"

namespace memarray::simulated::emulated {
namespace {

constexpr std::size_t page = 4096;
// No host has more. Larger requests end the process in a sanitizer's allocator.
constexpr std::size_t most_on_host = std::size_t{1} << 39;

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

std::shared_ptr<Allocation> make_allocation(Context const& context, Allocation::Kind kind, std::uintptr_t begin,
                                            std::size_t bytes, std::size_t reserved) {
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = kind;
  allocation->begin = begin;
  allocation->bytes = bytes;
  allocation->reserved = reserved;
  allocation->device = context.device;
  allocation->context = context.handle;
  allocation->site = current_site();
  return allocation;
}

cu::Result allocate_on_host(Session& session, std::uintptr_t* pointer, std::size_t bytes, Allocation::Kind kind,
                            std::size_t function) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const context = session.working_context(function, error);
  if (!context) return error;
  if (bytes == 0) return cuda_code::invalid_value;
  if (bytes > most_on_host) return cuda_code::out_of_memory;
  std::size_t const reserved = round_up(bytes, page);
  std::unique_ptr<std::byte, FreeHostBytes> memory(static_cast<std::byte*>(std::aligned_alloc(page, reserved)));
  if (!memory) return cuda_code::out_of_memory;
  poison_new(memory.get(), bytes);
  auto const allocation =
      make_allocation(*context, kind, reinterpret_cast<std::uintptr_t>(memory.get()), bytes, reserved);
  allocation->on_host = std::move(memory);
  session.memory.add(allocation);
  *pointer = allocation->begin;
  return cuda_code::success;
}

// Misuse is a violation. Callers hold the lock.
std::shared_ptr<Allocation> find_to_free(Session& session, std::uintptr_t begin, bool is_pinned, char const* function) {
  auto allocation = session.memory.find(begin);
  if (allocation && allocation->begin == begin && (allocation->kind == Allocation::Kind::pinned) == is_pinned)
    return allocation;
  char const* const what = session.memory.was_freed(begin) ? ": double free of " : ": invalid free of ";
  session.violation(words(function, what, session.memory.describe(begin)));
  return nullptr;
}

enum class PointerAttribute { context = 1, memory_type = 2, is_managed = 8, device_ordinal = 9 };
constexpr int host_memory = 1;
constexpr int device_memory = 2;

}  // namespace

cu::Result cuMemAlloc(Session& session, cu::DevicePtr* pointer, std::size_t bytes) {
  std::byte* reached = nullptr;
  std::vector<std::shared_ptr<Freeing>> behind;
  {
    std::lock_guard const guard(session.lock);
    cu::Result error = cuda_code::success;
    auto const context = session.working_context(function::cuMemAlloc, error);
    if (!context) return error;
    Arena& arena = session.memory.arena(context->device);
    if (bytes == 0) return cuda_code::invalid_value;
    if (bytes > arena.bytes()) return cuda_code::out_of_memory;
    std::size_t const reserved = round_up(bytes, granularity);
    auto const begin = arena.free.take(reserved, [](Freeing const&) { return true; }, behind);
    if (!begin) return cuda_code::out_of_memory;
    session.memory.add(make_allocation(*context, Allocation::Kind::device, *begin, bytes, reserved));
    reached = arena.reach(*begin);
    *pointer = *begin;
  }
  for (auto const& freeing : behind) freeing->edge.arrive();
  poison_new(reached, bytes);
  return cuda_code::success;
}

cu::Result cuMemFree(Session& session, cu::DevicePtr pointer) {
  if (pointer == 0) return cuda_code::success;
  std::shared_ptr<Allocation> allocation;
  std::vector<std::shared_ptr<Completion>> work;
  {
    std::lock_guard const guard(session.lock);
    allocation = find_to_free(session, static_cast<std::uintptr_t>(pointer), false, "cuMemFree");
    if (!allocation) return cuda_code::invalid_value;
    session.memory.remove(*allocation);
    work = session.work([&](Context const& context) { return context.device == allocation->device; });
  }
  wait(work);
  if (allocation->on_host) {
    std::lock_guard const guard(session.lock);
    allocation->is_freed = true;
    return cuda_code::success;
  }
  poison_freed(session.memory.reach(*allocation, allocation->begin), allocation->bytes);
  auto freeing = freed_now();
  std::lock_guard const guard(session.lock);
  allocation->is_freed = true;
  session.reclaim(*allocation, std::move(freeing));
  session.trim_pools();
  return cuda_code::success;
}

cu::Result cuMemAllocManaged(Session& session, cu::DevicePtr* pointer, std::size_t bytes, unsigned flags) {
  if (flags != 1 && flags != 2) return cuda_code::invalid_value;
  std::uintptr_t begin = 0;
  cu::Result const result =
      allocate_on_host(session, &begin, bytes, Allocation::Kind::managed, function::cuMemAllocManaged);
  if (result == cuda_code::success) *pointer = begin;
  return result;
}

cu::Result cuMemHostAlloc(Session& session, void** pointer, std::size_t bytes, unsigned flags) {
  if (flags > 7) return cuda_code::invalid_value;
  std::uintptr_t begin = 0;
  cu::Result const result =
      allocate_on_host(session, &begin, bytes, Allocation::Kind::pinned, function::cuMemHostAlloc);
  if (result == cuda_code::success) *pointer = reinterpret_cast<void*>(begin);
  return result;
}

// CUDA's documentation does not promise a wait.
cu::Result cuMemFreeHost(Session& session, void* pointer) {
  if (!pointer) return cuda_code::success;
  std::lock_guard const guard(session.lock);
  auto const allocation = find_to_free(session, reinterpret_cast<std::uintptr_t>(pointer), true, "cuMemFreeHost");
  if (!allocation) return cuda_code::invalid_value;
  if (allocation->in_use > 0)
    session.violation(
        words("cuMemFreeHost: memory freed while work used it: ", session.memory.describe(allocation->begin)));
  allocation->is_freed = true;
  session.memory.remove(*allocation);
  return cuda_code::success;
}

cu::Result cuPointerGetAttribute(Session& session, void* value, int attribute, cu::DevicePtr pointer) {
  std::lock_guard const guard(session.lock);
  auto const allocation = session.memory.find(static_cast<std::uintptr_t>(pointer));
  if (!allocation) return cuda_code::invalid_value;
  switch (static_cast<PointerAttribute>(attribute)) {
    case PointerAttribute::context:
      *static_cast<cu::Context*>(value) = allocation->context;  // null for pool memory
      return cuda_code::success;
    case PointerAttribute::memory_type:
      *static_cast<unsigned*>(value) = allocation->kind == Allocation::Kind::pinned ? host_memory : device_memory;
      return cuda_code::success;
    case PointerAttribute::is_managed:
      *static_cast<unsigned*>(value) = allocation->kind == Allocation::Kind::managed ? 1 : 0;
      return cuda_code::success;
    case PointerAttribute::device_ordinal: *static_cast<int*>(value) = allocation->device; return cuda_code::success;
  }
  return cuda_code::invalid_value;
}

}  // namespace memarray::simulated::emulated
