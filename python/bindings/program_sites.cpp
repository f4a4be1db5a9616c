// SPDX-License-Identifier: Apache-2.0
// Binds symbol tables of a program that another tool has run: `terrace import` names objects by them, and `terrace
// lab calibrate` samples.
#include "observe/symbols/files/program_sites.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {

void bind_program_sites(nb::module_& module) {
  using observe::ProgramSites;
  nb::class_<ProgramSites::Site>(module, "ProgramSite")
      .def_ro("name", &ProgramSites::Site::name, "Name of objects allocated there, as in terrace run.")
      .def_ro("function", &ProgramSites::Site::function)
      .def_ro("is_allocator", &ProgramSites::Site::is_allocator);
  nb::class_<ProgramSites>(module, "ProgramSites", "Code of a program by its addresses in a process.")
      .def(nb::init<const std::string&, std::uint64_t>(), "program"_a, "bias"_a)
      .def("find", &ProgramSites::find, "address"_a, "Returns None if the address is outside of the program.");
  nb::class_<observe::FunctionRange>(module, "FunctionRange")
      .def_ro("begin", &observe::FunctionRange::begin, "Offset in the file.")
      .def_ro("end", &observe::FunctionRange::end)
      .def_ro("name", &observe::FunctionRange::name, "Source name without parameters.");
  module.def("function_ranges", &observe::function_ranges, "file"_a,
             "Returns the functions of an ELF file by file offset; empty for other files.");
}

}  // namespace terrace::python
