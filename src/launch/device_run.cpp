#include <memarray/base/hooks.hpp>
#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/simulated_devices.hpp>

#include <cstring>

namespace memarray::detail {
DeviceRun::DeviceRun(DeviceMemory& memory, BoundStream const& bound_stream, char const* what)
    : _bound_stream(bound_stream), _memory(memory), _context(bound_stream.context, what) {}

DeviceRun::~DeviceRun() {
  MemoryResource resource = _memory.memory();
  for (Scratch const& each : _scratch) resource.deallocate(_bound_stream.stream, each.data, each.bytes);
}

std::byte* DeviceRun::scratch(std::size_t bytes) {
  _scratch.reserve(_scratch.size() + 1);
  MemoryResource resource = _memory.memory();
  auto* const data = static_cast<std::byte*>(resource.allocate(_bound_stream.stream, bytes));
  _scratch.push_back({data, bytes});
  return data;
}

std::byte* DeviceRun::upload(std::size_t bytes, std::byte const* data) {
  std::byte* const target = scratch(bytes);
  // Staged: the driver may read the source until the stream reaches the copy.
  BlockPtr const staging = staging_block(_memory, bytes);
  StreamDependencies& uses = staging->uses_on(_memory.shared_from_this());
  std::memcpy(staging->data(), data, bytes);
  RuntimeRelease const released;
  check_driver(
      _context.driver().cuMemcpyHtoDAsync(device_address(target), staging->data(), bytes, *_bound_stream.stream),
      "copying from the host to a device");
  uses.submitted(end_of(_bound_stream, _memory), Use::read);
  return target;
}

void DeviceRun::read_back(std::initializer_list<Piece> pieces) {
  std::size_t total = 0;
  for (Piece const& piece : pieces) total += piece.bytes;
  // Staged: copies may still be pending when an error is thrown.
  BlockPtr const staging = staging_block(_memory, total);
  StreamDependencies& uses = staging->uses_on(_memory.shared_from_this());
  RuntimeRelease const released;
  try {
    std::byte* at = staging->data();
    for (Piece const& piece : pieces) {
      check_driver(
          _context.driver().cuMemcpyDtoHAsync(at, device_address(piece.from), piece.bytes, *_bound_stream.stream),
          "copying from a device to the host");
      at += piece.bytes;
    }
    testing::detail::WaitSite const site("a kernel that has a result");
    bool const ended = synchronize(_bound_stream);
    if (!ended) throw_last_error("waiting for a kernel");
  } catch (...) {
    wait_after_failure(_bound_stream, {{&uses, Use::write}});
    throw;
  }
  std::byte const* at = staging->data();
  for (Piece const& piece : pieces) {
    std::memcpy(piece.to, at, piece.bytes);
    at += piece.bytes;
  }
}

}  // namespace memarray::detail
