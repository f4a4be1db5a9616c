// SPDX-License-Identifier: Apache-2.0
// Binds stencil programs in virtual time (priced, no kernel runs), for `terrace lab experiment out-of-core`.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "stencil/stream/chain_splitter.hpp"
#include "stencil/virtual/virtual_run.hpp"
#include "workloads/stencils/program.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

// Prices a program's chains of loops on two memories; returns times and traffic.
nb::dict price(const std::string& program, const std::map<std::string, std::string>& arguments,
               const machine::Machine& machine, const std::string& how, std::uint64_t memory,
               std::uint64_t slow_memory, double bandwidth, bool tiled, bool cyclic, bool prefetched,
               double processes) {
  using namespace stencil;
  VirtualRun run(machine,
                 {how, {Bytes{memory}, Bytes{slow_memory}, bandwidth}, {tiled, cyclic, prefetched, processes}});
  {
    const nb::gil_scoped_release others_may_run;
    programs::Arguments given(arguments);
    static_cast<void>(programs::find_stencil_program(program).run(run.context(), given));
    run.context().run();
  }
  const auto& counts = run.counts();
  nb::dict out;
  out["seconds"] = counts.seconds;
  out["loop_seconds"] = counts.loop_seconds;
  out["copy_seconds"] = counts.copy_seconds;
  out["hidden_seconds"] = counts.hidden_seconds;
  out["accesses"] = counts.accesses;
  out["hits"] = counts.hits;
  out["bytes_in"] = counts.bytes_in;
  out["bytes_out"] = counts.bytes_out;
  out["tiles"] = counts.tiles;
  out["untiled_chains"] = counts.untiled_chains;
  out["shortened_chains"] = run.context().statistics().shortened_chains;
  out["dataset_bytes"] = run.dataset_bytes();
  out["fast_bytes"] = run.tiers().fast_bytes;
  out["in_bandwidth"] = run.tiers().in_bandwidth;
  out["slow_bytes"] = run.tiers().slow_bytes;
  out["chains"] = run.context().statistics().chains;
  out["loops"] = run.context().statistics().loops;
  return out;
}

}  // namespace

void bind_stencils(nb::module_& module) {
  module.def(
      "stencil_programs",
      [] {
        std::vector<std::tuple<std::string, std::string, std::string>> all;
        for (const auto* program : stencil::programs::stencil_programs())
          all.emplace_back(program->name(), program->title(), program->source());
        return all;
      },
      "Returns name, title and source of each stencil program.");
  module.def(
      "stencil_modes",
      [] {
        std::vector<std::string> all;
        for (const auto* mode : stencil::modes()) all.emplace_back(mode->name);
        return all;
      },
      "Returns the modes of running chains of loops on two memories.");
  const nb::exception<stencil::NoTileFits> no_room(module, "NoRoomError", module.attr("InvalidError"));
  // Raised for a chain whose smallest tile does not fit.
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* type) {
        try {
          std::rethrow_exception(thrown);
        } catch (const stencil::InsufficientMemory& error) {
          PyErr_SetString(static_cast<PyObject*>(type), error.what());
        }
      },
      no_room.ptr());
  module.def(
      "price_stencil", &price, "program"_a, "arguments"_a, "machine"_a, nb::kw_only(), "how"_a, "memory"_a = 0,
      "slow_memory"_a = 0, "bandwidth"_a = 0.0, "tiled"_a = true, "cyclic"_a = true, "prefetched"_a = true,
      "processes"_a = 1.0,
      "What a stencil program takes on the machine's two fastest memories, in virtual time: no kernel runs. "
      "`memory`: bytes of the fast one that datasets may take, 0: all; `slow_memory`: bytes of the slow one, 0: "
      "the machine's; `bandwidth`: bytes a second that the "
      "program's own loops reach there, 0: the memory's; `processes`: of a cache, that do not wait for one "
      "another within a chain. Raises NoRoomError where not even the smallest tile of a chain has room.");
}

}  // namespace terrace::python
