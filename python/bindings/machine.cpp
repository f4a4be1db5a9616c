// SPDX-License-Identifier: Apache-2.0
// Binds machines (machine files) and budgets (bytes by place). Used by all analysis subcommands.
#include "machine/machine.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "core/error.hpp"
#include "machine/file/machine_file.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

using machine::Machine;

std::vector<std::uint64_t> plain(const machine::Budget& budget) {
  std::vector<std::uint64_t> bytes;
  for (const auto size : budget) bytes.push_back(size.value);
  return bytes;
}

}  // namespace

void bind_machine(nb::module_& module) {
  nb::class_<Machine>(module, "Machine", "A machine: places, initiators, paths. Immutable.")
      .def_static(
          "read", [](const std::string& name) { return machine::load_machine(name).machine; }, "name"_a,
          "The machine of a file, or a shipped one by its name; behind @ the copier at whose price data is moved.")
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes) {
            BlobReader in(bytes_of(bytes));
            return Machine::from_blob(in);
          },
          "blob"_a, "Parses the bytes from a profile store.")
      .def("to_bytes",
           [](const Machine& self) {
             BlobWriter out;
             self.to_blob(out);
             return nb::bytes(out.bytes().data(), out.bytes().size());
           })
      .def(
          "to_toml", [](const Machine& self) { return machine::format_machine_file(self); },
          "Returns the text of the machine file.")
      .def_prop_ro("name", &Machine::name)
      .def_prop_ro("copier", [](const Machine& self) { return self.copier().name; })
      .def_prop_ro("kinds", &Machine::kinds)
      .def_prop_ro("places",
                   [](const Machine& self) {
                     std::vector<std::string> names;
                     for (const auto& place : self.places()) names.push_back(place.name);
                     return names;
                   })
      .def_prop_ro("capacities",
                   [](const Machine& self) {
                     std::vector<std::uint64_t> bytes;
                     for (const auto& place : self.places()) bytes.push_back(place.capacity.value);
                     return bytes;
                   })
      .def(
          "initiator",
          [](const Machine& self, unsigned domain) {
            if (domain >= self.domains().size())
              throw Error(Code::invalid, "domain " + std::to_string(domain) + ": machine " + self.name() +
                                             " has domains 0 to " + std::to_string(self.domains().size() - 1) +
                                             "; name one of them");
            return self.domains()[domain].initiator;
          },
          "domain"_a, "Returns the domain's initiator.")
      .def(
          "move_time",
          [](const Machine& self, InitiatorId initiator, double cores, PlaceId source, PlaceId target,
             std::uint64_t size) {
            return machine::move_time(self, initiator, cores, source, target, Bytes{size}).value;
          },
          "initiator"_a, "cores"_a, "source"_a, "target"_a, "size"_a,
          "Seconds of the mover for one chunk, beside a program on so many of the initiator's cores.")
      .def(
          "with_copier",
          [](const Machine& self, const std::string& name) { return machine::with_copier(self, name); }, "name"_a,
          "Returns the machine with the cost of another of its copiers, or of the ideal one.")
      .def("home", &Machine::home, "domain"_a, "Returns the default place of a domain's data.")
      .def("fastest_first", &Machine::fastest_first, "domain"_a)
      .def(
          "budget",
          [](const Machine& self, const std::string& text) {
            return plain(text.empty() ? machine::Budget{} : machine::parse_budget(self, text));
          },
          "text"_a, "Bytes by place of \"hbm=16GiB,...\"; none for an empty text, which allows everything.")
      .def(
          "fast_budget",
          [](const Machine& self, std::uint64_t fast) { return plain(machine::fast_budget(self, Bytes{fast})); },
          "fast"_a, "Returns bytes by place with `fast` bytes of each domain's fastest kind.")
      .def("__repr__", [](const Machine& self) { return "<Machine '" + self.name() + "'>"; });
  module.def("format_budget", &machine::format_budget, "text"_a,
             "A budget as plans write it: \"hbm=1MB\" for \"hbm=1000000\".");
  module.def(
      "parse_size", [](std::string_view text) { return parse_bytes(text).value; }, "text"_a);
  module.def(
      "format_size", [](std::uint64_t size) { return format_exact(Bytes{size}); }, "size"_a,
      "Returns the shortest text that parse_size converts to the same size.");
  module.def("shipped_machines", &machine::shipped_machines,
             "Returns the machine names that Machine.read accepts.");
}

}  // namespace terrace::python
