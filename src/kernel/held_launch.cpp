#include "old_elements.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/kernel/held_launch.hpp>
#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/run_host.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/strided/strided_job.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/kernel/reduce.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace memarray::detail {
namespace {

Extents extents_of(BoxView const& box) noexcept { return {box.extents, static_cast<std::size_t>(box.ndim)}; }

[[noreturn]] MEMARRAY_COLD void throw_two_shapes(KernelHold const& first, KernelHold const& other) {
  throw ValueError("expected arrays of one shape; got " + first.describe() + " and " + other.describe());
}

[[noreturn]] MEMARRAY_COLD void throw_shape_mismatch(KernelHold const& hold, BoxView const& box) {
  throw ValueError("for_each_index over " + shape_text(extents_of(box)) +
                   " sets every element of its overwrite and update arrays, so " + hold.describe() +
                   " must have that shape; use range(begin, end) for a part, or write(array) to touch some elements");
}

[[noreturn]] MEMARRAY_COLD void throw_outside(KernelHold const& hold, BoxView const& box) {
  std::vector<std::int64_t> end(static_cast<std::size_t>(box.ndim));
  for (std::size_t d = 0; d < end.size(); ++d) end[d] = box.begin[d] + box.extents[d];
  throw ValueError("the range from " + shape_text({box.begin, end.size()}) + " to " + shape_text(end) +
                   " is not within " + hold.describe() + "; a range begins at 0 or later and ends at the extents");
}

/// Alignment checks and copies of old elements before a simulated kernel.
struct EmulatedStart {
  struct Load {
    void const* address;
    std::size_t alignment;
  };

  std::vector<Load> loads{};
  std::vector<OldElements> old{};
  std::vector<std::int64_t> bounds{};  // begins, then extents

  void run(std::int64_t size) const {
    for (Load const& load : loads) testing::detail::check_load(load.address, load.alignment);
    std::size_t const ndim = bounds.size() / 2;
    BoxView const box{static_cast<int>(ndim), bounds.data(), bounds.data() + ndim};
    for (OldElements const& each : old) each.copy(box, 0, size);
  }
};

class Values {
 public:
  Values(ReduceCode const& code, std::int64_t count) : _alignment(std::align_val_t{code.value_alignment}) {
    std::size_t const bytes = static_cast<std::size_t>(count) * code.value_size;
    if (bytes <= sizeof(_few) && code.value_alignment <= alignof(std::max_align_t)) return;
    _memory = static_cast<std::byte*>(::operator new(bytes, _alignment));
  }
  Values(Values const&) = delete;
  Values& operator=(Values const&) = delete;
  ~Values() {
    if (_memory != _few) ::operator delete(_memory, _alignment);
  }

  [[nodiscard]] std::byte* data() const noexcept { return _memory; }

 private:
  std::align_val_t _alignment;
  alignas(std::max_align_t) std::byte _few[256];
  std::byte* _memory = _few;
};

// The pieces of a reduction. They depend on its size and functors alone, so that its result does not depend on the
// threads. A small one has up to 16 pieces. A few positions are worth sharing if its functors may be costly, else not.
struct Pieces {
  Pieces(ReduceCode const& code, std::int64_t positions) noexcept : size(positions) {
    constexpr std::int64_t most_positions = 4096;
    constexpr std::int64_t most_lanes = 16;
    length = std::max<std::int64_t>(code.is_cheap ? 1024 : 1, ceil_divided(size, 16));
    if (length > most_lanes) length = std::min(most_positions, ceil_divided(length, most_lanes) * most_lanes);
    count = ceil_divided(size, length);
  }

  void run(ReduceCode const& code, void const* kernel, std::int64_t piece, std::byte* values) const {
    std::int64_t const begin = piece * length;
    code.run(kernel, begin, std::min(size, begin + length), values + static_cast<std::size_t>(piece) * code.value_size);
  }

  std::int64_t size;
  std::int64_t length;
  std::int64_t count;

 private:
  static std::int64_t ceil_divided(std::int64_t value, std::int64_t by) noexcept {
    return value / by + (value % by != 0 ? 1 : 0);
  }
};

}  // namespace

HeldLaunch::HeldLaunch(HeldArrays& arrays, BoxView const& box, HeldArrays::Extent extent) : _arrays(arrays), _box(box) {
  _size = checked_size(extents_of(box));
  _bytes = arrays.bytes() * static_cast<std::size_t>(_size);
  if (!arrays.must_fit()) return;
  for (KernelHold& hold : arrays.holds()) {
    check_fit(hold, extent);
    _copies_old = _copies_old || hold.copies_old();
    _keeps_rest = _keeps_rest || (hold._is_partial && hold._source != hold._target);
  }
}

void copy_common_extents(HeldArrays const& arrays, std::int64_t* extents) {
  KernelHold const& first = arrays.holds().front();
  for (KernelHold const& hold : arrays.holds())
    if (!std::ranges::equal(hold.extents(), first.extents())) throw_two_shapes(first, hold);
  std::ranges::copy(first.extents(), extents);
}

void throw_no_extreme(char const* what, ArrayState const& state) {
  throw ValueError(std::string(what) + " of an array without elements has no value: this is a " + state.describe());
}

void throw_range_too_long() { throw OverflowError("this range has more indices than 64 bits can count"); }

void throw_needs_wide_indices() {
  throw OverflowError(
      "this launch has indices beyond 32 bits, and its functor takes 32-bit ones; let it take std::int64_t, or auto");
}

void HeldLaunch::check_fit(KernelHold& hold, HeldArrays::Extent extent) {
  if (hold._mode == AccessMode::read || hold._mode == AccessMode::write) return;
  if (hold._is_result) {
    _arrays.check_result(hold);
    return;
  }
  Extents const shape = hold.extents();
  auto const ndim = static_cast<int>(shape.size());
  // A launch over the leading dimensions may set rows of an `overwrite` array.
  bool fits = _box.ndim == ndim || (hold._mode == AccessMode::overwrite && _box.ndim < ndim);
  bool is_whole = fits;
  for (int d = 0; fits && d < _box.ndim; ++d) {
    std::int64_t const available = shape[static_cast<std::size_t>(d)];
    fits = _box.begin[d] >= 0 && _box.extents[d] <= available && _box.begin[d] <= available - _box.extents[d];
    is_whole = is_whole && _box.begin[d] == 0 && _box.extents[d] == available;
  }
  hold._is_partial = !is_whole;
  _is_whole = _is_whole && is_whole;
  if (is_whole || (extent == HeldArrays::Extent::part && (fits || _size == 0))) return;
  if (extent == HeldArrays::Extent::part) throw_outside(hold, _box);
  throw_shape_mismatch(hold, _box);
}

void HeldLaunch::copy_rest(KernelHold const& hold) const {
  // For each dimension, the slabs before and behind the box, within the box in earlier dimensions.
  ArrayState const& state = *hold._state;
  DType const& dtype = state.dtype();
  StridedLayout const whole = StridedLayout::dense(state.extents(), dtype.itemsize);
  std::byte* const from = state.residency().block().data();
  std::byte* const to = hold._acquired->target_block().data();
  std::size_t copied = 0;
  auto const copy = [&](StridedLayout const& part, std::int64_t offset) {
    StridedJob const job{.target = {to + offset, dtype, part}, .source = {from + offset, dtype, part}};
    copied += static_cast<std::size_t>(part.size()) * dtype.itemsize;
    if (where() == ExecutionSpace::host)
      job.run_on_host();
    else
      job.submit(memory(), bound_stream());
  };
  StridedLayout inner = whole;
  std::int64_t offset = 0;
  for (int d = 0; d < _box.ndim && _size != 0; ++d) {
    std::int64_t const begin = _box.begin[d];
    std::int64_t const end = begin + _box.extents[d];
    for (auto const& [start, stop] : {std::pair<std::int64_t, std::int64_t>{0, begin}, {end, state.shape()[d]}}) {
      if (start >= stop) continue;
      StridedLayout part = inner;
      std::int64_t const moved = part.slice(d, {.start = start, .stop = stop});
      copy(part, offset + moved);
    }
    offset += inner.slice(d, {.start = begin, .stop = end});
  }
  if (_size == 0) copy(whole, 0);
  // The border of an interior is small: only a copy of most of the array is reported.
  if (copied > state.bytes() / 2)
    report_copy(static_cast<std::int64_t>(copied),
                state.describe() + " was written in part under escaped views, and the rest was copied");
}

void HeldLaunch::begin() {
  _arrays.mark_begun();
  if (!_keeps_rest) return;
  for (KernelHold const& hold : _arrays.holds())
    if (hold._is_partial && hold._source != hold._target) copy_rest(hold);
}

// Calls `body(begin, end)` for ranges of [0, count). Each unit is `positions` positions of the box.
template <class Body>
void HeldLaunch::run_on_threads(std::int64_t count, std::int64_t positions, Body const& body) const {
  LoopSharing const& given = _arrays.sharing();
  LoopSharing const sharing{given.threads, given.grain_in(positions)};
  if (!_copies_old) return run_host(count, _bytes, sharing, body);
  std::vector<OldElements> old;
  for (KernelHold const& hold : _arrays.holds())
    if (hold.copies_old()) old.push_back(old_elements_of(hold));
  // Bytes that stay in the L1 cache until the kernel has used them.
  constexpr std::int64_t cached = std::int64_t{16} << 10;
  std::int64_t const bytes =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(_bytes) / std::max<std::int64_t>(1, _size));
  std::int64_t const step = std::max<std::int64_t>(1, cached / (bytes * positions));
  run_host(count, _bytes, sharing, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; begin += step) {
      std::int64_t const stop = std::min(end, begin + step);
      for (OldElements const& each : old) each.copy(_box, begin * positions, std::min(_size, stop * positions));
      body(begin, stop);
    }
  });
}

template <class Body>
void HeldLaunch::submit(Body body) const {
  EmulatedStart start;
  for (KernelHold const& hold : _arrays.holds()) {
    if (hold.size() == 0 || _size == 0) continue;
    start.loads.push_back({hold._target, hold._alignment});
    if (hold._source == hold._target) continue;
    start.loads.push_back({hold._source, hold._alignment});
    if (hold._mode == AccessMode::update) start.old.push_back(old_elements_of(hold));
  }
  start.bounds.assign(_box.begin, _box.begin + _box.ndim);
  start.bounds.insert(start.bounds.end(), _box.extents, _box.extents + _box.ndim);
  launch_emulated(bound_stream(), [start = std::move(start), body = std::move(body), size = _size] {
    start.run(size);
    body();
  });
}

void HeldLaunch::run(KernelCode const& code, void const* kernel) {
  begin();
  if (where() == ExecutionSpace::host && !_copies_old) [[likely]]
    return run_host(_size, _bytes, {_arrays.sharing().threads, _arrays.sharing().grain, code.short_left}, code.run,
                    kernel);
  run_otherwise(code, kernel);
}

void HeldLaunch::run_otherwise(KernelCode const& code, void const* kernel) {
  if (where() == ExecutionSpace::host)
    return run_on_threads(_size, 1, [&](std::int64_t first, std::int64_t last) { code.run(kernel, first, last); });
  if (_size == 0) return;
  std::shared_ptr<void> const own(code.copy(kernel), code.destroy);
  submit([&code, own, size = _size] { code.run(own.get(), 0, size); });
}

void HeldLaunch::reduce(ReduceCode const& code, void const* kernel, void* result) {
  if (where() == ExecutionSpace::host) return reduce_into(code, kernel, result);
  DeviceRun run(memory(), bound_stream(), "reducing on a device");
  std::byte* const place = run.scratch(code.value_size);
  reduce_into(code, kernel, testing::detail::reachable(place));
  run.read_back({{result, place, code.value_size}});
}

void HeldLaunch::reduce_into(ReduceCode const& code, void const* kernel, void* result) {
  begin();
  Pieces const pieces(code, _size);
  if (where() == ExecutionSpace::host) {
    Values const values(code, pieces.count);
    run_on_threads(pieces.count, pieces.length, [&](std::int64_t first, std::int64_t last) {
      for (; first < last; ++first) pieces.run(code, kernel, first, values.data());
    });
    return code.combine(kernel, values.data(), pieces.count, result);
  }
  std::shared_ptr<void> const own(code.copy(kernel), code.destroy);
  submit([&code, own, result, pieces] {
    Values const values(code, pieces.count);
    for (std::int64_t piece = 0; piece < pieces.count; ++piece) pieces.run(code, own.get(), piece, values.data());
    code.combine(own.get(), values.data(), pieces.count, result);
  });
}

}  // namespace memarray::detail
