#pragma once

#include <memarray/array/access.hpp>
#include <memarray/array/mem_array.hpp>
#include <memarray/base/config.hpp>
#include <memarray/detail/base/element_pointer.hpp>
#include <memarray/detail/kernel/held_arrays.hpp>
#include <memarray/detail/kernel/kernel_launch.hpp>
#include <memarray/kernel/for_each_index.hpp>
#include <memarray/kernel/launch.hpp>
#include <memarray/kernel/range.hpp>
#include <memarray/kernel/reduce.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace memarray {

namespace detail {
struct StreamIsThatOfTheHold;  // return type of deleted overloads
}

/// Arrays held for many launches; see `hold`. Used by one thread at a time.
template <class... Access>
class Held {
  static_assert(sizeof...(Access) > 0 && (detail::is_access<Access> && ...),
                "name the arrays: hold(read(a), write(b), …)");

 public:
  Held(StreamOrLaunch const& on, Access const&... accesses)
      : _accesses(accesses...), _stream(on.stream), _arrays(request(), on, detail::HeldArrays::Extent::all) {}
  /// Releases the arrays. If a kernel threw, those with escaped views lose the changes of all launches.
  ~Held() {
    if (!_arrays.has_failed()) _arrays.commit();
  }
  Held(Held const&) = delete;
  Held& operator=(Held const&) = delete;

  /// Like the free function, with all held arrays. Throws `ValueError` (negative extent; `update` or `overwrite` array
  /// that does not fit), `OverflowError`, `CudaError`, `OutOfMemoryError`.
  template <std::size_t ndim, class F>
  void for_each_index(std::array<std::int64_t, ndim> const& shape, F f) {
    launch(detail::box_of({}, shape), detail::HeldArrays::Extent::all, f, detail::RunLoop());
  }
  template <std::size_t ndim, class F>
  void for_each_index(Index const (&shape)[ndim], F f) {
    for_each_index(detail::to_extents(shape), std::move(f));
  }
  template <std::size_t ndim, class F>
  void for_each_index(Range<ndim> const& range, F f) {
    launch(detail::box_of(range), detail::HeldArrays::Extent::part, f, detail::RunLoop());
  }

  /// Like the free function, with all held arrays.
  template <std::size_t ndim, class T, class Op, class F>
  [[nodiscard]] T transform_reduce(std::array<std::int64_t, ndim> const& shape, T init, Op op, F f) {
    return reduce(detail::box_of({}, shape), detail::HeldArrays::Extent::all, init, op, f);
  }
  template <std::size_t ndim, class T, class Op, class F>
  [[nodiscard]] T transform_reduce(Index const (&shape)[ndim], T init, Op op, F f) {
    return transform_reduce(detail::to_extents(shape), init, op, std::move(f));
  }
  template <std::size_t ndim, class T, class Op, class F>
  [[nodiscard]] T transform_reduce(Range<ndim> const& range, T init, Op op, F f) {
    return reduce(detail::box_of(range), detail::HeldArrays::Extent::part, init, op, f);
  }

  /// Like the free function; `result` is none of the held arrays. `where`: a shape or range.
  template <class T, int rank, class Where, class Op, class F>
  void transform_reduce_into(MemArray<T, rank>& result, Where const& where, std::type_identity_t<T> init, Op op, F f) {
    detail::KernelHold hold;
    hold.request_result(result.state(), -1, alignof(T));
    detail::HeldArrays held_result({&hold, 1}, _stream, detail::HeldArrays::Extent::all);
    _arrays.check_result(hold);
    detail::RunReduction<T, Op, false> const reduce{init, op, detail::elements_at<T>(hold.target())};
    launch(detail::box_of(where), detail::extent_of(where), f, [&](detail::HeldLaunch& launch, auto const& kernel) {
      held_result.mark_begun();
      reduce(launch, kernel);
    });
    held_result.commit();
  }
  template <class T, int rank, std::size_t ndim, class Op, class F>
  void transform_reduce_into(MemArray<T, rank>& result, Index const (&shape)[ndim], std::type_identity_t<T> init, Op op,
                             F f) {
    transform_reduce_into(result, detail::to_extents(shape), init, op, std::move(f));
  }

  // Common mistakes: compilers print the return type.
  template <class Where, class F>
  detail::StreamIsThatOfTheHold for_each_index(Where const&, StreamOrLaunch const&, F const&) = delete;
  template <std::size_t ndim, class F>
  detail::StreamIsThatOfTheHold for_each_index(Index const (&)[ndim], StreamOrLaunch const&, F const&) = delete;
  template <class Where, class T, class Op, class F>
  detail::StreamIsThatOfTheHold transform_reduce(Where const&, StreamOrLaunch const&, T const&, Op const&,
                                                 F const&) = delete;
  template <std::size_t ndim, class T, class Op, class F>
  detail::StreamIsThatOfTheHold transform_reduce(Index const (&)[ndim], StreamOrLaunch const&, T const&, Op const&,
                                                 F const&) = delete;

 private:
  [[nodiscard]] std::span<detail::KernelHold> request() {
    std::apply([&](auto const&... accesses) { detail::request_all(false, _holds.data(), accesses...); }, _accesses);
    for (detail::KernelHold& hold : _holds) hold.copy_for_launches();
    return _holds;
  }

  template <int ndim, class T, class Op, class F>
  [[nodiscard]] T reduce(detail::LaunchBox<ndim> const& box, detail::HeldArrays::Extent extent, T const& init,
                         Op const& op, F const& f) {
    detail::check_value<T, F>();
    T result = init;
    launch(box, extent, f, detail::RunReduction<T, Op>{init, op, &result});
    return result;
  }

  template <int ndim, class F, class Run>
  void launch(detail::LaunchBox<ndim> const& box, detail::HeldArrays::Extent extent, F const& f, Run const& run) {
    bool has_started = false;
    try {
      detail::with_checked<ndim, Access...>(f, [&]<bool indexed>(auto const& checked) {
        detail::run_launch<indexed, Access...>(_arrays, box, extent, checked,
                                               [&](detail::HeldLaunch& launch, auto const& kernel) {
                                                 has_started = true;
                                                 run(launch, kernel);
                                               });
      });
    } catch (...) {
      // A refused launch has changed nothing.
      if (has_started) _arrays.fail();
      throw;
    }
  }

  std::tuple<Access...> _accesses;  // the holds refer to its views
  std::array<detail::KernelHold, detail::count_of<Access...>> _holds{};
  StreamHandle _stream;
  detail::HeldArrays _arrays;
};

/// Holds arrays for many launches, which then neither lock them nor wait for their pending work:
///
///     auto held = hold(read(mass), update(speed));
///     for (…) held.for_each_index({n}, [](std::int64_t i, auto mass, double& speed) { … });
///
/// The arrays are held until the result is destroyed: conflicting uses throw `LockError`. Under escaped views, an array
/// to write is copied once, with a report. On a device, all launches run in the stream. Throws like `for_each_index`.
template <class... Access>
[[nodiscard]] auto hold(StreamOrLaunch const& on, Access const&... accesses) {
  return Held<Access...>(on, accesses...);
}
/// Uses `default_stream()`.
template <class First, class... Access>
  requires(std::is_class_v<First> && !std::is_convertible_v<First const&, StreamOrLaunch>)
[[nodiscard]] auto hold(First const& first, Access const&... accesses) {
  return Held<First, Access...>(default_stream(), first, accesses...);
}

}  // namespace memarray
