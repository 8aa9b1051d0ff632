#pragma once

#include <memarray/array/mem_array.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/threads.hpp>
#include <memarray/detail/base/add_wrapping.hpp>
#include <memarray/detail/base/element_pointer.hpp>
#include <memarray/detail/launch/device_element.hpp>
#include <memarray/kernel/for_each_index.hpp>
#include <memarray/kernel/sum.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace memarray {

namespace detail {

/// Sums the pieces, then scans each piece from the sum of the pieces before it. Returns the total.
template <class T, class InParallel>
T scan_of(T const* source, T* target, std::int64_t size, InParallel const& in_parallel) {
  std::int64_t const count = (size + sum_piece - 1) / sum_piece;
  auto const before = std::make_unique<T[]>(static_cast<std::size_t>(count));
  in_parallel(count, [&](std::int64_t p) {
    T running{};
    for (std::int64_t i = p * sum_piece; i < std::min(size, (p + 1) * sum_piece); ++i)
      running = add_wrapping(running, source[i]);
    before[static_cast<std::size_t>(p)] = running;
  });
  T total{};
  for (std::int64_t p = 0; p < count; ++p) {
    T const own = std::exchange(before[static_cast<std::size_t>(p)], total);
    total = add_wrapping(total, own);
  }
  in_parallel(count, [&](std::int64_t p) {
    T running = before[static_cast<std::size_t>(p)];
    for (std::int64_t i = p * sum_piece; i < std::min(size, (p + 1) * sum_piece); ++i) {
      target[i] = running;
      running = add_wrapping(running, source[i]);
    }
  });
  return total;
}

}  // namespace detail

/// Sets each element of `sums` to the sum of the elements of `array` before it, in linear order, and returns the total.
/// Holds both arrays and overwrites all of `sums`. On a device the scan runs in `stream`, and the call blocks until it
/// is done. Integers wrap. Pieces have a fixed length, so floating-point results do not depend on the number of
/// threads.
///
/// Throws `LockError` if another holder conflicts or `sums` is `array`; `ValueError` if the shapes differ or `stream`
/// is null; `Error` if the arrays are on different devices; `CudaError`; `OutOfMemoryError`.
template <class T, int ndim>
T exclusive_scan(MemArray<T, ndim> const& array, MemArray<T, ndim>& sums, StreamHandle const& stream) {
  if (!stream) detail::throw_null_stream();
  auto const input = read(array);
  auto const output = overwrite(sums);
  T total{};
  detail::check_pairs(input, output);
  detail::ArrayState const* const both[] = {input.state.get(), output.state.get()};
  detail::check_one_device(both);
  detail::with_holds(
      [&](auto& from, auto& to) {
        detail::check_shape(output, array.get_shape());
        std::int64_t const size = array.get_size();
        auto const* const source = detail::elements_at<T const>(from.source());
        auto* const target = detail::elements_at<T>(to.target());
        detail::ExecutionSpace const where = detail::where_all_are(*input.state, *output.state);
        if (where == detail::ExecutionSpace::host) {
          total = detail::scan_of(source, target, size, detail::OnThreads{static_cast<std::size_t>(size) * sizeof(T)});
          return detail::commit_all(to, from);
        }
        try {
          detail::DeviceRun run(to.memory(), to.queue(), "scanning on a device");
          if (where == detail::ExecutionSpace::simulated)
            total = detail::result_of<T>(run, [=] {
              using Element = detail::DeviceElement<T>;
              if (size != 0)
                for (T const* const place : {source, static_cast<T const*>(target)})
                  testing::detail::check_load(place, alignof(Element));
              return detail::scan_of(source, target, size, detail::InOrder());
            });
          else
            detail::exclusive_scan_on_device(dtype_of<T>(), size, source, target, &total, run);
        } catch (...) {
          from.left_running();
          to.left_running();
          throw;
        }
        // The scan has completed, but other streams may have pending work on the arrays.
        detail::commit_all(to, from);
      },
      stream, std::tuple<>(), input, output);
  return total;
}

}  // namespace memarray
