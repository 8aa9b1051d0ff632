// What templates of the headers become when they are used: compilers warn of most things only there.
#include <memarray/memarray.hpp>
#include <memarray/thrust.hpp>

#include <array>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace {

using memarray::MemArray;

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
  MemArray<float, 1> numbers({4});
  MemArray<float, 1> sums({4});
  memarray::exclusive_scan(numbers, sums, memarray::default_stream());
  expect((memarray::float16(1) + memarray::float16(2)).bits == memarray::float16(3).bits, "a sum of 16 bits");
  return 0;
}
