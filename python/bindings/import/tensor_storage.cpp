#include "import/tensor_storage.hpp"

#include "export/exchange_api.hpp"
#include "helpers.hpp"

#include <atomic>
#include <string_view>

namespace memarray::python {
namespace {

PyObject* storage_name = nullptr;
PyObject* override_name = nullptr;

std::atomic<PyTypeObject*> storage_type = nullptr;

bool is_storage(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  if (PyTypeObject* const known = storage_type.load(std::memory_order_relaxed)) return type == known;
  if (!std::string_view(type->tp_name).ends_with("UntypedStorage")) return false;
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  storage_type = type;
  return true;
}

}  // namespace

bool init_tensor_storage() {
  if (!storage_name) storage_name = PyUnicode_InternFromString("untyped_storage");
  if (!override_name) override_name = PyUnicode_InternFromString("__torch_function__");
  return storage_name && override_name;
}

bool is_plain_tensor(PyObject* object) {
  PyRef const override = PyRef::steal(type_attribute(Py_TYPE(object), override_name));
  // `torch.nn.Parameter` disables overrides with a C function.
  return override && (PyCFunction_Check(override.get()) || defines_exchange_api(object));
}

PyRef storage_of(PyObject* object) {
  PyRef const method = PyRef::steal(type_attribute(Py_TYPE(object), storage_name));
  // A Python method of a subclass may return anything.
  if (!method || !Py_IS_TYPE(method.get(), &PyMethodDescr_Type)) return {};
  PyRef storage = PyRef::steal(PyObject_Vectorcall(method.get(), &object, 1, nullptr));
  // Some tensors have no storage.
  if (!storage) return PyErr_Clear(), PyRef();
  // A TorchFunctionMode may have answered in place of PyTorch.
  if (!is_storage(storage.get())) return {};
  return storage;
}

}  // namespace memarray::python
