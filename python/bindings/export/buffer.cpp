#include "export/buffer.hpp"

#include "py_ref.hpp"
#include "view/view_buffer.hpp"

#include <string>

namespace memarray::python {
namespace {

bool refuse(Py_buffer* view, char const* why) {
  view->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, why);
  return false;
}

std::string on_device_message(detail::LeaseCore const& lease) {
  return "this memory is on " + to_string(lease.block().device()) +
         ", where NumPy and the buffer protocol do not reach: move the array with move_memory(kDLCPU) first, or take "
         "the lease with device='cpu'";
}

bool check_flags(detail::LeaseCore const& lease, Py_buffer* view, int flags) {
  if (lease.is_open() && lease.block().is_on_device()) return refuse(view, on_device_message(lease).c_str());
  if ((flags & PyBUF_WRITABLE) && !lease.is_write())
    return refuse(view, "a read lease exports read-only memory; take a write lease: 'with a.write() as lease'");
  return true;
}

PyObject* interface_of(detail::LeaseCore& lease) {
  static_cast<void>(lease.pin());
  return describe_memory(detail::ViewCore(lease));
}

}  // namespace

int lease_getbuffer(PyObject* self, detail::LeaseCore& lease, Py_buffer* view, int flags) {
  if (!check_flags(lease, view, flags)) return -1;
  return view_getbuffer(self, detail::ViewCore(lease), view, flags);
}

PyObject* to_tuple(std::int64_t const* values, int count) {
  PyRef tuple = PyRef::steal(PyTuple_New(count));
  for (int i = 0; tuple && i < count; ++i) {
    PyObject* const value = PyLong_FromLongLong(values[i]);
    if (!value) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), i, value);
  }
  return tuple.release();
}

PyObject* lease_array_interface(detail::LeaseCore& lease) {
  if (!lease.is_open()) {
    PyErr_SetString(PyExc_AttributeError, "__array_interface__ is available only inside the lease's 'with' block");
    return nullptr;
  }
  if (lease.block().is_on_device()) {
    PyErr_SetString(PyExc_AttributeError, on_device_message(lease).c_str());
    return nullptr;
  }
  if (lease.state().dtype().typestr[0] == '\0') {
    PyErr_Format(PyExc_AttributeError, "__array_interface__ has no name for %s; np.asarray(lease) works with ml_dtypes",
                 lease.state().dtype().name);
    return nullptr;
  }
  return lease_raw_interface(lease);
}

PyObject* lease_cuda_array_interface(detail::LeaseCore& lease) {
  auto const refuse_attribute = [](char const* why) {
    PyErr_SetString(PyExc_AttributeError, why);
    return nullptr;
  };
  if (!lease.is_open())
    return refuse_attribute("__cuda_array_interface__ is available only inside the lease's 'with' block");
  if (lease.block().exported_device().type != kDLCUDA)
    return refuse_attribute("__cuda_array_interface__ is available only for memory on a CUDA device, and this is not");
  if (lease.state().dtype().typestr[0] == '\0')
    return refuse_attribute("__cuda_array_interface__ has no name for this dtype; use DLPack");
  lease.order_export(nullptr);
  return with_stream(interface_of(lease), lease.stream());
}

PyObject* lease_raw_interface(detail::LeaseCore& lease) {
  if (lease.block().is_on_device()) {
    PyErr_SetString(PyExc_BufferError, on_device_message(lease).c_str());
    return nullptr;
  }
  return interface_of(lease);
}

}  // namespace memarray::python
