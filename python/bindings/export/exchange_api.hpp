#pragma once

#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <Python.h>
#include <dlpack/dlpack.h>

namespace memarray::python {

/// Interns names; once, at import.
bool init_exchange_api();
/// The table that an object's type has as `__dlpack_c_exchange_api__`, of a version that is ours to read; null without
/// an error where there is none.
DLPackExchangeAPI const* exchange_api_of(PyObject* object);
/// True if the object's type has that attribute itself, not from a base class: no subclass answers in its place.
bool defines_exchange_api(PyObject* object);
/// Whether what lies in memory are the elements. PyTorch's table lends tensors that are conjugated lazily, or that
/// gradients run through, without a word, and tensors that are negated lazily even over `__dlpack__`.
enum class Lending {
  elements,
  refuses,  ///< over `__dlpack__`, in words
  wrong,    ///< the Python error is set
};
/// Asks only what numbers with that code of DLPack's can be.
Lending how_it_lends(PyObject* object, std::uint8_t code);
/// True if `object`, which a consumer gave to a function of an exchange table, is an instance of `type`. False with
/// `TypeError` set.
bool check_instance(void* object, PyTypeObject* type);
/// What an open lease lends over a table: to a consumer that works in the default stream, which is the one that our
/// tables name. Throws as `detail::lend_versioned` does.
DLManagedTensorVersioned* lend_over_table(detail::LeaseCore const& lease);
/// The same of a view.
DLManagedTensorVersioned* lend_over_table(detail::ViewCore const& view);
/// Gives a type of ours that attribute. `lend` makes a managed tensor of an instance, as `__dlpack__` would of one that
/// asks for no stream; it throws. `look`: fills a tensor that is good as long as the instance is; may be null. −1 with
/// the Python error set.
int add_exchange_api(PyTypeObject* type, DLPackExchangeAPI& table, DLPackManagedTensorFromPyObjectNoSync lend,
                     DLPackDLTensorFromPyObjectNoSync look);

}  // namespace memarray::python
