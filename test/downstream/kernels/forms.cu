#include "forms.hpp"

#include <memarray/driver/context_handle.hpp>
#include <memarray/memarray.hpp>

#include <cstdint>

namespace heat {

using memarray::for_each_index;
using memarray::overwrite;
using memarray::read;
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

}  // namespace heat
