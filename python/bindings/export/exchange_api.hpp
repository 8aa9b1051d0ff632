#pragma once

#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <Python.h>
#include <dlpack/dlpack.h>

namespace memarray::python {

/// Interns names. Call once, at import. False with the Python error set.
bool init_exchange_api();
/// Returns the DLPack exchange table that an object's type has as `__dlpack_c_exchange_api__`, in a version that
/// memarray reads. Null without an error if there is none.
DLPackExchangeAPI const* exchange_api_of(PyObject* object);
/// True if the object's type itself, not a base class, has `__dlpack_c_exchange_api__`: the object is then of no
/// subclass that changes the export.
bool defines_exchange_api(PyObject* object);
/// The relation of an object's memory to its elements. PyTorch's table exports tensors that are conjugated lazily or
/// that require gradients, without an error. It exports tensors that are negated lazily, and so does `__dlpack__`.
enum class ExportMode {
  elements,  ///< the memory holds the elements
  refuses,   ///< `__dlpack__` refuses the export with a message
  wrong,     ///< the memory holds other numbers; the Python error is set
};
/// Determines the relation. Asks only for the lazy states that numbers with DLPack's type code `code` can have.
ExportMode export_mode(PyObject* object, std::uint8_t code);
/// True if `object`, which a consumer passed to a function of an exchange table, is an instance of `type`. False with
/// `TypeError` set.
bool check_instance(void* object, PyTypeObject* type);
/// Exports the memory of an open lease over a table, for a consumer that works in the default stream, which memarray's
/// tables name. Throws as `detail::export_versioned` does.
DLManagedTensorVersioned* export_over_table(detail::LeaseCore const& lease);
/// Exports the memory of a view over a table, for a consumer that works in the default stream. Throws as
/// `detail::export_versioned` does.
DLManagedTensorVersioned* export_over_table(detail::ViewCore const& view);
/// Gives one of memarray's types the attribute `__dlpack_c_exchange_api__`. `export_tensor` makes a managed tensor of
/// an instance, as `__dlpack__` does without a stream. `look` fills a tensor that is valid as long as the instance; it
/// may be null. −1 with the Python error set.
int add_exchange_api(PyTypeObject* type, DLPackExchangeAPI& table, DLPackManagedTensorFromPyObjectNoSync export_tensor,
                     DLPackDLTensorFromPyObjectNoSync look);

}  // namespace memarray::python
