"""Sources of files with many different kernels over six arrays, for each model of parallel loops."""

from __future__ import annotations

HEADERS = {"memarray": "memarray/memarray.hpp", "OpenMP": "omp.h", "Kokkos": "Kokkos_Core.hpp"}

FILES = {
    "memarray": """
using Array = memarray::MemArray<double, 3>;
using memarray::overwrite, memarray::read, memarray::update;
""",
    "OpenMP": """
#include <cstdint>
struct Extents { std::int64_t n0, n1, n2; };
""",
    "Kokkos": """
using View = Kokkos::View<double***, Kokkos::HostSpace>;
using Const = Kokkos::View<double const***, Kokkos::HostSpace>;
using Range = Kokkos::MDRangePolicy<Kokkos::DefaultHostExecutionSpace, Kokkos::Rank<3>>;
""",
}

KERNELS = {
    "memarray": """
void kernel{k}(Array const& a, Array const& b, Array const& c, Array const& d, Array& e, Array& g,
               memarray::StreamHandle const& stream) {
  double const k = {k}.5;
  memarray::for_each_index(
      e.get_shape(), stream,
      [k](auto const& i, auto a, auto b, auto c, auto d, auto e, double& g) {
        e[i] = k * a[i] + b[i] * c[i] - d[i];
        g += e[i] * k;
      },
      read(a), read(b), read(c), read(d), overwrite(e), update(g));
}
""",
    "OpenMP": """
void kernel{k}(Extents n, double const* a, double const* b, double const* c, double const* d, double* e, double* g) {
  double const k = {k}.5;
#pragma omp parallel for collapse(2)
  for (std::int64_t i0 = 0; i0 < n.n0; ++i0)
    for (std::int64_t i1 = 0; i1 < n.n1; ++i1)
      for (std::int64_t i2 = 0; i2 < n.n2; ++i2) {
        std::int64_t const i = (i0 * n.n1 + i1) * n.n2 + i2;
        e[i] = k * a[i] + b[i] * c[i] - d[i];
        g[i] += e[i] * k;
      }
}
""",
    "Kokkos": """
void kernel{k}(Const a, Const b, Const c, Const d, View e, View g) {
  double const k = {k}.5;
  Range const range({0, 0, 0}, {e.extent_int(0), e.extent_int(1), e.extent_int(2)});
  Kokkos::parallel_for(
      range, KOKKOS_LAMBDA(int i0, int i1, int i2) {
        e(i0, i1, i2) = k * a(i0, i1, i2) + b(i0, i1, i2) * c(i0, i1, i2) - d(i0, i1, i2);
        g(i0, i1, i2) += e(i0, i1, i2) * k;
      });
}
""",
}


def include(model: str) -> str:
    """Returns a file that has only the model's header."""
    return f"#include <{HEADERS[model]}>\n"


def kernels(model: str, count: int) -> str:
    """Returns a file of ``count`` functions; each has a kernel with its own constant and type."""
    functions = [KERNELS[model].replace("{k}", str(k)) for k in range(1, count + 1)]
    return include(model) + FILES[model] + "".join(functions)
