#pragma once

#include <memarray/array/mem_array.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/threads.hpp>
#include <memarray/detail/base/add_wrapping.hpp>
#include <memarray/detail/base/element_pointer.hpp>
#include <memarray/detail/launch/device_element.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/detail/state/acquisition.hpp>
#include <memarray/driver/stream_handle.hpp>
#include <memarray/kernel/for_each_index.hpp>

#include <algorithm>
#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace memarray {

namespace detail {

/// The type that elements of T are summed in: the 64-bit type of T's kind.
template <class T>
struct SumOf {
  using type = std::conditional_t<std::signed_integral<T>, std::int64_t,
                                  std::conditional_t<std::integral<T>, std::uint64_t, double>>;
};
template <class T>
struct SumOf<std::complex<T>> {
  using type = std::complex<double>;
};

/// Pieces have a fixed length, so that floating-point sums do not depend on the number of threads.
inline constexpr std::int64_t sum_piece = 1 << 16;
inline constexpr std::int64_t sum_lanes = 8;

template <class T>
typename SumOf<T>::type sum_range(T const* element, std::int64_t count) {
  using Sum = typename SumOf<T>::type;
  if constexpr (std::integral<T>) {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::uint64_t>(static_cast<Sum>(element[i]));
    return static_cast<Sum>(sum);
  } else {
    Sum lanes[sum_lanes] = {};
    std::int64_t i = 0;
    for (; i + sum_lanes <= count; i += sum_lanes)
      for (std::int64_t lane = 0; lane < sum_lanes; ++lane) lanes[lane] += static_cast<Sum>(element[i + lane]);
    for (; i < count; ++i) lanes[0] += static_cast<Sum>(element[i]);
    Sum sum{};
    for (Sum const& lane : lanes) sum += lane;
    return sum;
  }
}

/// Sums in pieces. `in_parallel(count, work)` calls `work(i)` for each i below count.
template <class T, class InParallel>
typename SumOf<T>::type sum_of(T const* elements, std::int64_t size, InParallel const& in_parallel) {
  using Sum = typename SumOf<T>::type;
  std::vector<Sum> pieces(static_cast<std::size_t>((size + sum_piece - 1) / sum_piece));
  in_parallel(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t p) {
    std::int64_t const first = p * sum_piece;
    pieces[static_cast<std::size_t>(p)] = sum_range(elements + first, std::min(sum_piece, size - first));
  });
  Sum total{};
  for (Sum const& each : pieces) total = add_wrapping(total, each);
  return total;
}

/// Runs work on as many host threads as `bytes` of memory justify.
struct OnThreads {
  std::size_t bytes;
  template <class Work>
  void operator()(std::int64_t count, Work const& work) const {
    if (parallel_chunks(bytes) > 1)
      parallel_for(count, work);
    else
      for (std::int64_t i = 0; i < count; ++i) work(i);
  }
};
/// Runs work on the calling thread.
struct InOrder {
  template <class Work>
  void operator()(std::int64_t count, Work const& work) const {
    for (std::int64_t i = 0; i < count; ++i) work(i);
  }
};

}  // namespace detail

/// Returns the sum of all elements: integers exactly, modulo 2^64; floating-point numbers in double precision. The
/// result does not depend on the number of threads. Holds the array for reading; `lock_id` is that of the caller's
/// write lease, if any. On a device the sum runs in `stream`, and the call blocks until it is done. Throws `LockError`
/// while the array is held for writing; `ValueError` if `stream` is null; `CudaError`; `OutOfMemoryError`.
template <class T, int ndim>
[[nodiscard]] typename detail::SumOf<T>::type sum(MemArray<T, ndim> const& array, StreamHandle const& stream,
                                                  std::int64_t lock_id = -1) {
  using Sum = typename detail::SumOf<T>::type;
  if (!stream) detail::throw_null_stream();
  detail::Acquisition hold(array.state(), detail::AccessMode::read, lock_id, "sum", detail::Acquisition::Option::none,
                           stream);
  std::int64_t const size = array.get_size();
  auto const* const elements = detail::elements_at<T const>(hold.source());
  detail::ExecutionSpace const where = detail::where_all_are(array.state());
  if (where == detail::ExecutionSpace::host)
    return detail::sum_of(elements, size, detail::OnThreads{static_cast<std::size_t>(size) * sizeof(T)});
  try {
    detail::DeviceRun run(hold.memory(), hold.queue(), "summing on a device");
    if (where == detail::ExecutionSpace::simulated) {
      return detail::result_of<Sum>(run, [=] {
        if (size != 0) testing::detail::check_load(elements, alignof(detail::DeviceElement<T>));
        return detail::sum_of(elements, size, detail::InOrder());
      });
    }
    Sum result{};
    detail::sum_on_device(dtype_of<T>(), size, elements, &result, run);
    return result;
  } catch (...) {
    hold.left_running();
    throw;
  }
}

}  // namespace memarray
