// Loops for callgrind, each written with ArrayIndexer and by hand. `indexer_loops WHICH ROWS` runs the function WHICH
// once; callgrind collects inside that function only.
#include <memarray/memarray.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::int64_t columns = 64;
constexpr std::int64_t depth = 48;

using Indexer3 = memarray::ArrayIndexer<double, 3>;
using Indexer2 = memarray::ArrayIndexer<double, 2>;

[[gnu::noipa]] void nested_indexer(Indexer3 a) {
  for (std::int64_t i = 0; i < a.shape()[0]; ++i) {
    for (std::int64_t j = 0; j < a.shape()[1]; ++j) {
      for (std::int64_t k = 0; k < a.shape()[2]; ++k) *a.get(a({i, j, k})) += 1.5;
    }
  }
}

// Adds by raw loops, which know their extents at run time only, like the indexer.
[[gnu::noipa]] void nested_raw(double* data, std::int64_t n0, std::int64_t n1, std::int64_t n2) {
  for (std::int64_t i = 0; i < n0; ++i) {
    for (std::int64_t j = 0; j < n1; ++j) {
      for (std::int64_t k = 0; k < n2; ++k) data[(i * n1 + j) * n2 + k] += 1.5;
    }
  }
}

[[gnu::noipa]] void linear_raw(double* data, std::int64_t n0, std::int64_t n1) {
  for (std::int64_t linear = 0; linear < n0 * n1; ++linear) {
    data[linear] += static_cast<double>(linear / n1 + linear % n1);
  }
}

// Computes `get_indices` by hand: 32-bit division where the range allows it takes more instructions and fewer cycles.
[[gnu::noipa]] void linear_narrow(double* data, std::int64_t n0, std::int64_t n1) {
  for (std::int64_t linear = 0; linear < n0 * n1; ++linear) {
    std::int64_t i, j;
    if ((static_cast<std::uint64_t>(linear) | static_cast<std::uint64_t>(n1)) <= UINT32_MAX) {
      i = static_cast<std::uint32_t>(linear) / static_cast<std::uint32_t>(n1);
      j = static_cast<std::uint32_t>(linear) % static_cast<std::uint32_t>(n1);
    } else {
      i = linear / n1;
      j = linear % n1;
    }
    data[linear] += static_cast<double>(i + j);
  }
}

[[gnu::noipa]] void linear_indexer(Indexer2 a) {
  for (std::int64_t linear = 0; linear < a.size(); ++linear) {
    auto const indices = a.get_indices(linear);
    *a.get(linear) += static_cast<double>(indices[0] + indices[1]);
  }
}

[[gnu::noipa]] double gather_raw(double const* data, std::int64_t n0, std::int64_t n1) {
  double sum = 0;
  for (std::int64_t j = 0; j < n1; ++j) {
    for (std::int64_t i = 0; i < n0; ++i) sum += data[i * n1 + j];
  }
  return sum;
}

[[gnu::noipa]] double gather_indexer(memarray::ArrayIndexer<double const, 2> a) {
  double sum = 0;
  for (std::int64_t j = 0; j < a.shape()[1]; ++j) {
    for (std::int64_t i = 0; i < a.shape()[0]; ++i) sum += *a.get(a({i, j}));
  }
  return sum;
}

// Adds to a view that is a function argument. It has strides known at run time only, or is dense with a last stride
// of 1.
template <class View>
[[gnu::noipa]] void nested_view(View const a) {
  for (std::int64_t i = 0; i < a.extent(0); ++i) {
    for (std::int64_t j = 0; j < a.extent(1); ++j) {
      for (std::int64_t k = 0; k < a.extent(2); ++k) a(i, j, k) += 1.5;
    }
  }
}

[[gnu::noipa]] void nested_strides(double* data, std::int64_t const* n, std::int64_t const* strides) {
  for (std::int64_t i = 0; i < n[0]; ++i) {
    for (std::int64_t j = 0; j < n[1]; ++j) {
      for (std::int64_t k = 0; k < n[2]; ++k) data[i * strides[0] + j * strides[1] + k * strides[2]] += 1.5;
    }
  }
}

template <memarray::ViewOptions options>
void run_nested_view(std::int64_t rows) {
  memarray::MemArray<double, 3> array({rows, columns, depth});
  memarray::WriteLease lease(array);
  nested_view(memarray::BufferView(lease).as<double, 3, options>());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: indexer_loops WHICH ROWS\n");
    return 2;
  }
  char const* which = argv[1];
  std::int64_t const rows = std::atoll(argv[2]);
  std::vector<double> memory(rows * columns * depth, 1.0);
  double* data = memory.data();
  auto const is = [which](char const* name) { return std::strcmp(which, name) == 0; };
  double result = 0;
  if (is("nested_raw")) {
    nested_raw(data, rows, columns, depth);
  } else if (is("nested_indexer")) {
    nested_indexer(Indexer3{data, {rows, columns, depth}});
  } else if (is("linear_raw")) {
    linear_raw(data, rows, columns);
  } else if (is("linear_narrow")) {
    linear_narrow(data, rows, columns);
  } else if (is("linear_indexer")) {
    linear_indexer(Indexer2{data, {rows, columns}});
  } else if (is("gather_raw")) {
    result = gather_raw(data, rows, columns);
  } else if (is("gather_indexer")) {
    result = gather_indexer({data, {rows, columns}});
  } else if (is("view_raw")) {
    std::int64_t const shape[3] = {rows, columns, depth}, strides[3] = {columns * depth, depth, 1};
    nested_strides(data, shape, strides);
  } else if (is("view_indexer")) {
    run_nested_view<memarray::ViewOptions::none>(rows);
  } else if (is("dense_raw")) {
    nested_raw(data, rows, columns, depth);
  } else if (is("dense_indexer")) {
    run_nested_view<memarray::c_order>(rows);
  } else {
    return 2;
  }
  std::printf("%g\n", result + data[rows / 2]);
}
