// terrace._core: machines, profiles, problems and plans of the library, for the analysis verbs.
#include "bindings.hpp"
#include "core/error.hpp"

namespace nb = nanobind;

namespace terrace::python {
namespace {

// Error and its subclass for wrong calls, so that the command line can tell exit status 2 from 1.
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
      PyErr_SetString(wrong_call ? invalid : failed, error.what());
    }
  });
}

}  // namespace
}  // namespace terrace::python

NB_MODULE(_core, module) {
  module.doc() =
      "Terrace's library: machines, profiles, placement problems and plans. Sizes are bytes, times seconds.";
  terrace::python::bind_errors(module);
  terrace::python::bind_machine(module);
  terrace::python::bind_store(module);
  terrace::python::bind_hints(module);
  terrace::python::bind_problem(module);
  terrace::python::bind_plan(module);
  terrace::python::bind_confidence(module);
  terrace::python::bind_trace(module);
  terrace::python::bind_gpu(module);
  terrace::python::bind_gpu_camat(module);
  terrace::python::bind_pim(module);
  terrace::python::bind_profile_writer(module);
  terrace::python::bind_program_sites(module);
}
