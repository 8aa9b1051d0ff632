// What a function that nanobind binds takes of an array, and gives back. Compiled by exchange_libraries.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

NB_MODULE(taken_by_nanobind, m) {
  using Writable = nb::ndarray<nb::array_api, float, nb::device::cpu>;
  using ReadOnly = nb::ndarray<nb::array_api, float const, nb::device::cpu>;
  m.def("writable", [](Writable array) { return array; }, nb::arg().noconvert());
  m.def("read_only", [](ReadOnly array) { return array; }, nb::arg().noconvert());
}
