#pragma once

#include <memarray/array/for_each_index.hpp>
#include <memarray/array/mem_array.hpp>
#include <memarray/array/sum.hpp>
#include <memarray/base/add_wrapping.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/threads.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace memarray {

/// Sets each element of `sums` to the sum of the elements of `array` before it, in linear order, and returns the sum of
/// all. `sums` is given up and rewritten whole; it has the shape of `array` (`ValueError`) and may not be `array`
/// itself. Holds both; throws `LockError`. Integers wrap; pieces have a fixed length, so floating-point results do not
/// depend on the number of threads.
template <class T, int ndim>
T exclusive_scan(MemArray<T, ndim> const& array, MemArray<T, ndim>& sums, StreamHandle const& stream) {
  if (!stream) detail::throw_null_stream();
  auto const input = read(array);
  auto const output = overwrite(sums);
  T total{};
  detail::check_pairs(input, output);
  detail::with_holds(
      [&](auto& from, auto& to) {
        detail::check_shape(output, array.get_shape());
        std::int64_t const size = array.get_size();
        if (detail::on_one_device(*input.state, *output.state)) {
          detail::exclusive_scan_on_device(dtype_of<T>(), size, from.source(), to.target(), &total, stream);
          to.commit();
          return;
        }
        auto const* const source = reinterpret_cast<T const*>(from.source());
        auto* const target = reinterpret_cast<T*>(to.target());
        std::int64_t const piece = detail::sum_piece;
        auto const count = (size + piece - 1) / piece;
        auto const before = std::make_unique<T[]>(static_cast<std::size_t>(count));
        auto const add_up = [&](std::int64_t p) {
          T running{};
          for (std::int64_t i = p * piece; i < std::min(size, (p + 1) * piece); ++i)
            running = detail::add_wrapping(running, source[i]);
          before[static_cast<std::size_t>(p)] = running;
        };
        auto const scan = [&](std::int64_t p) {
          T running = before[static_cast<std::size_t>(p)];
          for (std::int64_t i = p * piece; i < std::min(size, (p + 1) * piece); ++i) {
            target[i] = running;
            running = detail::add_wrapping(running, source[i]);
          }
        };
        auto const in_pieces = [&](auto const& work) {
          if (parallel_chunks(static_cast<std::size_t>(size) * sizeof(T)) > 1)
            parallel_for(count, work);
          else
            for (std::int64_t p = 0; p < count; ++p) work(p);
        };
        in_pieces(add_up);
        for (std::int64_t p = 0; p < count; ++p) {
          T const own = std::exchange(before[static_cast<std::size_t>(p)], total);
          total = detail::add_wrapping(total, own);
        }
        in_pieces(scan);
        to.commit();
      },
      std::tuple<>(), input, output);
  return total;
}

}  // namespace memarray
