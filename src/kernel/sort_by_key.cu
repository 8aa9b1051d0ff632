#include "launch/sort_keys.hpp"

#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/detail/launch/sort_of_keys.hpp>

#include <cub/device/device_radix_sort.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace memarray::detail {
namespace {

constexpr unsigned block_threads = 256;

unsigned blocks_for(std::int64_t count) noexcept {
  std::int64_t const blocks = (count + block_threads - 1) / block_threads;
  return static_cast<unsigned>(blocks < 65536 ? blocks : 65536);
}

__device__ std::int64_t first_of_thread() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::int64_t step_of_threads() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

template <class U, class Position>
__global__ void make_pairs(std::byte const* keys, KeyKind kind, std::int64_t size, U* orders, Position* positions) {
  for (std::int64_t i = first_of_thread(); i < size; i += step_of_threads()) {
    orders[i] = order_of(load_bits<U>(keys, i), kind);
    positions[i] = static_cast<Position>(i);
  }
}

// Adjacent threads write adjacent words.
template <class Word, class Position>
__global__ void gather_words(std::byte const* from, std::byte* to, std::int64_t words, Position const* positions,
                             std::int64_t count) {
  for (std::int64_t i = first_of_thread(); i < count; i += step_of_threads()) {
    std::int64_t const element = static_cast<std::int64_t>(positions[i / words]);
    reinterpret_cast<Word*>(to)[i] = reinterpret_cast<Word const*>(from)[element * words + i % words];
  }
}

/// Returns where `gather` writes: `to`, or scratch memory if that is what it reads.
std::byte* apart(SortOfKeys const& sort, std::byte const* from, std::byte* to, std::size_t bytes, DeviceRun& run) {
  return from == to && bytes != 0 ? run.scratch(static_cast<std::size_t>(sort.size) * bytes) : to;
}

template <class Position>
void gather(SortOfKeys const& sort, std::byte const* from, std::byte* target, std::byte* to, std::size_t bytes,
            Position const* positions, DeviceRun& run) {
  if (bytes == 0) return;
  auto const move = [&]<class Word>(Word) {
    std::int64_t const words = static_cast<std::int64_t>(bytes / sizeof(Word));
    std::int64_t const count = sort.size * words;
    gather_words<Word>
        <<<blocks_for(count), block_threads, 0, *run.queue().stream>>>(from, target, words, positions, count);
    check_cuda(cudaGetLastError());
  };
  auto const alignment = (reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(target) | bytes);
  if (alignment % 4 == 0)
    move(std::uint32_t{});
  else
    move(std::uint8_t{});
  if (target != to)
    check_cuda(cudaMemcpyAsync(to, target, static_cast<std::size_t>(sort.size) * bytes, cudaMemcpyDeviceToDevice,
                               *run.queue().stream));
}

template <class U, class Position>
void sort_as(SortOfKeys const& sort, DeviceRun& run) {
  auto const count = static_cast<std::size_t>(sort.size);
  auto* const orders = reinterpret_cast<U*>(run.scratch(count * sizeof(U)));
  auto* const sorted = reinterpret_cast<U*>(run.scratch(count * sizeof(U)));
  auto* const positions = reinterpret_cast<Position*>(run.scratch(count * sizeof(Position)));
  auto* const order = reinterpret_cast<Position*>(run.scratch(count * sizeof(Position)));
  // All scratch memory precedes the first write: without it, keys and values stay as they are.
  std::byte* const values = apart(sort, sort.values, sort.sorted_values, sort.value_bytes, run);
  std::byte* const keys = apart(sort, sort.keys, sort.sorted_keys, sort.key_bytes, run);
  make_pairs<<<blocks_for(sort.size), block_threads, 0, *run.queue().stream>>>(sort.keys, sort.kind, sort.size, orders,
                                                                               positions);
  check_cuda(cudaGetLastError());
  run_cub(
      run,
      [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, orders, sorted, positions, order, sort.size, 0,
                                               static_cast<int>(8 * sizeof(U)), *run.queue().stream);
      },
      "sorting on a device");
  gather(sort, sort.values, values, sort.sorted_values, sort.value_bytes, order, run);
  gather(sort, sort.keys, keys, sort.sorted_keys, sort.key_bytes, order, run);
}

template <class U>
void sort_of(SortOfKeys const& sort, DeviceRun& run) {
  if (sort.size <= UINT32_MAX)
    sort_as<U, std::uint32_t>(sort, run);
  else
    sort_as<U, std::uint64_t>(sort, run);
}

}  // namespace

void sort_on_device(SortOfKeys const& sort, DeviceRun& run) {
  if (sort.size == 0) return;
  switch (sort.key_bytes) {
    case 1: return sort_of<std::uint8_t>(sort, run);
    case 2: return sort_of<std::uint16_t>(sort, run);
    case 4: return sort_of<std::uint32_t>(sort, run);
    default: return sort_of<std::uint64_t>(sort, run);
  }
}

}  // namespace memarray::detail
