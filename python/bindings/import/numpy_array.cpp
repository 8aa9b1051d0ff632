#include "import/numpy_array.hpp"

#include "helpers.hpp"
#include "py_ref.hpp"

#include <array>
#include <atomic>
#include <cstring>

namespace memarray::python {
namespace {

// NumPy's C structs, in all versions, up to the last field read.
struct Descriptor {
  PyObject_HEAD PyTypeObject* scalar_type;
  char kind;
  char letter;
  char byte_order;
  char flags;
  int number;
};
struct Array {
  PyObject_HEAD void* data;
  int ndim;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  PyObject* base;
  Descriptor* dtype;
  int flags;
};
constexpr int aligned_flag = 0x100;
constexpr int writeable_flag = 0x400;
// The values of PyArray_GetNDArrayCVersion in NumPy 1 and 2.
constexpr unsigned known_versions[] = {0x01000009, 0x02000000};

constexpr DLDataType of_bytes(std::uint8_t code, std::size_t bytes) {
  return {code, static_cast<std::uint8_t>(bytes * 8), 1};
}
/// DLPack types by NumPy's type numbers; unsupported ones have no bits.
constexpr std::array<DLDataType, 24> numbered = [] {
  std::array<DLDataType, 24> types{};
  types[0] = of_bytes(kDLBool, 1);
  constexpr std::size_t integers[] = {sizeof(char), sizeof(short), sizeof(int), sizeof(long), sizeof(long long)};
  for (std::size_t i = 0; i < 5; ++i) {
    types[1 + 2 * i] = of_bytes(kDLInt, integers[i]);
    types[2 + 2 * i] = of_bytes(kDLUInt, integers[i]);
  }
  types[11] = of_bytes(kDLFloat, sizeof(float));
  types[12] = of_bytes(kDLFloat, sizeof(double));
  types[14] = of_bytes(kDLComplex, 2 * sizeof(float));
  types[15] = of_bytes(kDLComplex, 2 * sizeof(double));
  types[23] = of_bytes(kDLFloat, 2);
  return types;
}();

std::array const dtypes = []() noexcept {
  std::array<DType const*, numbered.size()> found{};
  for (std::size_t i = 0; i < numbered.size(); ++i) found[i] = numbered[i].bits ? find_dtype(numbered[i]) : nullptr;
  return found;
}();

std::atomic<PyTypeObject*> array_type = nullptr;

/// Returns the array type of an imported NumPy module, borrowed, or null without an error.
PyTypeObject* type_in(char const* module_name) {
  PyRef const name = PyRef::steal(PyUnicode_FromString(module_name));
  PyRef const module = PyRef::steal(name ? PyImport_GetModule(name.get()) : nullptr);
  PyRef const capsule = PyRef::steal(module ? PyObject_GetAttrString(module.get(), "_ARRAY_API") : nullptr);
  auto* const table = capsule ? static_cast<void**>(PyCapsule_GetPointer(capsule.get(), nullptr)) : nullptr;
  PyTypeObject* found = nullptr;
  if (table) {
    unsigned const version = reinterpret_cast<unsigned (*)()>(table[0])();
    for (unsigned const known : known_versions)
      if (version == known) found = static_cast<PyTypeObject*>(table[2]);
  }
  PyErr_Clear();
  return found;
}

bool is_array_type(PyTypeObject* type) {
  if (PyTypeObject* const known = array_type.load(std::memory_order_relaxed)) return type == known;
  // The name is only a hint; the C API decides.
  if (std::strcmp(type->tp_name, "numpy.ndarray") != 0) return false;
  PyTypeObject* found = type_in("numpy._core._multiarray_umath");
  if (!found) found = type_in("numpy.core._multiarray_umath");
  if (type != found) return false;
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  array_type = type;
  return true;
}

PyTypeObject* array_type_of(PyTypeObject* type) {
  PyObject* const all = type->tp_mro;
  for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(all); ++i) {
    auto* const base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(all, i));
    if (is_array_type(base)) return base;
  }
  return nullptr;
}

std::optional<NumpyFields> fields_of(PyObject* object) {
  auto const& array = *reinterpret_cast<Array const*>(object);
  Descriptor const& descriptor = *array.dtype;
  auto const number = static_cast<unsigned>(descriptor.number);
  DType const* const dtype = number < dtypes.size() ? dtypes[number] : nullptr;
  bool const native = descriptor.byte_order == '=' || descriptor.byte_order == '|';
  if (!dtype || !native || array.ndim > StridedLayout::max_ndim) return std::nullopt;
  for (int d = 0; d < array.ndim; ++d)
    if ((array.strides[d] & (dtype->itemsize - 1)) != 0) return std::nullopt;
  auto const ndim = static_cast<std::size_t>(array.ndim);
  return NumpyFields{.data = array.data,
                     .shape = {array.shape, ndim},
                     .strides = {array.strides, ndim},
                     .dtype = dtype,
                     .writable = (array.flags & writeable_flag) != 0,
                     .is_aligned = (array.flags & aligned_flag) != 0};
}

}  // namespace

std::optional<NumpyFields> look_at_numpy_array(PyObject* object) {
  return is_array_type(Py_TYPE(object)) ? fields_of(object) : std::nullopt;
}

std::optional<NumpyFields> look_at_numpy_subclass(PyObject* object) {
  PyTypeObject* const base = array_type_of(Py_TYPE(object));
  PyRef const name = PyRef::steal(base ? PyUnicode_InternFromString("__dlpack__") : nullptr);
  if (!name) return PyErr_Clear(), std::nullopt;
  PyRef const numpys = PyRef::steal(type_attribute(base, name.get()));
  PyRef const used = PyRef::steal(type_attribute(Py_TYPE(object), name.get()));
  return numpys && numpys.get() == used.get() ? fields_of(object) : std::nullopt;
}

detail::ForeignMemory memory_of(NumpyFields const& array) {
  return {array.data, *array.dtype, array.shape, array.strides, array.writable};
}

}  // namespace memarray::python
