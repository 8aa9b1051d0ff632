#include <memarray/memory/pageable_resource.hpp>

#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include <memarray/base/errors.hpp>

namespace memarray {
namespace {

constexpr std::size_t huge_page = std::size_t{1} << 21;

std::size_t page_size() noexcept {
  static std::size_t const size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept { return (bytes + unit - 1) / unit * unit; }

[[noreturn]] void throw_out_of_memory(std::size_t bytes) {
  throw OutOfMemoryError("the system has no " + std::to_string(bytes) +
                         " bytes of host memory left: drop arrays and escaped views, or make smaller ones");
}

// A fault may stall while the kernel makes room for a huge page.
bool huge_pages_are_free(std::size_t bytes) noexcept {
  struct sysinfo info;
  return sysinfo(&info) == 0 && std::uint64_t{info.freeram} * info.mem_unit / 8 * 7 >= bytes;
}

void* map(std::size_t bytes, std::size_t alignment) {
  std::size_t const unit = std::max(huge_page, alignment);
  std::size_t const length = round_up(bytes, page_size());
  void* const reserved = mmap(nullptr, length + unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) {
    throw_out_of_memory(bytes);
  }
  auto const from = reinterpret_cast<std::uintptr_t>(reserved);
  std::uintptr_t const start = round_up(from, unit);
  if (start != from) {
    munmap(reserved, start - from);
  }
  if (std::size_t const tail = from + unit - start; tail != 0) {
    munmap(reinterpret_cast<void*>(start + length), tail);
  }
  auto* const memory = reinterpret_cast<void*>(start);
  if (huge_pages_are_free(bytes)) {
    madvise(memory, length, MADV_HUGEPAGE);
  }
  return memory;
}

}  // namespace

void* PageableResource::allocate(StreamHandle const&, std::size_t bytes, std::size_t alignment) {
  alignment = std::max(alignment, default_alignment);
  if (bytes > std::numeric_limits<std::ptrdiff_t>::max() - 2 * std::max(huge_page, alignment)) {
    throw_out_of_memory(bytes);
  }
  if (bytes >= mapped_from) {
    return map(bytes, alignment);
  }
  void* const memory = std::aligned_alloc(alignment, round_up(std::max<std::size_t>(bytes, 1), alignment));
  if (memory == nullptr) {
    throw_out_of_memory(bytes);
  }
  return memory;
}

void* PageableResource::allocate_zeroed(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
  void* const memory = allocate(stream, bytes, alignment);
  if (bytes < mapped_from) {
    detail::write_zeros(MemoryType::normal, memory, bytes);
  }
  return memory;
}

void PageableResource::deallocate(StreamHandle const&, void* pointer, std::size_t bytes, std::size_t) noexcept {
  if (bytes >= mapped_from) {
    munmap(pointer, round_up(bytes, page_size()));
  } else {
    std::free(pointer);
  }
}

void PageableResource::zero(StreamHandle const&, void* pointer, std::size_t bytes) {
  // The kernel does not release locked pages.
  if (bytes < mapped_from || madvise(pointer, round_up(bytes, page_size()), MADV_DONTNEED) != 0) {
    detail::write_zeros(MemoryType::normal, pointer, bytes);
  }
}

}  // namespace memarray
