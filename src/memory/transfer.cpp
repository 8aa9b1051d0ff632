#include "base/loop_pool.hpp"

#include <memarray/base/hooks.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/base/threads.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/driver/stream_order.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace memarray::detail {
namespace {

// Larger transfers through pinned memory are cut into pieces. Smaller pieces wake the host's threads too often.
constexpr std::size_t staging_bytes = std::size_t{16} << 20;
// Smaller sizes are rounded up to it.
constexpr std::size_t least_staging = std::size_t{1} << 12;
constexpr std::size_t pattern_bytes = std::size_t{1} << 16;

void copy_on_threads(std::byte* target, std::byte const* source, std::size_t bytes) noexcept {
  auto const size = static_cast<std::int64_t>(bytes);
  std::int64_t const chunks = parallel_chunks(bytes);
  parallel_for(chunks, [=](std::int64_t chunk) {
    std::int64_t const begin = begin_of_part(size, chunks, chunk);
    std::memcpy(target + begin, source + begin,
                static_cast<std::size_t>(begin_of_part(size, chunks, chunk + 1) - begin));
  });
}

class Submission {
 public:
  explicit Submission(BoundStream const& bound_stream) noexcept : _bound_stream(bound_stream) {}

  void to_device(std::byte* target, std::byte const* source, std::size_t bytes) const {
    check_driver(
        Current(_bound_stream).driver().cuMemcpyHtoDAsync(device_address(target), source, bytes, *_bound_stream.stream),
        "copying from the host to a device");
  }
  void to_host(std::byte* target, std::byte const* source, std::size_t bytes) const {
    check_driver(
        Current(_bound_stream).driver().cuMemcpyDtoHAsync(target, device_address(source), bytes, *_bound_stream.stream),
        "copying from a device to the host");
  }
  void on_device(std::byte* target, std::byte const* source, std::size_t bytes) const {
    check_driver(Current(_bound_stream)
                     .driver()
                     .cuMemcpyDtoDAsync(device_address(target), device_address(source), bytes, *_bound_stream.stream),
                 "copying on a device");
  }
  void to_peer(std::byte* target, DeviceMemory& target_memory, std::byte const* source, DeviceMemory& source_memory,
               std::size_t bytes) const {
    check_driver(Current(_bound_stream)
                     .driver()
                     .cuMemcpyPeerAsync(device_address(target), as_cu(target_memory.context()), device_address(source),
                                        as_cu(source_memory.context()), bytes, *_bound_stream.stream),
                 "copying between devices");
  }
  void set(std::byte* target, unsigned char value, std::size_t bytes) const {
    check_driver(
        Current(_bound_stream).driver().cuMemsetD8Async(device_address(target), value, bytes, *_bound_stream.stream),
        "filling memory of a device");
  }
  /// Copies on host threads, in stream order.
  void on_host(std::byte* target, std::byte const* source, std::size_t bytes) const {
    struct Work {
      std::byte* target;
      std::byte const* source;
      std::size_t bytes;
    };
    auto work = std::make_unique<Work>(Work{target, source, bytes});
    cu::HostFunction const run = [](void* data) {
      std::unique_ptr<Work> const todo(static_cast<Work*>(data));
      copy_on_threads(todo->target, todo->source, todo->bytes);
    };
    check_driver(Current(_bound_stream).driver().cuLaunchHostFunc(*_bound_stream.stream, run, work.get()),
                 "copying on the host in a stream's order");
    [[maybe_unused]] Work* const taken = work.release();
  }

 private:
  // The driver resolves default streams in the current context, and calls for two streams may alternate.
  class Current {
   public:
    explicit Current(BoundStream const& bound_stream) : _context(bound_stream.context, "using a device") {}
    [[nodiscard]] DriverTable const& driver() const noexcept { return _context.driver(); }

   private:
    EnteredContext _context;
  };

  BoundStream const& _bound_stream;
};

template <class Body>
void submit(BoundStream const& bound_stream, std::initializer_list<UseOf> uses, Body const& body) {
  try {
    Submission const submission(bound_stream);
    body(submission);
  } catch (...) {
    wait_after_failure(bound_stream, uses);
    throw;
  }
}

bool is_pageable(Block const& block) noexcept { return block.memory_type() == MemoryType::normal; }

/// Copies by way of pinned memory: `fill` submits the copy of a piece of the source into a buffer, in a stream of
/// `memory`; `drain` the copy onward, in `bound_stream`, on the device of `drains`. The next piece is filled meanwhile.
template <class Fill, class Drain>
void copy_in_pieces(Block& source, std::size_t bytes, DeviceMemory& memory, BoundStream const& bound_stream,
                    DeviceMemory& drains, Fill const& fill, Drain const& drain) {
  bool const is_large = bytes > staging_bytes;
  // Large copies hold up a stream, so it is theirs alone.
  BoundStream const fills = is_large ? memory.make_stream() : memory.internal_stream();
  std::array<BlockPtr, 2> buffers;
  std::array<StreamDependencies*, 2> uses{};
  for (std::size_t k = 0; k < (is_large ? 2 : 1); ++k) {
    buffers[k] = staging_block(memory, std::min(bytes, staging_bytes));
    uses[k] = &buffers[k]->uses_on(memory.shared_from_this());
  }
  source.uses()->order(fills, Use::read, "copying in pieces, after the source's writer");
  submit(fills, {{source.uses(), Use::read}, {uses[0], Use::write}, {uses[1], Use::write}},
         [&](Submission const& submission) {
           std::size_t k = 0;
           for (std::size_t at = 0; at < bytes; at += staging_bytes, k = 1 - k) {
             std::size_t const length = std::min(staging_bytes, bytes - at);
             uses[k]->order(fills, Use::write, "copying in pieces, after the buffer's last piece left");
             fill(submission, buffers[k]->data(), at, length);
             uses[k]->submitted(end_of(fills, memory), Use::write);
             uses[k]->order(bound_stream, Use::read, "copying in pieces, after the piece came into the buffer");
             drain(buffers[k]->data(), at, length);
             uses[k]->submitted(end_of(bound_stream, drains), Use::read);
           }
         });
  source.uses()->submitted(end_of(fills, memory), Use::read);
}

void copy_between_devices(Submission const& submission, Block& target, Block& source, std::byte const* from_data,
                          std::size_t bytes, BoundStream const& bound_stream) {
  DeviceMemory& to = target.uses()->memory();
  DeviceMemory& from = source.uses()->memory();
  if (&to == &from) return submission.on_device(target.data(), from_data, bytes);
  if (from.reaches(to) || to.reaches(from)) return submission.to_peer(target.data(), to, from_data, from, bytes);
  copy_in_pieces(
      source, bytes, from, bound_stream, to,
      [&](Submission const& outward, std::byte* buffer, std::size_t at, std::size_t length) {
        outward.to_host(buffer, from_data + at, length);
      },
      [&](std::byte const* buffer, std::size_t at, std::size_t length) {
        submission.to_device(target.data() + at, buffer, length);
      });
}

/// Copies between pageable memory and a device. `staging` holds all bytes, or is null for a large copy.
void copy_through_staging(Submission const& submission, Block& target, Block& source, std::byte const* from,
                          std::size_t bytes, BoundStream const& bound_stream, Block* staging) {
  bool const inward = target.is_on_device();
  auto const fill = [&](Submission const& by, std::byte* buffer, std::size_t at, std::size_t length) {
    if (inward)
      by.on_host(buffer, from + at, length);
    else
      by.to_host(buffer, from + at, length);
  };
  auto const drain = [&](std::byte const* buffer, std::size_t at, std::size_t length) {
    if (inward)
      submission.to_device(target.data() + at, buffer, length);
    else
      submission.on_host(target.data() + at, buffer, length);
  };
  if (staging) {
    fill(submission, staging->data(), 0, bytes);
    return drain(staging->data(), 0, bytes);
  }
  DeviceMemory& memory = (inward ? target : source).uses()->memory();
  copy_in_pieces(source, bytes, memory, bound_stream, memory, fill, drain);
}

}  // namespace

BlockPtr staging_block(DeviceMemory& memory, std::size_t bytes) {
  return Block::allocate(memory.staging(), std::max(bytes, least_staging), Block::Contents::uninitialized);
}

void copy(Block& target, Block& source, std::size_t bytes, BoundStream const& bound_stream, CopyMode ending,
          std::size_t offset) {
  if (bytes == 0) return;
  bool const on_devices = target.is_on_device() && source.is_on_device();
  Block& on_device = target.is_on_device() ? target : source;
  Block& other = &on_device == &target ? source : target;
  DeviceMemoryPtr const memory = on_device.uses()->memory_ptr();
  StreamDependencies& target_uses = target.uses_on(memory);
  StreamDependencies& source_uses = source.uses_on(memory);

  RuntimeRelease const released;
  bool const through_staging = !on_devices && is_pageable(other) && ending == CopyMode::async;
  BlockPtr const staging = through_staging && bytes <= staging_bytes ? staging_block(*memory, bytes) : BlockPtr();
  // The driver may read pageable memory before earlier work in the stream completes.
  if (!on_devices && !through_staging && is_pageable(source))
    source_uses.synchronize(Use::read, "copying pageable memory to a device, after work that writes it");
  source_uses.order(bound_stream, Use::read, "copying, after the source's writer");
  target_uses.order(bound_stream, Use::write, "copying, after the target's users");
  StreamDependencies* const staging_uses = staging ? &staging->uses_on(memory) : nullptr;
  submit(bound_stream, {{&source_uses, Use::read}, {&target_uses, Use::write}, {staging_uses, Use::write}},
         [&](Submission const& submission) {
           std::byte const* const from = source.data() + offset;
           if (on_devices) return copy_between_devices(submission, target, source, from, bytes, bound_stream);
           if (through_staging)
             return copy_through_staging(submission, target, source, from, bytes, bound_stream, staging.get());
           if (target.is_on_device()) return submission.to_device(target.data(), from, bytes);
           submission.to_host(target.data(), from, bytes);
         });
  PendingWork end = end_of(bound_stream, *memory);
  bool is_over = !end.is_unknown;
  if (ending == CopyMode::blocking && end.event) {
    testing::detail::WaitSite const site("a blocking copy");
    is_over = memarray::synchronize(end.event);
    if (is_over) end.event = nullptr;
  }
  source_uses.submitted(end, Use::read);
  target_uses.submitted(end, Use::write);
  if (staging_uses) staging_uses->submitted(end, Use::write);
  if (ending == CopyMode::blocking && !is_over) throw_last_error("waiting for a copy");
}

void wait_after_failure(BoundStream const& bound_stream, std::initializer_list<UseOf> uses) noexcept {
  if (!end_now(bound_stream))
    for (auto const& [of, use] : uses)
      if (of) of->submitted({bound_stream, nullptr, true}, use);
  clear_last_error();
}

TransferStreams transfer_streams(StreamHandle const& stream, Block const& source, DeviceMemory const& memory,
                                 bool is_sources) {
  ContextHandle const of_stream = context_of(stream);
  bool const in_source =
      source.is_on_device() && (is_sources || (of_stream && device_id_of(of_stream) == source.device().id));
  BoundStream copies = bind_stream(stream, in_source ? source.uses()->memory().context() : memory.context());
  BoundStream allocates = in_source ? bind_stream(default_stream(), memory.context()) : copies;
  return {std::move(copies), std::move(allocates), in_source};
}

void record_allocation(Block& fresh, BoundStream const& bound_stream) noexcept {
  StreamDependencies& uses = *fresh.uses();
  uses.submitted(end_of(bound_stream, uses.memory()), Use::write);
}

void report_transfer(std::string const& what, Device from, Device to, std::size_t bytes) {
  std::atomic<std::int64_t>& direction = from.is_cpu() ? counters().to_device_bytes
                                         : to.is_cpu() ? counters().to_host_bytes
                                                       : counters().between_devices_bytes;
  auto const moved = static_cast<std::int64_t>(bytes);
  direction.fetch_add(moved, std::memory_order_relaxed);
  report_copy(moved, what + " went from " + to_string(from) + " to " + to_string(to));
}

void fill(Block& target, std::size_t offset, void const* element, std::size_t itemsize, std::size_t count,
          BoundStream const& bound_stream) {
  std::size_t const bytes = itemsize * count;
  if (bytes == 0) return;
  StreamDependencies& uses = *target.uses();
  DeviceMemory& memory = uses.memory();
  auto const* const item = static_cast<unsigned char const*>(element);
  bool const one_byte = std::all_of(item, item + itemsize, [&](unsigned char byte) { return byte == item[0]; });
  // Repetitions, then doublings, need no kernel and no CUDA compiler.
  std::size_t const repeats = std::max<std::size_t>(1, std::min(count, pattern_bytes / itemsize));
  BlockPtr staging;
  if (!one_byte) {
    // One element may be larger than `staging_bytes`.
    staging = staging_block(memory, repeats * itemsize);
    for (std::size_t i = 0; i < repeats; ++i) std::memcpy(staging->data() + i * itemsize, item, itemsize);
  }
  RuntimeRelease const released;
  uses.order(bound_stream, Use::write, "filling, after the target's users");
  StreamDependencies* const staging_uses = staging ? &staging->uses_on(uses.memory_ptr()) : nullptr;
  submit(bound_stream, {{&uses, Use::write}, {staging_uses, Use::read}}, [&](Submission const& submission) {
    std::byte* const first = target.data() + offset;
    if (one_byte) return submission.set(first, item[0], bytes);
    submission.to_device(first, staging->data(), repeats * itemsize);
    for (std::size_t have = repeats * itemsize; have < bytes; have *= 2)
      submission.on_device(first + have, first, std::min(have, bytes - have));
  });
  PendingWork const end = end_of(bound_stream, memory);
  uses.submitted(end, Use::write);
  if (staging_uses) staging_uses->submitted(end, Use::read);
}

namespace {

void wait_for(BoundStream const& bound_stream, char const* what) {
  testing::detail::WaitSite const site(what);
  if (!synchronize(bound_stream)) throw_last_error(what);
}

}  // namespace

// Both wait, as the driver may access the caller's memory until the copy completes.
void read_bytes(Block& source, std::size_t offset, void* target, std::size_t bytes) {
  StreamDependencies& uses = *source.uses();
  BoundStream const bound_stream = uses.memory().internal_stream();
  RuntimeRelease const released;
  uses.order(bound_stream, Use::read, "reading an element, after the array's writer");
  submit(bound_stream, {{&uses, Use::read}}, [&](Submission const& submission) {
    submission.to_host(static_cast<std::byte*>(target), source.data() + offset, bytes);
    wait_for(bound_stream, "reading an element");
  });
}

void write_bytes(Block& target, std::size_t offset, void const* source, std::size_t bytes) {
  StreamDependencies& uses = *target.uses();
  BoundStream const bound_stream = uses.memory().internal_stream();
  RuntimeRelease const released;
  uses.order(bound_stream, Use::write, "writing an element, after the array's users");
  submit(bound_stream, {{&uses, Use::write}}, [&](Submission const& submission) {
    submission.to_device(target.data() + offset, static_cast<std::byte const*>(source), bytes);
    wait_for(bound_stream, "writing an element");
  });
}

BlockPtr allocate_for(std::string const& what, DeviceMemoryPtr const& memory, BoundStream const& bound_stream,
                      std::size_t bytes) {
  if (!memory->driver().is_simulated()) return Block::allocate(memory, bound_stream, bytes);
  testing::detail::AllocationOwner const shown(what);
  return Block::allocate(memory, bound_stream, bytes);
}

}  // namespace memarray::detail
