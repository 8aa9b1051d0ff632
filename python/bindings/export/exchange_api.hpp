#pragma once

#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <Python.h>
#include <dlpack/dlpack.h>

namespace memarray::python {

bool init_exchange_api();
/// Returns the exchange table of the object's type, in a known version, or null without an error.
DLPackExchangeAPI const* exchange_api_of(PyObject* object);
/// True if the object's type itself, not a base, has `__dlpack_c_exchange_api__`: no subclass changes the export.
bool defines_exchange_api(PyObject* object);
/// The relation of memory to elements. PyTorch's table exports lazily conjugated or negated tensors, and those that
/// require gradients. `__dlpack__` refuses all but negated ones.
enum class ExportMode {
  elements,  ///< the memory holds the elements
  refuses,   ///< `__dlpack__` refuses the export with a message
  wrong,     ///< the memory holds other numbers, or asking failed; the Python error is set
};
/// Asks for the lazy states that elements of DLPack type code `code` can have.
ExportMode export_mode(PyObject* object, std::uint8_t code);
/// True if `object` is an instance of `type`; else raises `TypeError`.
bool check_instance(void* object, PyTypeObject* type);
/// Export the memory of an open lease or a view over a table, in the default stream. Throw as
/// `detail::export_versioned` does.
DLManagedTensorVersioned* export_over_table(detail::LeaseCore const& lease);
DLManagedTensorVersioned* export_over_table(detail::ViewCore const& view);
/// Gives a type `__dlpack_c_exchange_api__`. `export_tensor` exports as `__dlpack__()` does. `look`, which may be null,
/// fills in a tensor that is valid as long as the instance.
int add_exchange_api(PyTypeObject* type, DLPackExchangeAPI& table, DLPackManagedTensorFromPyObjectNoSync export_tensor,
                     DLPackDLTensorFromPyObjectNoSync look);

}  // namespace memarray::python
