// One of the ways to make a module, by what is defined.

#if defined(OTHER_FLAVOUR) && MEMARRAY_HAS_CUDA
#undef MEMARRAY_HAS_CUDA
#define MEMARRAY_HAS_CUDA 0
#elif defined(OTHER_FLAVOUR)
#undef MEMARRAY_HAS_CUDA
#define MEMARRAY_HAS_CUDA 1
#endif

#if defined(NANOBIND)
#include <memarray/python/nanobind.hpp>
#define OTHER_ABI_MODULE NB_MODULE
#else
#include <memarray/python/memarray.hpp>
#define OTHER_ABI_MODULE PYBIND11_MODULE
#endif

OTHER_ABI_MODULE(NAME, module) {
#if defined(BINDS)
  memarray::bind_mem_array<double, 7>(module);
#elif defined(INITIALIZES)
  memarray::python::initialize();
#endif
  module.def("size", [](memarray::MemArray<double, 2> const& array) { return array.get_size(); });
}
