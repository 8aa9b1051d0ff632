#include "emulate_copies.hpp"

#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "session.hpp"
#include "use.hpp"

namespace memarray::simulated::emulated {
namespace {

enum class Side { host, device };

constexpr std::chrono::milliseconds lateness(2);

// Callers of these three functions hold the session's lock.
std::optional<MemoryRange> find_range(Session& session, std::uintptr_t address, std::size_t bytes, Side side,
                                      std::size_t function) {
  auto allocation = session.memory.find(address);
  bool const is_device_memory = session.memory.arena_of(address) != nullptr;
  if (side == Side::host && !allocation && !is_device_memory)
    return MemoryRange{reinterpret_cast<std::byte*>(address), address, nullptr};
  char const* wrong = nullptr;
  if (!allocation) {
    wrong = session.memory.describe(address).find("freed") != std::string::npos ? "use after free of "
                                                                                : "memory that is not allocated: ";
  } else if (side == Side::host && is_device_memory) {
    wrong = "device memory instead of host memory: ";
  } else if (bytes > allocation->bytes - (address - allocation->begin)) {
    wrong = "out of bounds: ";
  }
  if (wrong) {
    session.violation(
        words(function_name(function), ": ", wrong, bytes, " bytes from ", session.memory.describe(address)));
    return std::nullopt;
  }
  return MemoryRange{session.memory.reach(*allocation, address), address, std::move(allocation)};
}

std::shared_ptr<Completion> submit_copy(Session& session, Stream& stream, MemoryRange target, MemoryRange source,
                                        std::size_t bytes, std::shared_ptr<std::byte[]> staged, std::size_t function) {
  char const* const what = function_name(function);
  bool const is_late = session.options.late_copies && (target.is_pageable() || source.is_pageable());
  return session.submit(stream, {.work =
                                     [&session, what, bytes, is_late, staged = std::move(staged),
                                      ranges = std::vector{std::move(target), std::move(source)}] {
                                       if (is_late) std::this_thread::sleep_for(lateness);
                                       Use const use(session, what, ranges);
                                       Visible const visible;
                                       std::memmove(ranges[0].bytes, ranges[1].bytes, bytes);
                                     },
                                 .after = {},
                                 .takes_time = true});
}

cu::Result copy_on_devices(Session& session, cu::DevicePtr target_address, cu::DevicePtr source_address,
                           std::size_t bytes, cu::Stream handle, std::size_t function) {
  cu::Result error = cuda_code::success;
  auto const stream = session.working_stream(handle, function, error);
  if (!stream) return error;
  if (bytes == 0) return cuda_code::success;
  auto target = find_range(session, static_cast<std::uintptr_t>(target_address), bytes, Side::device, function);
  auto source = find_range(session, static_cast<std::uintptr_t>(source_address), bytes, Side::device, function);
  if (!target || !source) return cuda_code::invalid_value;
  submit_copy(session, *stream, std::move(*target), std::move(*source), bytes, nullptr, function);
  return cuda_code::success;
}

}  // namespace

cu::Result cuMemcpyHtoDAsync(Session& session, cu::DevicePtr target_address, void const* source_address,
                             std::size_t bytes, cu::Stream handle) {
  std::optional<MemoryRange> target;
  std::optional<MemoryRange> source;
  std::shared_ptr<Stream> stream;
  {
    std::lock_guard const guard(session.lock);
    cu::Result error = cuda_code::success;
    stream = session.working_stream(handle, function::cuMemcpyHtoDAsync, error);
    if (!stream) return error;
    if (bytes == 0) return cuda_code::success;
    target = find_range(session, static_cast<std::uintptr_t>(target_address), bytes, Side::device,
                        function::cuMemcpyHtoDAsync);
    source = find_range(session, reinterpret_cast<std::uintptr_t>(source_address), bytes, Side::host,
                        function::cuMemcpyHtoDAsync);
    if (!target || !source) return cuda_code::invalid_value;
  }
  std::shared_ptr<std::byte[]> staged;
  if (source->is_pageable() && !session.options.late_copies) {
    staged = std::make_shared_for_overwrite<std::byte[]>(bytes);
    Visible const visible;
    std::memcpy(staged.get(), source_address, bytes);
  }
  if (staged) source->bytes = staged.get();
  std::lock_guard const guard(session.lock);
  submit_copy(session, *stream, std::move(*target), std::move(*source), bytes, std::move(staged),
              function::cuMemcpyHtoDAsync);
  return cuda_code::success;
}

cu::Result cuMemcpyDtoHAsync(Session& session, void* target_address, cu::DevicePtr source_address, std::size_t bytes,
                             cu::Stream handle) {
  std::shared_ptr<Completion> completion;
  cu::Context context = nullptr;
  {
    std::lock_guard const guard(session.lock);
    cu::Result error = cuda_code::success;
    auto const stream = session.working_stream(handle, function::cuMemcpyDtoHAsync, error);
    if (!stream) return error;
    if (bytes == 0) return cuda_code::success;
    auto target = find_range(session, reinterpret_cast<std::uintptr_t>(target_address), bytes, Side::host,
                             function::cuMemcpyDtoHAsync);
    auto source = find_range(session, static_cast<std::uintptr_t>(source_address), bytes, Side::device,
                             function::cuMemcpyDtoHAsync);
    if (!target || !source) return cuda_code::invalid_value;
    bool const waits = target->is_pageable() && !session.options.late_copies;
    context = stream->context;
    completion = submit_copy(session, *stream, std::move(*target), std::move(*source), bytes, nullptr,
                             function::cuMemcpyDtoHAsync);
    if (!waits) return cuda_code::success;
  }
  completion->wait();
  std::lock_guard const guard(session.lock);
  return session.state_of(context);
}

cu::Result cuMemcpyDtoDAsync(Session& session, cu::DevicePtr target, cu::DevicePtr source, std::size_t bytes,
                             cu::Stream stream) {
  std::lock_guard const guard(session.lock);
  return copy_on_devices(session, target, source, bytes, stream, function::cuMemcpyDtoDAsync);
}

cu::Result cuMemcpyPeerAsync(Session& session, cu::DevicePtr target, cu::Context target_context, cu::DevicePtr source,
                             cu::Context source_context, std::size_t bytes, cu::Stream stream) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  for (auto const& [address, handle] : {std::pair(target, target_context), std::pair(source, source_context)}) {
    auto const context = session.context(handle, function::cuMemcpyPeerAsync, error);
    if (!context) return error;
    if (context->error != cuda_code::success) return context->error;
    auto const allocation = session.memory.find(static_cast<std::uintptr_t>(address));
    if (bytes == 0 || !allocation || allocation->device == context->device) continue;
    session.violation(words("cuMemcpyPeerAsync: ", session.memory.describe(static_cast<std::uintptr_t>(address)),
                            " is on device ", allocation->device, ", its context on ", context->device));
    return cuda_code::invalid_value;
  }
  return copy_on_devices(session, target, source, bytes, stream, function::cuMemcpyPeerAsync);
}

cu::Result cuMemsetD8Async(Session& session, cu::DevicePtr target_address, unsigned char value, std::size_t count,
                           cu::Stream handle) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const stream = session.working_stream(handle, function::cuMemsetD8Async, error);
  if (!stream) return error;
  if (count == 0) return cuda_code::success;
  auto target =
      find_range(session, static_cast<std::uintptr_t>(target_address), count, Side::device, function::cuMemsetD8Async);
  if (!target) return cuda_code::invalid_value;
  session.submit(*stream, {.work =
                               [&session, value, count, ranges = std::vector{std::move(*target)}] {
                                 Use const use(session, "cuMemsetD8Async", ranges);
                                 Visible const visible;
                                 std::memset(ranges[0].bytes, value, count);
                               },
                           .after = {},
                           .takes_time = true});
  return cuda_code::success;
}

}  // namespace memarray::simulated::emulated
