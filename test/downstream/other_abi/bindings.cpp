// One of the ways to make a module, by what is defined.

#if defined(OTHER_FLAVOUR) && MEMARRAY_HAS_CUDA
#undef MEMARRAY_HAS_CUDA
#define MEMARRAY_HAS_CUDA 0
#elif defined(OTHER_FLAVOUR)
#undef MEMARRAY_HAS_CUDA
#define MEMARRAY_HAS_CUDA 1
#endif

#include <memarray/python/memarray.hpp>

#include <pybind11/pybind11.h>

PYBIND11_MODULE(NAME, module) {
#if defined(BINDS)
  memarray::bind_mem_array<double, 7>(module);
#elif defined(INITIALIZES)
  memarray::python::initialize();
#endif
  module.def("size", [](memarray::MemArray<double, 2> const& array) { return array.get_size(); });
}
