#include "strided/host_memory.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/state/segment_layout.hpp>

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

namespace memarray::detail {
namespace {

constexpr std::size_t alignment = 64;

constexpr std::uint32_t dl_bits(DLDataType type) noexcept {
  return static_cast<std::uint32_t>(type.code) << 24 | static_cast<std::uint32_t>(type.bits) << 16 | type.lanes;
}

std::uint64_t random_number() noexcept {
  std::uint64_t number = 0;
  while (number == 0)
    if (::getrandom(&number, sizeof number, 0) != sizeof number)
      number = this_process() ^ reinterpret_cast<std::uintptr_t>(&number);
  return number;
}

[[noreturn]] void throw_wrong(std::string const& why) {
  throw ValueError("this shared memory does not hold an array: " + why);
}

void check_alignment(std::span<std::byte const> memory, char const* what) {
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % alignment != 0)
    throw ValueError(std::string(what) + ": shared memory starts at a multiple of 64 bytes, as mappings do");
}

// MADV_POPULATE_WRITE, from Linux 5.14.
constexpr int populate_write = 23;

// The file system of `shm_open`; other mappings may be of another.
std::string free_shared_memory() {
  struct statvfs system{};
  if (::statvfs("/dev/shm", &system) != 0) return "/dev/shm, for shm_open";
  return "/dev/shm, for shm_open, has " + std::to_string(system.f_bavail * system.f_frsize) + " of " +
         std::to_string(system.f_blocks * system.f_frsize) + " bytes free";
}

// Faults in every page: missing memory is an exception, not a later SIGBUS. Older kernels (EINVAL) cannot.
void reserve(std::span<std::byte> memory) {
  auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto const address = reinterpret_cast<std::uintptr_t>(memory.data());
  std::uintptr_t const skipped = address % page;
  int failed = 0;
  do {
    failed = ::madvise(memory.data() - skipped, memory.size() + skipped, populate_write) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed == EINVAL || failed == 0) return;
  // EFAULT: a write would raise SIGBUS.
  throw std::system_error(failed == EFAULT ? ENOSPC : failed, std::generic_category(),
                          "an array in shared memory takes " + std::to_string(memory.size()) +
                              " bytes with its header, and not all of this mapping can be backed by memory: its file "
                              "system (" +
                              free_shared_memory() +
                              ") is full, or its file is shorter than the mapping; "
                              "free or enlarge it, or make a smaller array");
}

bool is_in_use(std::span<std::byte const> memory) noexcept {
  if (memory.size() < sizeof(SegmentHeader)) return false;
  auto const& header = *reinterpret_cast<SegmentHeader const*>(memory.data());
  if (header.magic.load(std::memory_order_acquire) != SegmentHeader::magic_number) return false;
  return std::ranges::any_of(header.slot, [](SegmentSlot const& slot) {
    ProcessStamp const owner = slot.owner.load(std::memory_order_seq_cst);
    return owner != 0 && is_alive(owner);
  });
}

}  // namespace

bool SegmentLayout::is_of(DType const& dtype) const noexcept {
  return dtype_name == dtype.name_view() && itemsize == dtype.itemsize && dl == dl_bits(dtype.dl);
}

std::size_t segment_bytes(DType const& dtype, std::span<std::int64_t const> shape) {
  if (shape.empty() || shape.size() > SegmentHeader::max_ndim)
    throw ValueError("an array in shared memory has 1 to 16 dimensions, not " + std::to_string(shape.size()));
  std::size_t const bytes = checked_bytes(checked_size(shape), dtype.itemsize);
  if (bytes > static_cast<std::size_t>(INT64_MAX) - sizeof(SegmentHeader))
    throw OverflowError("an array of shape " + shape_text(shape) + " and its header do not fit into 64 bits");
  return sizeof(SegmentHeader) + bytes;
}

SegmentLayout write_segment(std::span<std::byte> memory, DType const& dtype, std::span<std::int64_t const> shape,
                            bool zeroed) {
  std::size_t const bytes = segment_bytes(dtype, shape);
  check_alignment(memory, "an array cannot be put here");
  if (memory.size() < bytes)
    throw ValueError("an array of shape " + shape_text(shape) + " takes " + std::to_string(bytes) +
                     " bytes of shared memory with its header, and this has " + std::to_string(memory.size()));
  reserve(memory.first(bytes));
  if (is_in_use(memory))
    throw ValueError("this shared memory holds an array that is in use: attach() to it, or take other memory");
  auto* const header = new (memory.data()) SegmentHeader{};
  header->version = SegmentHeader::current_version;
  header->slots = SegmentHeader::slot_count;
  header->uid = random_number();
  header->space = process_namespace();
  header->bytes = bytes;
  header->data_at = sizeof(SegmentHeader);
  header->data_bytes = bytes - sizeof(SegmentHeader);
  static_assert(sizeof(header->dtype) >= sizeof(dtype.name));
  std::memcpy(header->dtype, dtype.name, sizeof(dtype.name));
  header->itemsize = dtype.itemsize;
  header->dl = dl_bits(dtype.dl);
  header->ndim = static_cast<std::uint32_t>(shape.size());
  std::ranges::copy(shape, header->shape);

  std::byte* const data = memory.data() + sizeof(SegmentHeader);
  std::vector<std::byte> const zeros(dtype.itemsize);
  if (dtype.init || !zeroed)
    fill_host(data, dtype.init ? dtype.init : zeros.data(), dtype.itemsize, header->data_bytes / dtype.itemsize);
  // Last: a reader that sees it sees the other fields.
  header->magic.store(SegmentHeader::magic_number, std::memory_order_release);
  return read_segment(memory);
}

SegmentLayout read_segment(std::span<std::byte const> memory) {
  check_alignment(memory, "no array can be here");
  if (memory.size() < sizeof(SegmentHeader))
    throw_wrong("it has " + std::to_string(memory.size()) + " bytes, less than a header");
  auto const& header = *reinterpret_cast<SegmentHeader const*>(memory.data());
  std::uint64_t const magic = header.magic.load(std::memory_order_acquire);
  if (magic == 0) throw_wrong("no array was created there, or it is not ready yet");
  if (magic != SegmentHeader::magic_number) throw_wrong("it begins with other bytes");
  if (header.version != SegmentHeader::current_version)
    throw_wrong("its header has version " + std::to_string(header.version) + ", and this memarray knows " +
                std::to_string(SegmentHeader::current_version) + "; use one version in all processes");
  if (header.slots != SegmentHeader::slot_count)
    throw_wrong("its header has room for " + std::to_string(header.slots) + " processes, not " +
                std::to_string(SegmentHeader::slot_count));

  // Copies before it checks: other processes may write meanwhile.
  SegmentLayout layout;
  char name[sizeof(header.dtype)];
  std::memcpy(name, header.dtype, sizeof name);
  layout.dtype_name.assign(name, ::strnlen(name, sizeof name));
  layout.itemsize = header.itemsize;
  layout.dl = header.dl;
  layout.uid = header.uid;
  std::uint32_t const ndim = header.ndim;
  std::uint64_t const bytes = header.bytes;
  std::uint64_t const data_at = header.data_at;
  std::uint64_t const data_bytes = header.data_bytes;
  if (ndim == 0 || ndim > SegmentHeader::max_ndim) throw_wrong("its rank is " + std::to_string(ndim));
  layout.shape.assign(header.shape, header.shape + ndim);
  if (layout.itemsize == 0) throw_wrong("its elements have no bytes");
  if (layout.uid == 0) throw_wrong("it has no identity");
  std::size_t expected = 0;
  try {
    expected = checked_bytes(checked_size(layout.shape), layout.itemsize);
  } catch (std::exception const& error) {
    throw_wrong(std::string("its shape is impossible (") + error.what() + ")");
  }
  if (data_bytes != expected)
    throw_wrong("its shape " + shape_text(layout.shape) + " takes " + std::to_string(expected) +
                " bytes, and its header records " + std::to_string(data_bytes));
  if (data_at != sizeof(SegmentHeader) || bytes < data_at || bytes - data_at != data_bytes)
    throw_wrong("the sizes in its header contradict each other");
  if (bytes > memory.size())
    throw_wrong("its header records " + std::to_string(bytes) + " bytes, and it has " + std::to_string(memory.size()) +
                ": it was cut off");
  if (header.space != process_namespace())
    throw Error(
        "this shared memory was made in another pid or time namespace, from which the processes that use it cannot be "
        "checked; run both in one container, or share the pid namespace");
  layout.data_at = data_at;
  layout.data_bytes = data_bytes;
  return layout;
}

}  // namespace memarray::detail
