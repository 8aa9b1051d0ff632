// Forms of kernels that forms.cu does not use: three and four dimensions, typed views, settings of a launch.

#include "forms.hpp"

#include <memarray/driver/context_handle.hpp>
#include <memarray/memarray.hpp>

#include <cstddef>
#include <cstdint>

namespace heat {

using memarray::ArrayIndexer;
using memarray::for_each_index;
using memarray::overwrite;
using memarray::read;
using memarray::StridedIndexer;
using memarray::transform_reduce;
using memarray::update;
using memarray::write;

namespace {

template <template <class, int> class Array>
struct Layers {
  Array<double, 1> line;
  Array<double, 3> cube;
  MEMARRAY_BUNDLE(line, cube)
};

/// The sum depends on the place of each element. All numbers are integers, so no order of combination rounds.
struct Weigh {
  template <class Indices, int ndim>
  MEMARRAY_HD double operator()(Indices const& i, ArrayIndexer<double const, ndim> x) const {
    return x[i] * static_cast<double>(1 + x(i) % 97);
  }
};
struct SetCube {
  template <class Index>
  MEMARRAY_HD void operator()(double& x, cuda::std::array<Index, 3> const& i) const {
    x = static_cast<double>(7 * i[0] + 3 * i[1] + i[2] - 20);
  }
};
struct SetLine {
  MEMARRAY_HD void operator()(double& x, std::int32_t i) const { x = static_cast<double>((3 * i + 5) % 17); }
};
struct SetBlock {
  template <class Index>
  MEMARRAY_HD void operator()(cuda::std::array<Index, 4> const& i, ArrayIndexer<double const, 3> cube,
                              ArrayIndexer<double, 4> block) const {
    block[i] = cube[{i[1], i[2], i[3]}] + static_cast<double>(100 * i[0]);
  }
};
struct Raise {
  MEMARRAY_HD void operator()(cuda::std::array<std::int64_t, 3> const& i, double& x) const {
    x += static_cast<double>(i[0] + 10 * i[1] + 100 * i[2]);
  }
  template <class Index>
  MEMARRAY_HD void operator()(cuda::std::array<Index, 4> const& i, double& x) const {
    x += static_cast<double>(i[0] * i[3]);
  }
};
/// Sets the elements of a block at two leading indices.
struct SetLeading {
  MEMARRAY_HD void operator()(cuda::std::array<std::int64_t, 2> const& i, ArrayIndexer<double const, 3> cube,
                              ArrayIndexer<double, 4> block) const {
    for (std::int64_t j = 0; j < block.shape()[2]; ++j)
      for (std::int64_t k = 0; k < block.shape()[3]; ++k)
        block[{i[0], i[1], j, k}] = cube[{i[1], j, k}] * static_cast<double>(i[0] + 1);
  }
};
struct Stretch {
  MEMARRAY_HD void operator()(std::int64_t i, ArrayIndexer<double, 1> x) const {
    x[i] = 2 * x[i] + static_cast<double>(x.size());
  }
};
struct AddLast {
  template <class Index>
  MEMARRAY_HD void operator()(double& x, cuda::std::array<Index, 3> const& i) const {
    x += static_cast<double>(i[2]);
  }
};
struct CopyReversed {
  MEMARRAY_HD void operator()(cuda::std::array<std::int64_t, 3> const& i, StridedIndexer<double const, 3> from,
                              StridedIndexer<double, 3> to) const {
    to[i] = from[{i[0], 2 - i[1], i[2]}];
  }
};
struct AddDense {
  MEMARRAY_HD void operator()(cuda::std::array<std::int64_t, 3> const& i, ArrayIndexer<double const, 3> from,
                              double& to) const {
    to += 2 * from[i];
  }
};
struct WeighView {
  MEMARRAY_HD double operator()(cuda::std::array<std::int64_t, 3> const& i, StridedIndexer<double const, 3> x) const {
    return x[i] * static_cast<double>(1 + i[0] + 2 * i[1] + 3 * i[2]);
  }
};
struct ChangeLayers {
  MEMARRAY_HD void operator()(std::int64_t i, Layers<memarray::Indexer> const& layers,
                              ArrayIndexer<double const, 1> line) const {
    layers.line[i] += line[i];
    if (i < 4) layers.cube[{i, 1, 2}] += static_cast<double>(i);
  }
};
struct WeighLayers {
  MEMARRAY_HD double operator()(std::int64_t i, Layers<memarray::Indexer> const& layers,
                                ArrayIndexer<double const, 1>) const {
    return layers.line[i] * static_cast<double>(i) + layers.cube[{3, 1, i % 6}];
  }
};
/// Associative, and does not commute.
struct First {
  MEMARRAY_HD double operator()(double left, double) const { return left; }
};
struct LargerMagnitude {
  MEMARRAY_HD double operator()(double a, double b) const { return (a < 0 ? -a : a) < (b < 0 ? -b : b) ? b : a; }
};
struct SetKeys {
  MEMARRAY_HD void operator()(std::int64_t i, ArrayIndexer<float, 1> keys, ArrayIndexer<double, 2> rows) const {
    keys[i] = static_cast<float>((i * 7) % 10) - 4.5F;
    for (std::int64_t j = 0; j < 3; ++j) rows[{i, j}] = static_cast<double>(3 * i + j);
  }
};

template <int ndim>
double checksum(memarray::MemArray<double, ndim> const& array, memarray::StreamHandle const& stream) {
  return transform_reduce(array.get_shape(), stream, 0.0, memarray::plus(), Weigh(), read(array));
}

/// `where`: `on_device` for device memory.
template <memarray::ViewOptions where>
double use_typed_views(memarray::MemArray<double, 3>& cube, memarray::MemArray<double, 3>& other,
                       memarray::StreamHandle const& stream) {
  memarray::WriteLease<double, 3> const lease(cube, {.stream = stream});
  memarray::BufferView const whole(lease);
  auto const dense = whole.as<double, 3, memarray::c_order | where>();
  auto const strided = whole.slice(1, {.step = -2}).as<double, 3, where>();
  for_each_index(dense, stream, AddLast());
  for_each_index(strided, stream, AddLast());
  {
    memarray::WriteLease<double, 3> const of_other(other, {.stream = stream});
    auto const target = memarray::BufferView(of_other).slice(1, {.stop = 3}).as<double, 3, where>();
    for_each_index({4, 3, 6}, stream, CopyReversed(), read(strided), overwrite(target));
  }
  for_each_index({4, 5, 6}, stream, AddDense(), read(dense), update(other));
  return transform_reduce({4, 3, 6}, stream, 0.0, memarray::plus(), WeighView(), read(strided));
}

}  // namespace

std::vector<double> use_forms_of_volumes(int device_id) {
  memarray::StreamHandle stream = memarray::default_stream();
  memarray::MemArray<double, 1> line({50});
  memarray::MemArray<double, 1> scanned({50});
  memarray::MemArray<double, 1> result({1});
  memarray::MemArray<double, 3> cube({4, 5, 6});
  memarray::MemArray<double, 3> other({4, 5, 6});
  memarray::MemArray<double, 4> block({3, 4, 5, 6});
  memarray::MemArray<float, 1> keys({50});
  memarray::MemArray<double, 2> rows({50, 3});
  Layers<memarray::MemArray> layers{memarray::MemArray<double, 1>({50}), memarray::MemArray<double, 3>({4, 5, 6})};
  if (device_id >= 0) {
    stream = memarray::create_stream_handle(memarray::get_primary_context(device_id));
    auto const move_all = [&](auto&... arrays) { (arrays.move_memory(kDLCUDA, 0, device_id), ...); };
    move_all(line, scanned, result, cube, other, block, keys, rows, layers.line, layers.cube);
  }
  memarray::launch const settings{.stream = stream, .threads = 2, .grain = 8};
  std::vector<double> found;
  auto const add = [&](auto... values) { (found.push_back(static_cast<double>(values)), ...); };

  for_each_index(cube, settings, SetCube());
  for_each_index(line, stream, SetLine());
  for_each_index(block.get_shape(), settings, SetBlock(), read(cube), overwrite(block));
  add(checksum(cube, stream), checksum(line, stream), checksum(block, stream));

  auto const inside = memarray::interior(cube.get_shape(), 1);
  auto const part = memarray::range({1, 0, 2, 1}, {3, 4, 4, 5});
  for_each_index(inside, settings, Raise(), update(cube));
  for_each_index(part, stream, Raise(), update(block));
  add(checksum(cube, stream), checksum(block, stream));
  add(transform_reduce(inside, settings, 1.0, memarray::plus(), Weigh(), read(cube)));
  add(transform_reduce(part, stream, 0.0, memarray::maximum(), Weigh(), read(block)));
  transform_reduce_into(result, part, settings, 1e9, memarray::minimum(), Weigh(), read(block));
  add(memarray::sum(result, stream));

  for_each_index(memarray::range({0, 1}, {3, 4}), stream, SetLeading(), read(cube), overwrite(block));
  for_each_index({50}, stream, Stretch(), update(line));
  add(checksum(block, stream), checksum(line, stream));

  add(device_id < 0 ? use_typed_views<memarray::ViewOptions::none>(cube, other, stream)
                    : use_typed_views<memarray::on_device>(cube, other, stream));
  add(checksum(cube, stream), checksum(other, stream));

  {
    auto held = memarray::hold(settings, write(layers), read(line));
    for (int step = 0; step < 3; ++step) held.for_each_index({50}, ChangeLayers());
    add(held.transform_reduce({50}, 0.0, memarray::plus(), WeighLayers()));
    add(held.transform_reduce(memarray::range(7, 31), 0.0, memarray::plus(), WeighLayers()));
  }

  for_each_index(line, stream, SetLine());
  inclusive_scan(line, scanned, stream, memarray::maximum());
  add(checksum(scanned, stream));
  inclusive_scan(line, scanned, settings, First());
  add(checksum(scanned, stream));
  add(exclusive_scan(line, scanned, stream, -5, memarray::maximum()));
  add(checksum(scanned, stream));
  add(exclusive_scan(line, scanned, stream));
  add(checksum(scanned, stream));
  inclusive_scan(cube, other, stream);
  add(checksum(other, stream));

  for_each_index({50}, stream, SetKeys(), overwrite(keys), overwrite(rows));
  sort_by_key(keys, rows, stream);
  add(checksum(rows, stream), min(keys, stream), argmax(keys, stream)[0]);

  auto const low = argmin(block, stream);
  auto const high = argmax(block, stream);
  for (std::size_t d = 0; d < 4; ++d) add(low[d], high[d]);
  auto const [least, largest] = minmax(block, settings);
  add(least, largest, min(cube, stream), max(cube, stream), dot(cube, cube, settings));
  add(reduce(cube, settings, -3.0, LargerMagnitude()), reduce(block, stream, 4.0, memarray::plus()));
  return found;
}

}  // namespace heat
