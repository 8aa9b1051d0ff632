// Instances of the headers' templates: compilers warn about most things only in an instance.
#include <memarray/memarray.hpp>
#include <memarray/thrust.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace strict {

enum class Kind : std::uint8_t { gas, dust };
struct Particle {
  std::array<float, 3> position;
  double mass;
  std::int32_t id;
  Kind kind;
};

}  // namespace strict

MEMARRAY_FIELDS(strict::Particle, position, mass, id, kind);

namespace {

using memarray::MemArray;

template <template <class, int> class Array>
struct Nodes {
  Array<double, 1> position;
  Array<float, 1> speed;
  Array<std::int32_t, 1> cell;
  MEMARRAY_BUNDLE(position, speed, cell)
};

void expect(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::exit(1);
}

struct AddFirst {
  template <class Indices, class T>
  MEMARRAY_HD void operator()(T& element, Indices const& indices) const {
    element = static_cast<T>(element + static_cast<T>(static_cast<int>(indices[0])));
  }
};

struct Combine {
  template <class Indices, class T>
  MEMARRAY_HD void operator()(Indices const& indices, T& to, memarray::ArrayIndexer<T const, 2> const& from) const {
    to = from[indices];
  }
};

struct Store {
  template <class Indices, class T>
  MEMARRAY_HD void operator()(Indices const& indices, memarray::ArrayIndexer<T, 2> const& to,
                              memarray::ArrayIndexer<T const, 2> const& from) const {
    to[indices] = from[indices];
  }
};

template <class T>
void use() {
  memarray::StreamHandle const stream = memarray::default_stream();
  MemArray<T, 2> array({3, 4});
  array.fill(T(1));
  array.write({2, 3}, T(3));
  static_cast<void>(array({2, 3}));
  memarray::for_each_index(array, stream, AddFirst{});
  memarray::add_index_tuple(array);
  MemArray<T, 2> other({3, 4});
  memarray::for_each_index(array.get_shape(), stream, Store{}, memarray::overwrite(other), memarray::read(array));
  memarray::for_each_index({3, 4}, stream, Combine{}, memarray::update(other), memarray::read(array));
  static_cast<void>(memarray::sum(other, stream));
  {
    memarray::ReadLease<T, 2> const reading(other);
    auto const indexer = reading.indexer();
    expect(indexer.get(indexer(std::array<int, 2>{1, 2})) == reading.ptr() + 6, "an address");
    memarray::ConstBufferView const view = reading.view();
    static_cast<void>(view.sum());
    memarray::ArrayView<T const, 2> const typed(view.core());
    static_cast<void>(typed(1, 2));
    static_cast<void>(typed.mdspan());
  }
  {
    memarray::WriteLease<T, 2> const writing(other);
    memarray::BufferView const view = writing.view();
    memarray::ArrayView<T, 2> const typed(view.core());
    typed(0, 0) = T(2);
  }
  other.resize({5, 2});
  memarray::ConstBufferView const kept = memarray::ReadLease<T, 2>(other).view();
  other.copy_from(kept);
}

struct Element {
  template <class Indices, class T>
  MEMARRAY_HD T operator()(Indices const& indices, memarray::ArrayIndexer<T const, 2> const& from) const {
    return from[indices];
  }
};

/// Strict projects compare no floating-point numbers with ==.
template <class T>
bool equal(T const& left, T const& right) {
  return !(left < right) && !(right < left);
}

template <class T>
void reduce() {
  memarray::launch const on{.threads = 2, .grain = 1};
  // Shapes and indices of `std::size_t`, not known when compiled.
  std::size_t const rows = std::vector<T>(3).size();
  std::array<std::size_t, 2> const shape{rows, 4};
  MemArray<T, 2> array({rows, std::size_t{4}});
  MemArray<T, 2> const other(shape);
  MemArray<T, 1> result({1});
  array.fill(T(1));
  array.write({rows - 2, 2}, T(0));
  expect(equal(array({rows - 2, 2U}), T(0)), "an element");
  result.resize({rows});
  result.resize({1});
  expect(equal(memarray::reduce(array, on, T(1), memarray::minimum()), T(0)), "a reduction");
  expect(equal(memarray::transform_reduce({rows, std::size_t{4}}, on, T(1), memarray::minimum(), Element(),
                                          memarray::read(array)),
               T(0)),
         "a reduction of values");
  memarray::transform_reduce_into(result, memarray::range({1, 1}, {3, 4}), on, T(1), memarray::minimum(), Element(),
                                  memarray::read(array));
  expect(equal(result({0}), T(0)), "a reduction into an array");
  expect(equal(memarray::min(array, on), T(0)) && equal(memarray::max(array, on), T(1)), "the extremes");
  expect(equal(memarray::minmax(array, on).second, T(1)), "both extremes");
  expect(memarray::argmin(array, on) == std::array<std::int64_t, 2>{1, 2}, "the position of the least");
  expect(memarray::argmax(array, on) == std::array<std::int64_t, 2>{0, 0}, "the position of the largest");
  expect(equal(memarray::dot(array, other, on), T(0)), "a product");
}

/// Operations that return another type than the values, as those of small integers do.
void reduce_by_own_operations() {
  memarray::launch const on{.threads = std::thread::hardware_concurrency(), .grain = std::vector<int>(3).size()};
  MemArray<std::int8_t, 1> bytes({100});
  bytes.write({50}, std::int8_t{7});
  expect(memarray::reduce(bytes, on, std::int8_t{0}, [](auto x, auto y) { return std::max<int>(x, y); }) == 7,
         "an operation that returns an int");
  MemArray<float, 1> floats({100});
  floats.fill(0.5F);
  expect(equal(memarray::reduce(floats, on, 0.F, [](double x, double y) { return x + y; }), 50.F),
         "an operation that returns a double");
}

template <class Number>
void scan() {
  MemArray<Number, 1> numbers({std::size_t{4}});
  MemArray<Number, 1> sums({4});
  numbers.fill(Number(1));
  memarray::inclusive_scan(numbers, sums, memarray::default_stream());
  expect(equal(sums({3}), Number(4)), "an inclusive scan");
  expect(equal(memarray::exclusive_scan(numbers, sums, memarray::launch{.threads = 1}, Number(1)), Number(5)),
         "its total");
  memarray::exclusive_scan(numbers, sums, memarray::default_stream());
  MemArray<std::int64_t, 2> values({4, 2});
  memarray::add_index_tuple(values);
  numbers.write({0}, Number(2));
  memarray::sort_by_key(numbers, values, memarray::default_stream());
  expect(equal(numbers({3}), Number(2)) && values({3, 1}) == 1, "sorted values");
}

void hold_arrays() {
  MemArray<double, 1> mass({std::size_t{8}});
  MemArray<float, 1> speed({8});
  MemArray<double, 1> total({1});
  mass.fill(2);
  {
    auto held = memarray::hold(memarray::launch{.threads = 1}, memarray::read(mass), memarray::update(speed));
    auto const add = [](std::int64_t i, auto const& of, float& to) {
      to += static_cast<float>(of[i] * static_cast<double>(i));
    };
    auto const momentum = [](std::int64_t i, auto const& of, float by) { return of[i] * static_cast<double>(by); };
    held.for_each_index({std::size_t{8}}, add);
    held.for_each_index(memarray::range(1, 7), add);
    held.transform_reduce_into(total, memarray::range(0, 8), 0, memarray::plus(), momentum);
    static_cast<void>(held.transform_reduce({8}, 0.0, memarray::plus(), momentum));
  }
  expect(total({0}) > 0 && speed({6}) > speed({7}), "a held launch");
  auto const held = memarray::hold(memarray::read(mass));
}

void use_bundles() {
  Nodes<MemArray> nodes{MemArray<double, 1>({5}), MemArray<float, 1>({5}), MemArray<std::int32_t, 1>({5})};
  memarray::for_each_index(
      {std::size_t{5}}, memarray::launch{.grain = 2},
      [](std::int64_t i, Nodes<memarray::Indexer> const& own) {
        own.position[i] += static_cast<double>(own.speed[i]) + 1;
        own.cell[i] = static_cast<std::int32_t>(i);
      },
      memarray::write(nodes));
  double const sum = memarray::transform_reduce(
      {5}, memarray::default_stream(), 0.0, memarray::plus(),
      [](std::int64_t i, Nodes<memarray::ConstIndexer> const& own) { return own.position[i] + own.cell[i]; },
      memarray::read(nodes));
  expect(sum > 14 && sum < 16, "a sum over a bundle");
}

void use_fields() {
  MemArray<strict::Particle, 1> particles({std::size_t{2}});
  particles.write({1}, {{1, 2, 3}, 4, 5, strict::Kind::dust});
  memarray::for_each_index(
      {2}, memarray::default_stream(),
      [](std::int64_t i, strict::Particle& each) { each.id += static_cast<std::int32_t>(i); },
      memarray::update(particles));
  expect(particles({1}).id == 6, "a struct with fields");
  expect(memarray::dtype_of<strict::Particle>().itemsize == sizeof(strict::Particle), "the dtype of a struct");
}

void share() {
  std::size_t const bytes = memarray::shared_bytes<double, 2>({3, 2});
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  // MAP_FAILED is a cast of C.
  expect(reinterpret_cast<std::intptr_t>(mapped) != -1, "a mapping");
  memarray::SharedMemory const memory{{static_cast<std::byte*>(mapped), bytes}, nullptr};
  {
    MemArray<double, 2> shared = memarray::create_shared<double, 2>(memory, {3, 2});
    MemArray<double, 2> const same = memarray::attach_shared<double, 2>(memory);
    shared.write({2, 1}, 7);
    expect(same({2, 1}) > 6, "an element of shared memory");
    expect(memarray::recover(shared).empty(), "a hold that was recovered");
  }
  munmap(mapped, bytes);
}

void export_tensors() {
  MemArray<std::uint8_t, 2> array({2, 3});
  {
    memarray::WriteLease<std::uint8_t, 2> const writing(array);
    for (bool const versioned : {false, true}) {
      memarray::DLPackTensor const tensor = array.get_dlpack_tensor(versioned, writing.lock_id());
      expect(tensor.is_versioned() == versioned && tensor.tensor().shape[1] == 3, "a tensor of an array");
    }
  }
  memarray::ConstBufferView const view =
      memarray::ConstBufferView::from_dlpack(array.view().get_dlpack_tensor().release_versioned());
  expect(view.size() == 6, "a view of a tensor");
}

}  // namespace

int main() {
  use<bool>();
  use<std::int8_t>();
  use<std::uint16_t>();
  use<std::int64_t>();
  use<memarray::float16>();
  use<memarray::bfloat16>();
  use<float>();
  use<std::complex<double>>();
  reduce<bool>();
  reduce<std::int8_t>();
  reduce<std::uint16_t>();
  reduce<std::int64_t>();
  reduce<memarray::float16>();
  reduce<memarray::bfloat16>();
  reduce<float>();
  reduce_by_own_operations();
  scan<std::int8_t>();
  scan<std::uint32_t>();
  scan<memarray::float16>();
  scan<double>();
  hold_arrays();
  use_bundles();
  use_fields();
  share();
  export_tensors();
  expect((memarray::float16(1) + memarray::float16(2)).bits == memarray::float16(3).bits, "a sum of 16 bits");
  return 0;
}
