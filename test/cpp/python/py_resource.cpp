// A user's module that keeps pointers into Python objects: <memarray/interop/py_resource.h>, from C++.

#include <pybind11/pybind11.h>

#include <memarray/interop/py_resource.h>
#include <memarray/memarray.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

/// Returns the pointer that the function `name` gives.
void* ask(std::string const& name, PyObject* object, bool writable, PyResource* resource) {
  if (name == "bytes") return const_cast<char*>(PyBytes_AsStringRes(object, resource));
  if (name == "bytearray") return PyByteArray_AsStringRes(object, resource);
  if (name == "capsule") return const_cast<char*>(PyCapsule_GetNameRes(object, resource));
  if (name == "function") return const_cast<char*>(PyEval_GetFuncNameRes(object, resource));
  if (name == "utf8") return const_cast<char*>(PyUnicode_AsUTF8Res(object, resource));
  if (name == "utf8_and_size") {
    Py_ssize_t size = -1;
    char const* const pointer = PyUnicode_AsUTF8AndSizeRes(object, &size, resource);
    if (pointer && size != static_cast<Py_ssize_t>(std::strlen(pointer))) throw py::value_error("another size");
    return const_cast<char*>(pointer);
  }
  if (name == "array") return MemArray_AsPointerRes(object, writable, resource);
  if (name == "view") return BufferView_AsPointerRes(object, writable, resource);
  throw py::value_error(name);
}

bool is_as_it_was(PyResource const& resource) {
  return resource.close_func == nullptr && resource.data == static_cast<void const*>(&resource);
}

class Held {
 public:
  Held(std::string const& name, py::handle object, bool writable) {
    // A failed call must leave this value unchanged.
    PyResource resource{nullptr, &resource};
    _pointer = ask(name, object.ptr(), writable, &resource);
    if (!_pointer) {
      if (!PyErr_Occurred() && !resource.data && !resource.close_func) throw py::stop_iteration("no error");
      if (!is_as_it_was(resource)) throw py::value_error("the resource was touched");
      throw py::error_already_set();
    }
    *_resource.fill() = resource;
  }

  [[nodiscard]] py::bytes text() const { return {static_cast<char const*>(_pointer)}; }
  [[nodiscard]] double number(std::size_t i) const { return static_cast<double const*>(_pointer)[i]; }
  void set_number(std::size_t i, double value) { static_cast<double*>(_pointer)[i] = value; }
  [[nodiscard]] bool is_open() const { return _resource.is_open(); }
  void close() { _resource.close(); }
  /// Closes in another thread, which does not hold the GIL.
  void close_elsewhere() {
    py::gil_scoped_release const without;
    std::thread([this] { _resource.close(); }).join();
  }
  void close_while_failing() {
    PyErr_SetString(PyExc_KeyError, "while it was closed");
    _resource.close();
    throw py::error_already_set();
  }
  /// Closes twice from C code that received a plain struct.
  void close_struct() {
    PyResource plain = _resource.release();
    PyResource_Close(&plain);
    PyResource_Close(&plain);
    if (plain.close_func || plain.data) throw py::value_error("not cleared");
  }
  void move() {
    memarray::Resource other(std::move(_resource));
    if (_resource.is_open() || !other.is_open()) throw py::value_error("not moved");
    _resource = std::move(other);
  }
  /// Releases the resource without ever closing it.
  void lose() { static_cast<void>(_resource.release()); }
  void close_at_exit() {
    static std::vector<memarray::Resource> last;
    last.push_back(std::move(_resource));
  }

 private:
  memarray::Resource _resource;
  void* _pointer = nullptr;
};

}  // namespace

PYBIND11_MODULE(py_resources, m) {
  py::class_<Held>(m, "Held")
      .def(py::init<std::string const&, py::handle, bool>(), py::arg("name"), py::arg("object"),
           py::arg("writable") = false)
      .def("text", &Held::text)
      .def("number", &Held::number)
      .def("set_number", &Held::set_number)
      .def("close", &Held::close)
      .def("close_elsewhere", &Held::close_elsewhere)
      .def("close_while_failing", &Held::close_while_failing)
      .def("close_struct", &Held::close_struct)
      .def("move", &Held::move)
      .def("lose", &Held::lose)
      .def("close_at_exit", &Held::close_at_exit)
      .def_property_readonly("is_open", &Held::is_open);
}
