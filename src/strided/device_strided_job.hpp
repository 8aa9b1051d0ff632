#pragma once

#include "device_strided.hpp"
#include "strided_copy.hpp"

#include <memarray/detail/strided/strided_job.hpp>
#include <memarray/detail/strided/strided_plan.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace memarray::detail {

/// Threads that fill a device.
inline constexpr std::int64_t enough_parts = std::int64_t{1} << 17;
/// Elements worth a thread.
inline constexpr std::int64_t least_terms = 16;
inline constexpr std::int64_t parts_together = 256;

/// A job run as kernels on a `Machine`, which has:
///   launch(kernel, size)   runs `kernel` for `size` positions, after earlier launches
///   scratch(bytes)         device memory (`std::byte*`) until the job is done
///   upload(bytes, data)    scratch memory with a copy of `data`
template <class Machine>
class DeviceStridedJob {
 public:
  DeviceStridedJob(StridedJob const& job, Machine& machine) : _job(job), _machine(machine) {}

  void run() {
    if (_job.target.layout.size() == 0) return;
    switch (_job.kind) {
      case StridedJob::Kind::copy: return copy(_job.source);
      case StridedJob::Kind::fill: return fill();
      case StridedJob::Kind::add_index: return add_index();
      case StridedJob::Kind::reduce: return reduce();
    }
  }

 private:
  /// Calls `body` with 32-bit positions if `size` fits into 31 bits, as `for_share` steps beyond it.
  template <class Body>
  static void with_positions(std::int64_t size, Body const& body) {
    if (size <= INT32_MAX)
      body(std::uint32_t{});
    else
      body(std::uint64_t{});
  }

  static std::uint32_t word_of(std::byte const* target, std::byte const* source, LoopNest const& nest,
                               std::uint32_t itemsize) {
    auto all = reinterpret_cast<std::uintptr_t>(target) | reinterpret_cast<std::uintptr_t>(source) | itemsize;
    for (LoopNest::Loop const& loop : nest.all())
      all |= static_cast<std::uintptr_t>(loop.strides[0]) | static_cast<std::uintptr_t>(loop.strides[1]);
    return std::uint32_t{1} << std::min(4, std::countr_zero(all));
  }

  void copy(StridedElements const& from) {
    StridedElements const& to = _job.target;
    LoopNest const nest = plan_copy(to.layout, to.dtype.itemsize, from.layout, from.dtype.itemsize);
    std::byte* const target = to.data + nest.offsets[0];
    std::byte const* const source = from.data + nest.offsets[1];
    with_positions(nest.size(), [&]<class U>(U) {
      DeviceNest<U> const loops = device_nest<U>(nest);
      auto const size = static_cast<U>(nest.size());
      if (from.dtype == to.dtype)
        _machine.launch(DeviceCopy<U>{loops, size, target, source, to.dtype.itemsize,
                                      word_of(target, source, nest, to.dtype.itemsize)},
                        nest.size());
      else
        _machine.launch(
            DeviceCast<U>{loops, size, target, source, ElementKind::of(to.dtype), ElementKind::of(from.dtype)},
            nest.size());
    });
  }

  /// Uploads structs that are too large for a kernel parameter.
  void fill() {
    if (_job.element.size() <= DeviceFill<std::uint32_t>::most_bytes) return fill_from_parameter();
    StridedElements one{_machine.upload(_job.element.size(), _job.element.data()), _job.target.dtype, {}};
    one.layout.broadcast_to(_job.target.layout.shape());
    copy(one);
  }

  void fill_from_parameter() {
    StridedElements one{nullptr, _job.target.dtype, {}};
    one.layout.broadcast_to(_job.target.layout.shape());
    StridedElements const& to = _job.target;
    LoopNest const nest = plan_copy(to.layout, to.dtype.itemsize, one.layout, one.dtype.itemsize);
    with_positions(nest.size(), [&]<class U>(U) {
      std::byte* const target = to.data + nest.offsets[0];
      DeviceFill<U> kernel{device_nest<U>(nest),
                           static_cast<U>(nest.size()),
                           target,
                           to.dtype.itemsize,
                           word_of(target, nullptr, nest, to.dtype.itemsize),
                           {}};
      std::copy(_job.element.begin(), _job.element.end(), kernel.element);
      _machine.launch(kernel, nest.size());
    });
  }

  void add_index() {
    LoopNest const nest = plan_add_index(_job.target.layout, _job.target.dtype.itemsize);
    with_positions(nest.size(), [&]<class U>(U) { add_index<U>(nest); });
  }
  template <class U>
  void add_index(LoopNest const& nest) {
    DLDataType const& dl = _job.target.dtype.dl;
#define MEMARRAY_TRY(type, name, dl_code, dl_bits) \
  if (dl.code == (dl_code) && dl.bits == (dl_bits)) return add_index<type, U>(nest);
    MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_TRY)
#undef MEMARRAY_TRY
  }
  template <class T, class U>
  void add_index(LoopNest const& nest) {
    std::byte* const to = _job.target.data + nest.offsets[0];
    std::byte const* const from = _job.source.data ? _job.source.data + nest.offsets[0] : to;
    DeviceAddIndex<T, U> kernel{device_nest<U>(nest), static_cast<U>(nest.size()), from, to, nest.offsets[1]};
    kernel.in_vectors = kernel.can_use_vectors();
    _machine.launch(kernel, nest.size() / (kernel.in_vectors ? kernel.width : 1));
  }

  struct Axis {
    std::int64_t extent;
    std::int64_t stride;
  };

  void reduce() {
    StridedLayout const& layout = _job.source.layout;
    // Repeated elements are counted, not read.
    std::array<Axis, StridedLayout::max_ndim> axes{};
    int count = 0;
    std::int64_t terms = 1;
    std::int64_t repeat = 1;
    for (int d = 0; d < layout.ndim(); ++d) {
      if ((_job.axes >> d & 1U) == 0) continue;
      if (layout.stride(d) == 0 && layout.extent(d) > 0)
        repeat *= layout.extent(d);
      else
        axes[static_cast<std::size_t>(count++)] = {layout.extent(d), layout.stride(d)};
    }
    for (int d = 0; d < count; ++d) terms *= axes[static_cast<std::size_t>(d)].extent;
    if (terms == 0) return fill_nothing();
    // Read in memory order.
    std::sort(axes.begin(), axes.begin() + count,
              [](Axis const& left, Axis const& right) { return std::abs(left.stride) > std::abs(right.stride); });
    std::int64_t const results = _job.target.layout.size();
    std::int64_t const parts =
        std::clamp<std::int64_t>(enough_parts / results, 1, (terms + least_terms - 1) / least_terms);
    bool const in_double = _job.reduction == Reduction::mean && ElementKind::of(_job.source.dtype).is_integral();
    DeviceReduction const how{_job.reduction, ElementKind::of(_job.source.dtype), in_double, terms, repeat};
    with_positions(std::max(terms, results * parts), [&]<class U>(U) {
      DeviceNest<U> kept;
      for (int d = 0, to = 0; d < layout.ndim(); ++d) {
        if ((_job.axes >> d & 1U) != 0) continue;
        kept.add(layout.extent(d), layout.stride(d), _job.target.layout.stride(to));
        ++to;
      }
      DeviceNest<U> reduced;
      for (int d = 0; d < count; ++d)
        reduced.add(axes[static_cast<std::size_t>(d)].extent, axes[static_cast<std::size_t>(d)].stride, 0);
      reduce_in_rounds<U>(kept, reduced, how, results, terms, parts);
    });
  }

  template <class U>
  void reduce_in_rounds(DeviceNest<U> const& kept, DeviceNest<U> const& reduced, DeviceReduction const& how,
                        std::int64_t results, std::int64_t terms, std::int64_t parts) {
    ElementKind const to = ElementKind::of(_job.target.dtype);
    if (parts == 1)
      return _machine.launch(DeviceReduceWhole<U>{kept, reduced, static_cast<U>(results), static_cast<U>(terms), how,
                                                  to, _job.source.data, _job.target.data},
                             results);
    DeviceParts made = parts_for(how, results * parts);
    _machine.launch(DeviceReduce<U>{kept, reduced, static_cast<U>(results), static_cast<U>(terms),
                                    static_cast<U>(parts), how, _job.source.data, made},
                    results * parts);
    while (parts > 1) {
      std::int64_t const groups = (parts + parts_together - 1) / parts_together;
      DeviceParts const folded = parts_for(how, results * groups);
      _machine.launch(DeviceFold<U>{static_cast<U>(results), static_cast<U>(parts), static_cast<U>(parts_together),
                                    static_cast<U>(groups), how, made, folded},
                      results * groups);
      made = folded;
      parts = groups;
    }
    _machine.launch(DeviceFinish<U>{kept, static_cast<U>(results), how, to, _job.target.data, made}, results);
  }

  DeviceParts parts_for(DeviceReduction const& how, std::int64_t count) {
    return how.parts_at(_machine.scratch(static_cast<std::size_t>(count) * how.part_bytes()));
  }

  void fill_nothing() {
    StridedJob const nothing = _job.of_nothing();
    DeviceStridedJob(nothing, _machine).run();
  }

  StridedJob const& _job;
  Machine& _machine;
};

}  // namespace memarray::detail
