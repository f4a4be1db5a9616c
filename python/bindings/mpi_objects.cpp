// SPDX-License-Identifier: Apache-2.0
// Binds the tables of the memory that MPI libraries allocate for themselves, for the advisor on placing it.
#include "strategy/mpi_objects/mpi_objects.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "strategy/files/mpi_objects_file.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

using strategy::MpiClassifier;
using strategy::MpiObject;
using strategy::MpiObjectTable;
using strategy::MpiRequest;
using OptionalSize = std::optional<std::uint64_t>;

MpiRequest request_of(std::uint32_t ranks, std::uint64_t size, OptionalSize total, OptionalSize rounded,
                      std::uint64_t page_size) {
  return {.ranks = ranks, .page_size = page_size, .size = size, .total = total, .rounded = rounded};
}

// Adds a method that evaluates one formula of an object.
template <class Class>
void bind_formula(Class& bound, const char* name, std::optional<strategy::Expression> MpiObject::*formula,
                  const char* doc) {
  bound.def(
      name,
      [formula](const MpiObject& self, std::uint32_t ranks, std::uint64_t size, OptionalSize total,
                OptionalSize rounded, std::uint64_t page_size) {
        return self.evaluate(self.*formula, request_of(ranks, size, total, rounded, page_size));
      },
      "ranks"_a, "size"_a = 0, "total"_a = nb::none(), "rounded"_a = nb::none(), "page_size"_a = 4096, doc);
}

}  // namespace

void bind_mpi_objects(nb::module_& module) {
  auto object = nb::class_<MpiObject>(module, "MpiObject", "A row of a table of MPI objects.")
                    .def_ro("name", &MpiObject::name)
                    .def_prop_ro("kind", [](const MpiObject& self) { return name_of(self.kind); })
                    .def_ro("mappings", &MpiObject::mappings)
                    .def_ro("functions", &MpiObject::functions)
                    .def_ro("max_message", &MpiObject::max_message)
                    .def_prop_ro("created", [](const MpiObject& self) { return name_of(self.created); })
                    .def_prop_ro("touched", [](const MpiObject& self) { return name_of(self.touched); })
                    .def_prop_ro("touched_by", [](const MpiObject& self) { return name_of(self.touched_by); })
                    .def_ro("may_bind", &MpiObject::may_bind);
  bind_formula(object, "size", &MpiObject::size, "Returns the bytes of one object, or None if it has no formula.");
  bind_formula(object, "count", &MpiObject::count, "Returns the number of such objects on a node, or None.");
  bind_formula(object, "header", &MpiObject::header, "Returns the control bytes before the data, or None.");
  bind_formula(object, "slice", &MpiObject::slice, "Returns the bytes of each rank after the header, or None.");

  nb::class_<MpiObjectTable>(module, "MpiObjectTable", "The objects of one MPI library, by version.")
      .def_static(
          "read", [](const std::string& path) { return strategy::read_mpi_objects_file(path); }, "path"_a)
      .def_static(
          "parse", [](std::string_view text) { return strategy::parse_mpi_objects(text, "table"); }, "text"_a)
      .def_ro("library", &MpiObjectTable::library)
      .def_ro("checked", &MpiObjectTable::checked)
      .def_ro("objects", &MpiObjectTable::objects)
      .def("describes", &MpiObjectTable::describes, "file_name"_a, "version"_a,
           "Returns whether the table is that of a library, by its file and its version string.");
  module.def("shipped_mpi_objects", &strategy::shipped_mpi_objects, "Returns the shipped tables.");

  nb::class_<MpiClassifier>(module, "MpiClassifier", "Classifies mappings by tables of MPI objects.")
      .def(nb::init<std::vector<MpiObjectTable>>(), "tables"_a)
      .def(
          "classify",
          [](const MpiClassifier& self, std::string_view name, std::uint64_t size, std::string_view function,
             std::uint32_t ranks, std::uint64_t requested, OptionalSize total, OptionalSize rounded,
             std::uint64_t page_size) {
            const auto request = request_of(ranks, requested, total, rounded, page_size);
            return self.classify({.name = name, .size = size, .function = function, .request = request});
          },
          "name"_a, "size"_a, "function"_a, "ranks"_a, "requested"_a = 0, "total"_a = nb::none(),
          "rounded"_a = nb::none(), "page_size"_a = 4096, nb::rv_policy::reference_internal,
          "Returns the object that a mapping of `size` bytes is, or None.");
}

}  // namespace terrace::python
