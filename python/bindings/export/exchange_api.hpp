#pragma once

#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <Python.h>
#include <dlpack/dlpack.h>

namespace memarray::python {

bool init_exchange_api();
/// Returns the exchange table, in a known version, of an object's type; null without an error if there is none.
DLPackExchangeAPI const* exchange_api_of(PyObject* object);
/// True if the object's own type, not a base, has `__dlpack_c_exchange_api__`, so no subclass changes the export.
bool defines_exchange_api(PyObject* object);
/// The relation of an object's memory to its elements. PyTorch's table exports tensors that are conjugated or negated
/// lazily or require gradients. `__dlpack__` refuses all but negated ones.
enum class ExportMode {
  elements,  ///< the memory holds the elements
  refuses,   ///< `__dlpack__` refuses the export with a message
  wrong,     ///< the memory holds other numbers; the Python error is set
};
/// Asks only for the lazy states that elements of DLPack type code `code` can have.
ExportMode export_mode(PyObject* object, std::uint8_t code);
/// True if the `object` of a consumer is an instance of `type`; else raises `TypeError`.
bool check_instance(void* object, PyTypeObject* type);
/// Exports the memory of an open lease over a table, in the default stream. Throws as `detail::export_versioned` does.
DLManagedTensorVersioned* export_over_table(detail::LeaseCore const& lease);
/// Exports a view's memory in the same way.
DLManagedTensorVersioned* export_over_table(detail::ViewCore const& view);
/// Gives a type `__dlpack_c_exchange_api__`. `export_tensor` makes a managed tensor as `__dlpack__` without a stream
/// does. `look`, which may be null, fills a tensor that is valid as long as the instance.
int add_exchange_api(PyTypeObject* type, DLPackExchangeAPI& table, DLPackManagedTensorFromPyObjectNoSync export_tensor,
                     DLPackDLTensorFromPyObjectNoSync look);

}  // namespace memarray::python
