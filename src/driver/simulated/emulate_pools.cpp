#include "emulate_pools.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "poison.hpp"
#include "session.hpp"
#include "site.hpp"

namespace memarray::simulated::emulated {
namespace {

constexpr std::size_t round_up(std::size_t bytes) { return (bytes + granularity - 1) / granularity * granularity; }

// Callers hold the session's lock.
cu::Result allocate(Session& session, cu::DevicePtr* pointer, std::size_t bytes, std::shared_ptr<Pool> const& pool,
                    Stream& stream) {
  Arena& arena = session.memory.arena(pool->device);
  if (bytes == 0) return cuda_code::invalid_value;
  if (bytes > arena.bytes()) return cuda_code::out_of_memory;
  std::vector<std::shared_ptr<Freeing>> behind;
  auto const begin = pool->allocate(round_up(bytes), stream.handle, arena.free, behind);
  if (!begin) return cuda_code::out_of_memory;
  auto allocation = std::make_shared<Allocation>();
  allocation->begin = *begin;
  allocation->bytes = bytes;
  allocation->reserved = round_up(bytes);
  allocation->device = pool->device;
  allocation->pool = pool;
  allocation->site = current_site();
  allocation->is_ready = false;
  session.memory.add(allocation);
  std::byte* const reached = arena.reach(*begin);
  session.submit(stream, {.work =
                              [&session, allocation, reached, behind = std::move(behind)] {
                                for (auto const& freeing : behind) freeing->edge.arrive();
                                poison_new(reached, allocation->bytes);
                                std::lock_guard const guard(session.lock);
                                allocation->is_ready = true;
                              },
                          .after = {}});
  *pointer = *begin;
  return cuda_code::success;
}

// Callers hold the session's lock.
cu::Result free_in_order(Session& session, std::shared_ptr<Allocation> const& allocation, Stream& stream) {
  auto freeing = std::make_shared<Freeing>();
  freeing->stream = stream.handle;
  session.memory.remove(*allocation);
  std::byte* const reached = session.memory.arena(allocation->device).reach(allocation->begin);
  auto const is_pooled = allocation->pool != nullptr;
  // Later work in this stream may reuse the memory now.
  if (is_pooled) session.reclaim(*allocation, freeing);
  session.submit(stream, {.work =
                              [&session, allocation, freeing, reached, is_pooled] {
                                {
                                  std::lock_guard const guard(session.lock);
                                  allocation->is_freed = true;
                                  if (allocation->in_use > 0)
                                    session.violation(words("cuMemFreeAsync: memory freed while work used it: ",
                                                            session.memory.describe(allocation->begin)));
                                }
                                poison_freed(reached, allocation->bytes);
                                freeing->edge.leave();
                                std::lock_guard const guard(session.lock);
                                freeing->has_run.store(true, std::memory_order_release);
                                if (!is_pooled) {
                                  session.reclaim(*allocation, freeing);
                                } else if (allocation->pool->is_destroyed) {
                                  allocation->pool->trim(0, session.memory.arena(allocation->device).free);
                                }
                              },
                          .after = {}});
  return cuda_code::success;
}

}  // namespace

cu::Result cuMemPoolCreate(Session& session, cu::MemoryPool* pool, cu::MemoryPoolProperties const* properties) {
  if (!session.options.pools) return cuda_code::not_supported;
  if (properties->allocation_type != 1 || properties->location_type != 1) return cuda_code::invalid_value;
  if (!session.has_device(properties->location_id)) return cuda_code::invalid_device;
  std::lock_guard const guard(session.lock);
  auto created = std::make_shared<Pool>();
  created->handle = session.pools.next(session.number);
  created->device = properties->location_id;
  created->max_size = properties->max_size;
  created->site = current_site();
  *pool = created->handle;
  session.pools.add(*pool, std::move(created));
  return cuda_code::success;
}

cu::Result cuMemPoolDestroy(Session& session, cu::MemoryPool handle) {
  if (!session.options.pools) return cuda_code::not_supported;
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const pool = session.pool(handle, function::cuMemPoolDestroy, error);
  if (!pool) return error;
  if (pool->is_default) return cuda_code::invalid_value;
  // Allocations stay valid and return to the device at their free.
  pool->is_destroyed = true;
  pool->trim(0, session.memory.arena(pool->device).free);
  session.pools.remove(handle);
  return cuda_code::success;
}

cu::Result cuMemPoolSetAttribute(Session& session, cu::MemoryPool handle, int attribute, void* value) {
  if (!session.options.pools) return cuda_code::not_supported;
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const pool = session.pool(handle, function::cuMemPoolSetAttribute, error);
  return pool ? pool->set(attribute, value) : error;
}

cu::Result cuMemPoolGetAttribute(Session& session, cu::MemoryPool handle, int attribute, void* value) {
  if (!session.options.pools) return cuda_code::not_supported;
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const pool = session.pool(handle, function::cuMemPoolGetAttribute, error);
  return pool ? pool->get(attribute, value) : error;
}

cu::Result cuMemPoolTrimTo(Session& session, cu::MemoryPool handle, std::size_t bytes_to_keep) {
  if (!session.options.pools) return cuda_code::not_supported;
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const pool = session.pool(handle, function::cuMemPoolTrimTo, error);
  if (!pool) return error;
  pool->trim(bytes_to_keep, session.memory.arena(pool->device).free);
  return cuda_code::success;
}

cu::Result cuMemPoolSetAccess(Session& session, cu::MemoryPool handle, cu::MemoryAccess const* access,
                              std::size_t count) {
  if (!session.options.pools) return cuda_code::not_supported;
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const pool = session.pool(handle, function::cuMemPoolSetAccess, error);
  if (!pool) return error;
  auto reached_by = pool->reached_by;
  for (std::size_t i = 0; i < count; ++i) {
    auto const& [location_type, device, flags] = access[i];
    if (location_type != 1 || (flags != 0 && flags != 3)) return cuda_code::invalid_value;
    if (!session.has_device(device)) return cuda_code::invalid_device;
    if (device == pool->device) {
      if (flags == 0) return cuda_code::invalid_value;
    } else if (flags == 0) {
      reached_by.erase(device);
    } else if (!session.options.peer_access) {
      return cuda_code::invalid_device;
    } else {
      reached_by.insert(device);
    }
  }
  pool->reached_by = std::move(reached_by);
  return cuda_code::success;
}

cu::Result cuDeviceGetDefaultMemPool(Session& session, cu::MemoryPool* pool, cu::Device device) {
  if (!session.has_device(device)) return cuda_code::invalid_device;
  if (!session.options.pools) return cuda_code::not_supported;
  std::lock_guard const guard(session.lock);
  auto const& own = session.memory.default_pool(device);
  if (!own->handle) {
    own->handle = session.pools.next(session.number);
    session.pools.add(own->handle, own);
  }
  *pool = own->handle;
  return cuda_code::success;
}

cu::Result cuMemAllocFromPoolAsync(Session& session, cu::DevicePtr* pointer, std::size_t bytes, cu::MemoryPool handle,
                                   cu::Stream stream_handle) {
  if (!session.options.pools) return cuda_code::not_supported;
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const pool = session.pool(handle, function::cuMemAllocFromPoolAsync, error);
  auto const stream = pool ? session.working_stream(stream_handle, function::cuMemAllocFromPoolAsync, error) : nullptr;
  return stream ? allocate(session, pointer, bytes, pool, *stream) : error;
}

cu::Result cuMemAllocAsync(Session& session, cu::DevicePtr* pointer, std::size_t bytes, cu::Stream stream_handle) {
  if (!session.options.pools) return cuda_code::not_supported;
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const stream = session.working_stream(stream_handle, function::cuMemAllocAsync, error);
  return stream ? allocate(session, pointer, bytes, session.memory.default_pool(stream->device), *stream) : error;
}

cu::Result cuMemFreeAsync(Session& session, cu::DevicePtr pointer, cu::Stream stream_handle) {
  if (!session.options.pools) return cuda_code::not_supported;
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const stream = session.stream(stream_handle, function::cuMemFreeAsync, error);
  if (!stream) return error;
  auto const begin = static_cast<std::uintptr_t>(pointer);
  auto const allocation = session.memory.find(begin);
  if (!allocation || allocation->begin != begin || allocation->on_host) {
    char const* const what = session.memory.was_freed(begin) ? ": double free of " : ": invalid free of ";
    session.violation(words("cuMemFreeAsync", what, session.memory.describe(begin)));
    return cuda_code::invalid_value;
  }
  return free_in_order(session, allocation, *stream);
}

}  // namespace memarray::simulated::emulated
