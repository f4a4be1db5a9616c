// SPDX-License-Identifier: Apache-2.0
// Implements the module terrace._arrays: memory attributes (intents) for NumPy arrays. NumPy allocates array data
// with the handler of the context (NEP 49). This module makes a handler for each intent, for terrace.arrays, over
// the C interface of Terrace's library, which `terrace run` loads into the process; without it the handler uses
// malloc.
//
// Uses the plain Python C API, and the structure and function numbers that NumPy's ABI has fixed:
// building needs no NumPy, and one build serves every NumPy from 1.22 on.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>

namespace {

// --- NumPy's side
// ---------------------------------------------------------------------------------------------------------

struct Allocator {
  void* context;
  void* (*malloc)(void* context, std::size_t size);
  void* (*calloc)(void* context, std::size_t count, std::size_t size);
  void* (*realloc)(void* context, void* block, std::size_t size);
  void (*free)(void* context, void* block, std::size_t size);
};
struct Handler {
  char name[127];
  std::uint8_t version;
  Allocator allocator;
};
constexpr std::size_t k_feature_version = 211, k_set_handler = 304, k_get_handler = 305;
constexpr unsigned k_with_handlers = 0xf;  // feature version of NumPy 1.22
constexpr const char* k_capsule = "mem_handler";

using SetHandler = PyObject* (*)(PyObject*);
using GetHandler = PyObject* (*)();
using FeatureVersion = unsigned (*)();

// Returns NumPy's function table, or null with a Python exception.
void** numpy_functions() {
  static void** functions = nullptr;
  if (functions) return functions;
  PyObject* module = PyImport_ImportModule("numpy._core._multiarray_umath");
  if (!module && PyErr_ExceptionMatches(PyExc_ImportError)) {
    PyErr_Clear();
    module = PyImport_ImportModule("numpy.core._multiarray_umath");
  }
  if (!module) return nullptr;
  PyObject* const capsule = PyObject_GetAttrString(module, "_ARRAY_API");
  Py_DECREF(module);
  if (!capsule) return nullptr;
  auto** const found = static_cast<void**>(PyCapsule_GetPointer(capsule, nullptr));
  Py_DECREF(capsule);
  if (!found) return nullptr;
  if (reinterpret_cast<FeatureVersion>(found[k_feature_version])() < k_with_handlers) {
    PyErr_SetString(PyExc_RuntimeError, "this NumPy has no handlers of array data: install NumPy 1.22 or later");
    return nullptr;
  }
  return functions = found;
}

// --- Terrace's side
// ---------------------------------------------------------------------------------------------------------

// C interface of Terrace's library; null functions without it.
struct Library {
  int (*active)() = nullptr;
  void* (*alloc)(std::size_t size, const char* intent) = nullptr;
  int (*object)(const char* name, void* address, std::size_t size) = nullptr;
  int (*forget)(void* address) = nullptr;
  const char* (*last_error)() = nullptr;
};

const Library& library() {
  static const Library found = [] {
    Library all;
    const auto find = [](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(RTLD_DEFAULT, name));
    };
    find(all.active, "terrace_active");
    find(all.alloc, "terrace_alloc");
    find(all.object, "terrace_object");
    find(all.forget, "terrace_forget");
    find(all.last_error, "terrace_last_error");
    return all;
  }();
  return found;
}

bool is_active() { return library().active && library().active() != 0; }

// Smaller arrays share pages with other data and use malloc.
constexpr std::size_t k_min = 64 << 10;

// Allocates data, zeroed if by intent. The context is the intent's name.
void* by_intent(void* context, std::size_t size) {
  if (size < k_min || !is_active() || !library().alloc) return nullptr;
  return library().alloc(size, static_cast<const char*>(context));
}

void* handler_malloc(void* context, std::size_t size) {
  void* const block = by_intent(context, size);
  return block ? block : std::malloc(size);
}

void* handler_calloc(void* context, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  void* const block = by_intent(context, bytes);
  return block ? block : std::calloc(count, size);
}

// Start addresses of named objects. Terrace keeps objects of blocks that it places until they are
// unregistered.
class Named {
 public:
  void add(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    addresses_.insert(address);
  }
  void forget_within(std::uint64_t low, std::uint64_t size) {
    const std::lock_guard lock(mutex_);
    for (auto at = addresses_.lower_bound(low); at != addresses_.end() && *at - low < size;) {
      if (is_active()) library().forget(reinterpret_cast<void*>(*at));
      at = addresses_.erase(at);
    }
  }

 private:
  std::mutex mutex_;
  std::set<std::uint64_t> addresses_;
};

Named& named() {
  static auto& all = *new Named;
  return all;
}

// Terrace's library interposes free, which recognises its blocks.
void handler_free(void*, void* block, std::size_t size) {
  if (size >= k_min) named().forget_within(reinterpret_cast<std::uint64_t>(block), size);
  std::free(block);
}

// Moves a block between malloc and Terrace, as its old or new size requires.
void* handler_realloc(void* context, void* block, std::size_t size) {
  const std::size_t before = block ? malloc_usable_size(block) : 0;
  if (!is_active() || (before < k_min && size < k_min)) return std::realloc(block, size);
  void* const moved = handler_malloc(context, size);
  if (!moved) return nullptr;
  if (block) std::memcpy(moved, block, before < size ? before : size);
  handler_free(context, block, before);
  return moved;
}

// --- what Python calls
// ---------------------------------------------------------------------------------------------------------

// Returns the handler of an intent. It is created once, because arrays refer to it for their lifetime.
PyObject* handler(PyObject*, PyObject* argument) {
  static auto& capsules = *new std::map<std::string, PyObject*>;
  const char* const text = PyUnicode_AsUTF8(argument);
  if (!text) return nullptr;
  auto& capsule = capsules[text];
  if (!capsule) {
    auto* const made = new Handler{};
    std::snprintf(made->name, sizeof made->name, "terrace_%s", text);
    made->version = 1;
    made->allocator = {strdup(text), handler_malloc, handler_calloc, handler_realloc, handler_free};
    capsule = PyCapsule_New(made, k_capsule, nullptr);
    if (!capsule) return nullptr;
  }
  return Py_NewRef(capsule);
}

// Sets the handler of this context (contextvars); None is NumPy's own. Returns the previous one.
PyObject* set_handler(PyObject*, PyObject* argument) {
  auto** const numpy = numpy_functions();
  if (!numpy) return nullptr;
  return reinterpret_cast<SetHandler>(numpy[k_set_handler])(argument == Py_None ? nullptr : argument);
}

PyObject* get_handler(PyObject*, PyObject*) {
  auto** const numpy = numpy_functions();
  return numpy ? reinterpret_cast<GetHandler>(numpy[k_get_handler])() : nullptr;
}

PyObject* active(PyObject*, PyObject*) { return PyBool_FromLong(is_active() ? 1 : 0); }

// Returns None, or the text of the library's last error.
PyObject* complaint_or_none(bool is_well) {
  if (is_well) Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(library().last_error(), static_cast<Py_ssize_t>(strlen(library().last_error())),
                              "replace");
}

// Returns None if the intent can be used, else the reason. Without Terrace every intent can be used.
PyObject* complaint_of_intent(PyObject*, PyObject* argument) {
  const char* const text = PyUnicode_AsUTF8(argument);
  if (!text) return nullptr;
  if (!is_active() || !library().alloc || !library().last_error) Py_RETURN_NONE;
  void* const page = library().alloc(1, text);
  std::free(page);
  return complaint_or_none(page != nullptr);
}

// Names the data of an array, for terrace.array(); its free forgets the name.
PyObject* name_object(PyObject*, PyObject* arguments) {
  const char* name = nullptr;
  Py_ssize_t address = 0, size = 0;
  if (!PyArg_ParseTuple(arguments, "snn", &name, &address, &size)) return nullptr;
  if (!is_active() || !library().object || !library().forget || !library().last_error) Py_RETURN_NONE;
  const bool is_done =
      library().object(name, reinterpret_cast<void*>(address), static_cast<std::size_t>(size)) == 0;
  if (is_done) named().add(static_cast<std::uint64_t>(address));
  return complaint_or_none(is_done);
}

PyMethodDef k_functions[] = {
    {"active", active, METH_NOARGS,
     "Returns whether the program runs under `terrace run` or a similar subcommand."},
    {"handler", handler, METH_O, "Returns the data-memory handler of an intent, as a NumPy capsule."},
    {"set_handler", set_handler, METH_O, "Sets this context's handler; returns the previous one."},
    {"get_handler", get_handler, METH_NOARGS, "Returns this context's handler."},
    {"complaint_of_intent", complaint_of_intent, METH_O, "Returns why an intent cannot be used, or None."},
    {"name_object", name_object, METH_VARARGS, "Names [address, address + size); returns an error text or None."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef k_module = {PyModuleDef_HEAD_INIT,
                        "_arrays",
                        "Memory attributes (intents) for NumPy arrays.",
                        -1,
                        k_functions,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__arrays() { return PyModule_Create(&k_module); }
