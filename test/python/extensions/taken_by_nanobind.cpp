// Functions bound by nanobind that take and return arrays. Compiled by exchange_libraries.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <complex>
#include <cstdint>

namespace nb = nanobind;

// One of each name for each element type: none converts, so that an array's own is found.
template <class... Ts>
void define(nb::module_& m) {
  (m.def(
       "writable", [](nb::ndarray<nb::array_api, Ts, nb::device::cpu> array) { return array; }, nb::arg().noconvert()),
   ...);
  (m.def(
       "read_only", [](nb::ndarray<nb::array_api, Ts const, nb::device::cpu> array) { return array; },
       nb::arg().noconvert()),
   ...);
}

NB_MODULE(taken_by_nanobind, m) {
  define<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
         std::uint64_t, float, double, std::complex<float>, std::complex<double>>(m);
}
