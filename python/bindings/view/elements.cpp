#include "view/elements.hpp"

#include "array/struct_dtype.hpp"
#include "helpers.hpp"
#include "py_ref.hpp"
#include "shown.hpp"
#include "strided/device_number.hpp"

#include <memarray/base/dtype.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

namespace memarray::python {
namespace {

using detail::ElementKind;
using detail::with_reduced_float;

template <class T>
void store(std::byte* element, T value) {
  std::memcpy(element, &value, sizeof value);
}

int out_of_range(PyObject* value, DType const& dtype) {
  PyErr_Format(PyExc_OverflowError, "%s does not fit into %s", shown(value).c_str(), dtype.name);
  return -1;
}

template <class T>
int write_integer(DType const& dtype, PyObject* value, std::byte* element) {
  if constexpr (std::is_signed_v<T>) {
    int overflow = 0;
    long long const number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0 || number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max())
      return out_of_range(value, dtype);
    store(element, static_cast<T>(number));
  } else {
    unsigned long long const number = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return out_of_range(value, dtype);
    }
    if (number > std::numeric_limits<T>::max()) return out_of_range(value, dtype);
    store(element, static_cast<T>(number));
  }
  return 1;
}

int write_integer(DType const& dtype, PyObject* value, std::byte* element) {
  bool const is_signed = dtype.dl.code == kDLInt;
  switch (dtype.itemsize) {
    case 1:
      return is_signed ? write_integer<std::int8_t>(dtype, value, element)
                       : write_integer<std::uint8_t>(dtype, value, element);
    case 2:
      return is_signed ? write_integer<std::int16_t>(dtype, value, element)
                       : write_integer<std::uint16_t>(dtype, value, element);
    case 4:
      return is_signed ? write_integer<std::int32_t>(dtype, value, element)
                       : write_integer<std::uint32_t>(dtype, value, element);
    default:
      return is_signed ? write_integer<std::int64_t>(dtype, value, element)
                       : write_integer<std::uint64_t>(dtype, value, element);
  }
}

/// Returns an int or float as the nearest double; -1 with an error. If `rounds_again`, an int that no double equals
/// becomes the neighbouring double whose last bit is 1: a narrower float is then rounded like the int itself.
double as_double(PyObject* value, bool rounds_again) {
  double const nearest = PyFloat_AsDouble(value);
  bool const is_exact = !PyLong_Check(value) || std::fabs(nearest) < 0x1p53;
  if (is_exact || !rounds_again || (std::bit_cast<std::uint64_t>(nearest) & 1U) != 0) return nearest;
  PyRef const rounded = PyRef::steal(PyLong_FromDouble(nearest));
  int const is_above = rounded ? PyObject_RichCompareBool(value, rounded.get(), Py_GT) : -1;
  int const is_below = is_above == 0 ? PyObject_RichCompareBool(value, rounded.get(), Py_LT) : 0;
  if (is_above < 0 || is_below < 0) return -1;
  if (is_above == 0 && is_below == 0) return nearest;
  double const infinity = std::numeric_limits<double>::infinity();
  return std::nextafter(nearest, is_above ? infinity : -infinity);
}

void write_real(DType const& dtype, double value, std::byte* element) {
  if (with_reduced_float(ElementKind::of(dtype), [&](auto zero) { store(element, decltype(zero)(value)); })) return;
  if (dtype.itemsize == 4)
    store(element, static_cast<float>(value));
  else
    store(element, value);
}

void write_complex(DType const& dtype, std::complex<double> value, std::byte* element) {
  if (dtype.itemsize == 8)
    store(element, std::complex<float>(value));
  else
    store(element, value);
}

template <class T>
T load(std::byte const* element) noexcept {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

PyObject* read_signed(std::size_t itemsize, std::byte const* element) {
  switch (itemsize) {
    case 1: return PyLong_FromLong(load<std::int8_t>(element));
    case 2: return PyLong_FromLong(load<std::int16_t>(element));
    case 4: return PyLong_FromLong(load<std::int32_t>(element));
    default: return PyLong_FromLongLong(load<std::int64_t>(element));
  }
}

PyObject* read_unsigned(std::size_t itemsize, std::byte const* element) {
  switch (itemsize) {
    case 1: return PyLong_FromUnsignedLong(load<std::uint8_t>(element));
    case 2: return PyLong_FromUnsignedLong(load<std::uint16_t>(element));
    case 4: return PyLong_FromUnsignedLong(load<std::uint32_t>(element));
    default: return PyLong_FromUnsignedLongLong(load<std::uint64_t>(element));
  }
}

double read_real(DType const& dtype, std::byte const* element) {
  double value = 0;
  if (with_reduced_float(ElementKind::of(dtype),
                         [&](auto zero) { value = static_cast<float>(load<decltype(zero)>(element)); }))
    return value;
  return dtype.itemsize == 4 ? load<float>(element) : load<double>(element);
}

}  // namespace

int write_element(DType const& dtype, PyObject* value, std::byte* element) {
  bool const is_bool = PyBool_Check(value);
  bool const is_int = PyLong_CheckExact(value) || is_bool;
  switch (dtype.dl.code) {
    case kDLBool:
      if (!is_bool) return 0;
      store(element, value == Py_True);
      return 1;
    case kDLInt:
    case kDLUInt: return is_int ? write_integer(dtype, value, element) : 0;
    default: {
      if (dtype.is_struct()) return 0;
      if (dtype.dl.code == kDLComplex && PyComplex_CheckExact(value)) {
        Py_complex const number = PyComplex_AsCComplex(value);
        write_complex(dtype, {number.real, number.imag}, element);
        return 1;
      }
      if (!is_int && !PyFloat_CheckExact(value)) return 0;
      double const number = as_double(value, dtype.itemsize < (dtype.dl.code == kDLComplex ? 16 : 8));
      if (number == -1 && PyErr_Occurred()) return -1;
      if (dtype.dl.code == kDLComplex)
        write_complex(dtype, number, element);
      else
        write_real(dtype, number, element);
      return 1;
    }
  }
}

bool write_any_element(PyObject* array, DType const& dtype, PyObject* value, std::vector<std::byte>& element) {
  element.resize(dtype.itemsize);
  int const written = write_element(dtype, value, element.data());
  if (written != 0) return written > 0;
  PyRef const args = PyRef::steal(PyTuple_Pack(1, value));
  PyRef const plain = PyRef::steal(args ? call_helper("memarray._numpy", "plain_element", array, args.get()) : nullptr);
  if (plain && !PyBytes_Check(plain.get())) return write_element(dtype, plain.get(), element.data()) > 0;
  char* data = nullptr;
  Py_ssize_t length = 0;
  if (!plain || PyBytes_AsStringAndSize(plain.get(), &data, &length) != 0) return false;
  bool const fits = length == static_cast<Py_ssize_t>(dtype.itemsize);
  if (fits) std::copy_n(reinterpret_cast<std::byte const*>(data), length, element.data());
  if (!fits) PyErr_Format(PyExc_TypeError, "%s is not an element of %s", shown(value).c_str(), dtype.name);
  return fits;
}

PyObject* read_element(DType const& dtype, std::byte const* element) {
  switch (dtype.dl.code) {
    case kDLBool: return PyBool_FromLong(load<std::uint8_t>(element));
    case kDLInt: return read_signed(dtype.itemsize, element);
    case kDLUInt: return read_unsigned(dtype.itemsize, element);
    case kDLComplex: {
      std::complex<double> const value =
          dtype.itemsize == 8 ? load<std::complex<float>>(element) : load<std::complex<double>>(element);
      return PyComplex_FromDoubles(value.real(), value.imag());
    }
    default:
      if (!dtype.is_struct()) return PyFloat_FromDouble(read_real(dtype, element));
      if (dtype.fields) return read_fields(*dtype.fields, element);
      return PyBytes_FromStringAndSize(reinterpret_cast<char const*>(element), dtype.itemsize);
  }
}

}  // namespace memarray::python
