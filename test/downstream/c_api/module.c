/* Refs in Python's hands are capsules here; a real extension would have types of its own. */
#include <Python.h>
#include <memarray/interop/c_api.h>
#include <stdlib.h>

#include "churn.h"

static char const stream_name[] = "c_handles.stream";
static char const event_name[] = "c_handles.event";

static void end_stream(PyObject* capsule) {
  memarray_api->release_stream((MemArrayStreamRef)PyCapsule_GetPointer(capsule, stream_name));
}

static void end_event(PyObject* capsule) {
  memarray_api->release_event((MemArrayEventRef)PyCapsule_GetPointer(capsule, event_name));
}

static PyObject* show_stream(__memarray_take MemArrayStreamRef stream, char const* what) {
  PyObject* capsule = NULL;
  if (!stream) {
    memarray_api->raise_last_error(what);
    return NULL;
  }
  capsule = PyCapsule_New(stream, stream_name, end_stream);
  if (!capsule) memarray_api->release_stream(stream);
  return capsule;
}

static PyObject* done(int status, char const* what) {
  if (status != 0) {
    memarray_api->raise_last_error(what);
    return NULL;
  }
  Py_RETURN_NONE;
}

static PyObject* make_stream(PyObject* self, PyObject* args) {
  int device = 0;
  MemArrayContextRef context;
  MemArrayStreamRef stream;
  (void)self;
  if (!PyArg_ParseTuple(args, "i", &device)) return NULL;
  context = memarray_api->get_primary_context(device);
  stream = context ? memarray_api->create_stream(context, 1, 0) : NULL;
  memarray_api->release_context(context);
  return show_stream(stream, "making a stream in C");
}

/* Any object with an attribute `handle`, which is kept as long as the stream. */
static PyObject* adopt_stream(PyObject* self, PyObject* object) {
  PyObject* const handle = PyObject_GetAttrString(object, "handle");
  Py_ssize_t const raw = handle ? PyLong_AsSsize_t(handle) : -1;
  (void)self;
  Py_XDECREF(handle);
  if (PyErr_Occurred()) return NULL;
  Py_INCREF(object);
  return show_stream(memarray_api->create_stream_with_owner(raw, object, memarray_api->drop_object, NULL),
                     "adopting a stream in C");
}

static PyObject* drop_while_failing(PyObject* self, PyObject* object) {
  PyObject* const capsule = adopt_stream(self, object);
  if (!capsule) return NULL;
  PyErr_SetString(PyExc_ValueError, "while a stream was dropped");
  Py_DECREF(capsule);
  return NULL;
}

static PyObject* address(PyObject* self, PyObject* capsule) {
  MemArrayStreamRef const stream = (MemArrayStreamRef)PyCapsule_GetPointer(capsule, stream_name);
  (void)self;
  return stream ? PyLong_FromSsize_t(memarray_api->stream_as_intptr(stream)) : NULL;
}

/* An event for all that is in the stream now. */
static PyObject* record(PyObject* self, PyObject* capsule) {
  MemArrayStreamRef const stream = (MemArrayStreamRef)PyCapsule_GetPointer(capsule, stream_name);
  MemArrayContextRef context;
  MemArrayEventRef event;
  PyObject* shown = NULL;
  (void)self;
  if (!stream) return NULL;
  context = memarray_api->stream_context(stream);
  event = memarray_api->create_event(context, 0);
  memarray_api->release_context(context);
  if (!event || memarray_api->record_event(event, stream) != 0)
    memarray_api->raise_last_error("recording an event in C");
  else
    shown = PyCapsule_New(event, event_name, end_event);
  if (!shown) memarray_api->release_event(event);
  return shown;
}

/* Calls the function with the GIL held, which it releases itself. */
static PyObject* synchronize(PyObject* self, PyObject* capsule) {
  MemArrayEventRef const event = (MemArrayEventRef)PyCapsule_GetPointer(capsule, event_name);
  (void)self;
  return event ? done(memarray_api->synchronize_event(event), "waiting in C") : NULL;
}

static PyObject* churn_without_gil(PyObject* self, PyObject* args) {
  int device = 0;
  int rounds = 0;
  int status = 0;
  (void)self;
  if (!PyArg_ParseTuple(args, "ii", &device, &rounds)) return NULL;
  Py_BEGIN_ALLOW_THREADS status = churn(device, rounds);
  Py_END_ALLOW_THREADS return done(status, "churning in C");
}

/* Leaves the error where it is. */
static PyObject* fail(PyObject* self, PyObject* none) {
  (void)self;
  (void)none;
  if (memarray_api->get_primary_context(1000)) return PyErr_Format(PyExc_AssertionError, "a thousand devices?");
  Py_RETURN_NONE;
}

static PyObject* peek(PyObject* self, PyObject* none) {
  (void)self;
  (void)none;
  return PyLong_FromLong(memarray_api->peek_last_error());
}

/* raise_last_error, whatever it finds. */
static PyObject* raise_last(PyObject* self, PyObject* what) {
  char const* const words = PyUnicode_AsUTF8(what);
  (void)self;
  return words ? done(-1, words) : NULL;
}

/* Imports the table again, as `memarray._core._C_API` is now. */
static PyObject* import_again(PyObject* self, PyObject* none) {
  MemArrayAPI const* const before = memarray_api;
  int status;
  (void)self;
  (void)none;
  memarray_api = NULL;
  status = memarray_import();
  if (status == 0 && memarray_api != before) {
    PyErr_SetString(PyExc_AssertionError, "another table was taken");
    status = -1;
  }
  memarray_api = before;
  if (status != 0) return NULL;
  Py_RETURN_NONE;
}

static MemArrayStreamRef kept = NULL;

static void end_kept(void) { memarray_api->release_stream(kept); }

/* Lets a stream go when the process ends, after the interpreter. */
static PyObject* keep_until_exit(PyObject* self, PyObject* capsule) {
  (void)self;
  kept = memarray_api->retain_stream((MemArrayStreamRef)PyCapsule_GetPointer(capsule, stream_name));
  if (!kept) return NULL;
  atexit(end_kept);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"make_stream", make_stream, METH_VARARGS, NULL},
    {"adopt_stream", adopt_stream, METH_O, NULL},
    {"drop_while_failing", drop_while_failing, METH_O, NULL},
    {"address", address, METH_O, NULL},
    {"record", record, METH_O, NULL},
    {"synchronize", synchronize, METH_O, NULL},
    {"churn", churn_without_gil, METH_VARARGS, NULL},
    {"fail", fail, METH_NOARGS, NULL},
    {"peek_last_error", peek, METH_NOARGS, NULL},
    {"raise_last_error", raise_last, METH_O, NULL},
    {"import_again", import_again, METH_NOARGS, NULL},
    {"keep_until_exit", keep_until_exit, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "c_handles", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_c_handles(void) {
  if (memarray_import() != 0) return NULL;
  return PyModule_Create(&definition);
}
