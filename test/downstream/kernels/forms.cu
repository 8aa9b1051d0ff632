#include "forms.hpp"

#include <memarray/driver/context_handle.hpp>
#include <memarray/memarray.hpp>

#include <cstdint>

namespace heat {

using memarray::for_each_index;
using memarray::overwrite;
using memarray::read;
using memarray::transform_reduce;
using memarray::transform_reduce_into;
using memarray::update;
using memarray::write;

namespace {

template <template <class, int> class Array>
struct Cells {
  Array<double, 1> mass, speed;
  MEMARRAY_BUNDLE(mass, speed)
};

struct Set {
  MEMARRAY_HD void operator()(std::int64_t i, Cells<memarray::Indexer> const& cells) const {
    cells.mass[i] = static_cast<double>(i % 7);
    cells.speed[i] = static_cast<double>(i);
  }
};
struct Momentum {
  MEMARRAY_HD double operator()(std::int64_t i, Cells<memarray::ConstIndexer> const& cells) const {
    return cells.mass[i] * cells.speed[i];
  }
};
struct Accelerate {
  MEMARRAY_HD void operator()(std::int64_t i, memarray::ArrayIndexer<double const, 1> mass, double& speed) const {
    speed += mass[i];
  }
};
struct Speed {
  MEMARRAY_HD double operator()(std::size_t, memarray::ArrayIndexer<double const, 1>, double const& speed) const {
    return speed;
  }
};
struct Halve {
  MEMARRAY_HD void operator()(std::int64_t i, memarray::ArrayIndexer<double const, 1> mass,
                              memarray::ArrayIndexer<memarray::float16, 1> halves) const {
    halves[i] = mass[i] / 2;
  }
};
struct Negate {
  MEMARRAY_HD void operator()(double& element, std::int64_t) const { element = -element; }
};
struct AddStrided {
  MEMARRAY_HD void operator()(std::int64_t i, memarray::StridedIndexer<double const, 1> from, double& to) const {
    to += from[i];
  }
};
/// Associative, and does not commute.
struct Last {
  MEMARRAY_HD double operator()(double, double right) const { return right; }
};
struct Key {
  MEMARRAY_HD void operator()(std::int64_t i, memarray::ArrayIndexer<double const, 1> mass,
                              memarray::ArrayIndexer<std::int32_t, 1> keys) const {
    keys[i] = static_cast<std::int32_t>(mass[i]);
  }
};

template <class Index>
using At = cuda::std::array<Index, 2>;
using Plane = memarray::ArrayIndexer<double const, 2>;

/// With 32-bit indices where the size allows.
struct SetHeights {
  template <class Index>
  MEMARRAY_HD void operator()(At<Index> const& i, memarray::ArrayIndexer<double, 2> heights) const {
    heights[i] = static_cast<double>((7 * i[0] + 3 * i[1]) % 11);
  }
};
struct Raise {
  template <class Index>
  MEMARRAY_HD void operator()(At<Index> const& i, double& height) const {
    height += static_cast<double>(i[0] + 2 * i[1]);
  }
};
struct Height {
  MEMARRAY_HD double operator()(At<std::int64_t> const& i, Plane heights) const { return heights[i]; }
};
struct IsBelow {
  double limit;
  template <class Index>
  MEMARRAY_HD bool operator()(At<Index> const& i, Plane heights) const {
    return heights[i] < limit;
  }
};
/// Reverses a row.
struct Reverse {
  MEMARRAY_HD void operator()(std::int64_t row, Plane from, memarray::ArrayIndexer<double, 2> to) const {
    std::int64_t const columns = from.shape()[1];
    for (std::int64_t j = 0; j < columns; ++j) to[{row, j}] = from[{row, columns - 1 - j}];
  }
};

struct Totals {
  std::int64_t count;
  double mass, moment;
};
struct AddTotals {
  MEMARRAY_HD Totals operator()(Totals const& a, Totals const& b) const {
    return {a.count + b.count, a.mass + b.mass, a.moment + b.moment};
  }
};
struct ToTotals {
  template <class Index>
  MEMARRAY_HD Totals operator()(At<Index> const& i, Plane heights) const {
    return {1, heights[i], heights[i] * static_cast<double>(i[0] + 10 * i[1])};
  }
};

}  // namespace

std::vector<double> use_each_form(std::int64_t n, int device_id) {
  memarray::StreamHandle stream = memarray::default_stream();
  Cells<memarray::MemArray> cells{memarray::MemArray<double, 1>({n}), memarray::MemArray<double, 1>({n})};
  memarray::MemArray<std::int32_t, 1> keys({n});
  memarray::MemArray<double, 1> scanned({n});
  memarray::MemArray<std::int64_t, 1> ends({n});
  memarray::MemArray<double, 1> fastest({1});
  memarray::MemArray<memarray::float16, 1> halves({n});
  if (device_id >= 0) {
    stream = memarray::create_stream_handle(memarray::get_primary_context(device_id));
    auto const move_all = [&](auto&... arrays) { (arrays.move_memory(kDLCUDA, 0, device_id), ...); };
    move_all(cells.mass, cells.speed, keys, scanned, ends, fastest, halves);
  }
  std::vector<double> found;
  for_each_index({n}, stream, Set(), write(cells));
  found.push_back(transform_reduce({n}, stream, 0.0, memarray::plus(), Momentum(), read(cells)));
  {
    auto held = memarray::hold(stream, read(cells.mass), update(cells.speed));
    for (int step = 0; step < 3; ++step) held.for_each_index(memarray::range(1, n), Accelerate());
    held.transform_reduce_into(fastest, memarray::range(1, n), 0, memarray::maximum(), Speed());
  }
  found.push_back(reduce(fastest, stream, 0.0, memarray::plus()));
  for_each_index({n}, stream, Halve(), read(cells.mass), overwrite(halves));
  found.push_back(static_cast<double>(max(halves, stream)));
  found.push_back(reduce(cells.speed, stream, 0.0, memarray::maximum()));
  {
    memarray::WriteLease<double, 1> const lease(cells.speed, {.stream = stream});
    memarray::BufferView const every_second = memarray::BufferView(lease).slice(0, {.step = -2});
    for_each_index<double, 1>(every_second, stream, Negate());
    for_each_index({every_second.size()}, stream, AddStrided(), read<double, 1>(cells.mass.view()),
                   update<double, 1>(every_second));
  }
  found.push_back(memarray::sum(cells.speed, stream));
  for_each_index({n}, stream, Key(), read(cells.mass), overwrite(keys));
  inclusive_scan(keys, ends, stream);
  found.push_back(static_cast<double>(max(ends, stream)));
  found.push_back(exclusive_scan(cells.speed, scanned, stream, -1, Last()));
  found.push_back(static_cast<double>(exclusive_scan(keys, ends, stream, 5)));
  sort_by_key(keys, cells.speed, stream);
  found.push_back(static_cast<double>(argmax(keys, stream)[0]));
  found.push_back(dot(cells.mass, cells.speed, stream));
  return found;
}

std::vector<double> use_forms_of_planes(std::int64_t rows, std::int64_t columns, int device_id) {
  memarray::StreamHandle stream = memarray::default_stream();
  memarray::MemArray<double, 2> heights({rows, columns});
  memarray::MemArray<double, 2> turned({rows, columns});
  memarray::MemArray<double, 1> lowest({1});
  if (device_id >= 0) {
    stream = memarray::create_stream_handle(memarray::get_primary_context(device_id));
    auto const move_all = [&](auto&... arrays) { (arrays.move_memory(kDLCUDA, 0, device_id), ...); };
    move_all(heights, turned, lowest);
  }
  std::vector<double> found;
  auto const add = [&](auto... values) { (found.push_back(static_cast<double>(values)), ...); };
  auto const inside = memarray::interior({rows, columns}, 1);
  for_each_index({rows, columns}, stream, SetHeights(), overwrite(heights));
  for_each_index(inside, stream, Raise(), update(heights));

  Totals const none{0, 0, 0};
  Totals const whole = transform_reduce({rows, columns}, stream, none, AddTotals(), ToTotals(), read(heights));
  Totals const part =
      transform_reduce(memarray::range({1, 2}, {rows, columns}), stream, none, AddTotals(), ToTotals(), read(heights));
  for (Totals const& totals : {whole, part}) add(totals.count, totals.mass, totals.moment);

  transform_reduce_into(lowest, inside, stream, 1e9, memarray::minimum(), Height(), read(heights));
  add(memarray::sum(lowest, stream));
  transform_reduce_into(lowest, {rows, columns}, stream, 5, memarray::plus(), Height(), read(heights));
  add(memarray::sum(lowest, stream));

  auto const [least, largest] = minmax(heights, stream);
  add(min(heights, stream), least, largest, reduce(heights, stream, 1e9, memarray::minimum()));
  auto const place = argmin(turned, stream);
  auto const high = argmax(heights, stream);
  add(place[0], place[1], high[0], high[1]);
  for (double const limit : {0.0, largest, largest + 1}) {
    add(transform_reduce({rows, columns}, stream, true, memarray::logical_and(), IsBelow{limit}, read(heights)));
    add(transform_reduce(inside, stream, false, memarray::logical_or(), IsBelow{limit}, read(heights)));
  }

  for_each_index({rows}, stream, Reverse(), read(heights), overwrite(turned));
  for_each_index(memarray::range(1, rows), stream, Reverse(), read(turned), overwrite(heights));
  for (auto const* plane : {&turned, &heights}) {
    Totals const totals = transform_reduce({rows, columns}, stream, none, AddTotals(), ToTotals(), read(*plane));
    add(totals.mass, totals.moment, argmin(*plane, stream)[1]);
  }
  return found;
}

}  // namespace heat
