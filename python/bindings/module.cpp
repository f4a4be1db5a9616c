// SPDX-License-Identifier: Apache-2.0
// Defines the module terrace._core: the library's machines, profiles, problems and plans, for the analysis
// subcommands.
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "core/error.hpp"

namespace nb = nanobind;

namespace terrace::python {
namespace {

// Registers Error and its subclass for wrong calls, so that the command line can tell exit status 2 from 1.
void bind_errors(nb::module_& module) {
  static PyObject* failed = PyErr_NewException("terrace._core.Error", nullptr, nullptr);
  static PyObject* invalid = PyErr_NewException("terrace._core.InvalidError", failed, nullptr);
  module.attr("Error") = nb::handle(failed);
  module.attr("InvalidError") = nb::handle(invalid);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const bool wrong_call = error.code() == Code::invalid || error.code() == Code::not_found;
      // The message may quote bytes of a file that are not UTF-8.
      const std::string_view text = error.what();
      const auto said =
          nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
      PyErr_SetObject(wrong_call ? invalid : failed, said.ptr());
    }
  });
}

#if !defined(TERRACE_GPU_SIM) || !defined(TERRACE_PIM) || !defined(TERRACE_STENCIL)
// Explains why a name of a product that was not built is missing. Python looks up names with underscores itself.
void bind_missing_names(nb::module_& module) {
  module.def("__getattr__", [](const std::string& name) -> nb::object {
    if (name.starts_with('_')) throw nb::attribute_error(name.c_str());
    throw Error(Code::unsupported,
                "this build of Terrace has no " + name +
                    ": it was configured without the stencil library, PIM or the GPU simulator, "
                    "as `make demo` does; run `make build`, which adds them");
  });
}
#endif

}  // namespace
}  // namespace terrace::python

NB_MODULE(_core, module) {
  module.doc() =
      "Terrace's library: machines, profiles, placement problems and plans. Sizes are bytes, times seconds.";
  terrace::python::bind_errors(module);
  terrace::python::bind_machine(module);
  terrace::python::bind_store(module);
  terrace::python::bind_hints(module);
  terrace::python::bind_mpi_objects(module);
  terrace::python::bind_problem(module);
  terrace::python::bind_plan(module);
  terrace::python::bind_ranks(module);
  terrace::python::bind_confidence(module);
  terrace::python::bind_trace(module);
  terrace::python::bind_profile_writer(module);
  terrace::python::bind_program_sites(module);
#ifdef TERRACE_GPU_SIM
  terrace::python::bind_gpu(module);
  terrace::python::bind_gpu_camat(module);
  terrace::python::bind_gpu_policies(module);
#endif
#ifdef TERRACE_PIM
  terrace::python::bind_pim(module);
#endif
#ifdef TERRACE_STENCIL
  terrace::python::bind_stencils(module);
#endif
#if !defined(TERRACE_GPU_SIM) || !defined(TERRACE_PIM) || !defined(TERRACE_STENCIL)
  terrace::python::bind_missing_names(module);
#endif
}
