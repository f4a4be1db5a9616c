// GPUs in virtual time: programs, their traces of warps, runs under a placement or a policy.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <optional>

#include "bindings.hpp"
#include "core/error.hpp"
#include "gpu_camat.hpp"
#include "machine/machine.hpp"
#include "sim/gpu/engine/policy_decider.hpp"
#include "sim/gpu/engine/simulator.hpp"
#include "sim/gpu/simt/device.hpp"
#include "sim/gpu/trace/accelsim_reader.hpp"
#include "sim/gpu/trace/warp_file.hpp"
#include "strategy/tiering/touch_policy.hpp"
#include "workloads/gpu/program.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

using namespace sim::gpu;

constexpr auto k_all = std::numeric_limits<std::uint64_t>::max();

const machine::Gpu& gpu_of(const machine::Machine& machine) {
  if (machine.parts().gpus.empty())
    throw Error(Code::invalid,
                "the machine " + machine.name() + " has no [[gpu]]; take one that has, such as gtx480-ddr4");
  return machine.parts().gpus.front();
}

std::string write_warps(const std::string& program, const std::string& size, const std::string& path) {
  const nb::gil_scoped_release others_may_run;
  const auto& found = find_gpu_program(program);
  WarpFileWriter writer(path);
  Device device(writer);
  auto verdict = found.run(device, found.size(size).numbers);
  writer.finish();
  return verdict;
}

// A trace of warps, or the list of an Accel-Sim trace, which may have a side file of allocations.
struct TraceName {
  std::string path;
  std::string allocations;
};

std::unique_ptr<TraceSource> open_trace(const TraceName& name) {
  if (name.path.ends_with(".g")) return std::make_unique<AccelSimReader>(name.path, name.allocations);
  return std::make_unique<WarpFileReader>(name.path);
}

RunCounts simulate(const machine::Gpu& gpu, const TraceName& name, PageDecider& decider,
                   const CamatWanted& wanted = {}) {
  const nb::gil_scoped_release others_may_run;
  const auto trace = open_trace(name);
  return Simulator(gpu, *trace, decider, std::vector<std::uint64_t>(gpu.memories.size(), k_all)).run(wanted);
}

nb::dict as_dict(const RunCounts& run, const machine::Machine& machine) {
  const auto& gpu = gpu_of(machine);
  nb::dict out;
  std::uint64_t instructions = 0;
  for (const auto& processor : run.processors) instructions += processor.instructions;
  out["cycles"] = run.cycles;
  out["seconds"] = static_cast<double>(run.cycles) / gpu.hertz;
  out["instructions"] = instructions;
  out["events"] = run.events;
  std::vector<std::uint64_t> demand(gpu.memories.size());
  std::vector<std::uint64_t> moved(gpu.memories.size());
  for (std::size_t i = 0; i < run.channels.size(); ++i) {
    demand[run.memory_of_channel[i]] += run.channels[i].demand_bytes();
    moved[run.memory_of_channel[i]] += run.channels[i].move_bytes();
  }
  out["demand_bytes"] = demand;
  out["move_bytes"] = moved;
  out["moved_pages"] = run.mover.moved_pages;
  out["without_shootdown"] = run.mover.without_shootdown;
  out["refused_pages"] = run.mover.refused;
  out["stopped_cycles"] = run.mover.stopped_cycles;
  out["page_walks"] = run.walks;
  std::vector<std::uint64_t> traffic;
  for (const auto& page : run.pages) traffic.push_back(page.accesses);
  out["page_accesses"] = traffic;
  // Of a copy of all pages to the GPU's own memory.
  const auto rate = machine.copy_bandwidth(gpu.memories.back().place, gpu.memories.front().place).value;
  out["copy_seconds"] = static_cast<double>(run.pages.size() * gpu.page_bytes) / rate;
  out["camat"] = camat_dict(run.camat);
  out["camat_by_kernel"] = camat_list(run.camat_by_kernel);
  out["camat_over_time"] = camat_list(run.camat_over_time);
  return out;
}

// A copy of the machine's GPU with what is to be swept.
machine::Gpu with_shootdown(const machine::Machine& machine, std::optional<std::uint32_t> shootdown) {
  auto gpu = gpu_of(machine);
  gpu.shootdown = shootdown.value_or(gpu.shootdown);
  return gpu;
}

}  // namespace

void bind_gpu(nb::module_& module) {
  module.def(
      "gpu_programs",
      [] {
        std::vector<
            std::tuple<std::string, std::string, std::string, std::vector<std::pair<std::string, std::string>>>>
            all;
        for (const auto* program : gpu_programs()) {
          std::vector<std::pair<std::string, std::string>> sizes;
          for (const auto& size : program->sizes()) sizes.emplace_back(size.name, size.about);
          all.emplace_back(program->name(), program->title(), program->source(), std::move(sizes));
        }
        return all;
      },
      "Name, title, source of each GPU program, and its sizes with what they are.");
  module.def("write_warps", &write_warps, "program"_a, "size"_a, "path"_a,
             "Runs a GPU program, checks its results, writes its trace; returns what was compared.");
  module.def(
      "simulate_gpu_share",
      [](const machine::Machine& machine, const std::string& path, double share, const std::string& allocations,
         bool by_kernel, std::uint64_t every) {
        SharedPages decider(share);
        return as_dict(simulate(gpu_of(machine), {path, allocations}, decider, {by_kernel, every}), machine);
      },
      "machine"_a, "path"_a, "share"_a, "allocations"_a = "", "by_kernel"_a = false, "every"_a = 0,
      "A run with this share of the pages in the GPU's own memory, evenly spread.");
  module.def(
      "simulate_gpu_oracle",
      [](const machine::Machine& machine, const std::string& path, const std::vector<std::uint64_t>& page_accesses,
         double share, const std::string& allocations) {
        NamedPages decider(oracle(page_accesses, share, page_accesses.size()));
        return as_dict(simulate(gpu_of(machine), {path, allocations}, decider), machine);
      },
      "machine"_a, "path"_a, "page_accesses"_a, "share"_a, "allocations"_a = "",
      "A run with the fewest pages, hottest first, that bring this share of the accesses to the GPU's own "
      "memory.");
  module.def(
      "simulate_gpu_touch",
      [](const machine::Machine& machine, const std::string& path, std::uint32_t threshold, std::uint32_t range,
         bool balanced, std::optional<std::uint32_t> shootdown, const std::string& allocations, bool by_kernel,
         std::uint64_t every) {
        const auto gpu = with_shootdown(machine, shootdown);
        PolicyDecider decider(
            gpu, std::make_unique<strategy::TouchPolicy>(strategy::TouchRules{threshold, range, balanced}), k_all);
        return as_dict(simulate(gpu, {path, allocations}, decider, {by_kernel, every}), machine);
      },
      "machine"_a, "path"_a, "threshold"_a, "range"_a = 0, "balanced"_a = false, "shootdown"_a = nb::none(),
      "allocations"_a = "", "by_kernel"_a = false, "every"_a = 0,
      "A run in which pages move after so many accesses, neighbours with them, by the balance of bandwidths or "
      "not.");
  module.def(
      "gpu_balance",
      [](const machine::Machine& machine) {
        const auto& gpu = gpu_of(machine);
        double all = 0;
        for (const auto& memory : gpu.memories) all += memory.bytes_per_second;
        return gpu.memories.front().bytes_per_second / all;
      },
      "machine"_a, "The share of all bandwidth that the GPU's own memory has.");
}

}  // namespace terrace::python
