// SPDX-License-Identifier: Apache-2.0
// Binds memory traces of programs and their misses in a machine's caches, for `terrace lab misses` and `lab
// coverage`.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "core/error.hpp"
#include "machine/file/derived_machines.hpp"
#include "machine/machine.hpp"
#include "tracer/trace_misses.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

using tracer::TraceMisses;

TraceMisses misses_of(const std::string& path, const machine::Machine& given, unsigned initiator,
                      const std::vector<std::string>& caches, std::uint64_t big_block, bool whole_run) {
  const auto machine = machine::with_cache_sizes(given, caches);
  if (initiator >= machine.initiators().size())
    throw Error(Code::invalid, "initiator " + std::to_string(initiator) + ": machine " + machine.name() +
                                   " has initiators 0 to " + std::to_string(machine.initiators().size() - 1) +
                                   "; pass one of them");
  tracer::TraceMissesOptions options;
  options.caches.levels = machine.initiators()[initiator].caches;
  options.caches.line = machine.parts().line;
  options.big_block = big_block;
  options.whole_run = whole_run;
  auto trace = tracer::TraceReader::open(path);
  const nb::gil_scoped_release released;
  return tracer::find_misses(trace, options);
}

}  // namespace

void bind_trace(nb::module_& module) {
  using OfObject = TraceMisses::OfObject;
  using Place = TraceMisses::Place;
  nb::class_<OfObject>(module, "TracedObject", "An object of a trace, and its lines fetched from memory.")
      .def_prop_ro("name", [](const OfObject& self) { return self.about.name; })
      .def_prop_ro("kind", [](const OfObject& self) { return self.about.kind; })
      .def_prop_ro(
          "size", [](const OfObject& self) { return self.about.size; }, "Bytes; 0 for groups of objects.")
      .def_prop_ro(
          "lines",
          [](const OfObject& self) { return nb::make_tuple(self.lines[0], self.lines[1], self.lines[2]); },
          "By the program's code, by memory functions called by it, by libraries.");
  nb::class_<Place>(module, "TracedPlace", "A place in the code with misses on an object.")
      .def_ro("object", &Place::object)
      .def_prop_ro("code", [](const Place& self) { return static_cast<int>(self.code); })
      .def_ro("site", &Place::site)
      .def_ro("lines", &Place::lines);
  nb::class_<TraceMisses>(module, "TraceMisses", "Misses of a trace in the last level of a machine's caches.")
      .def_ro("loops_only", &TraceMisses::loops_only)
      .def_prop_ro("accesses",
                   [](const TraceMisses& self) {
                     return nb::make_tuple(self.accesses[0], self.accesses[1], self.accesses[2]);
                   })
      .def_ro("objects", &TraceMisses::objects)
      .def_ro("places", &TraceMisses::places)
      .def_prop_ro("whole", [](const TraceMisses& self) { return self.ending.whole; })
      .def_prop_ro("limited", [](const TraceMisses& self) { return self.ending.limited; })
      .def_prop_ro("reason", [](const TraceMisses& self) { return self.ending.reason; });
  module.def("trace_misses", &misses_of, "path"_a, "machine"_a, "initiator"_a = 0,
             "caches"_a = std::vector<std::string>(), "big_block"_a = 16384, "whole_run"_a = false,
             "Replays a trace through the caches of a machine's initiator.");
}

}  // namespace terrace::python
