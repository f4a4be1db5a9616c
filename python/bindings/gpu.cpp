// SPDX-License-Identifier: Apache-2.0
// Binds the GPU simulator for `terrace lab gpu` and the experiments: programs, traces of warps, runs under a
// placement or a policy.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "bindings.hpp"
#include "core/error.hpp"
#include "gpu_camat.hpp"
#include "gpu_counts.hpp"
#include "gpu_sim/engine/simulator.hpp"
#include "gpu_sim/engine/tiering_policy_adapter.hpp"
#include "gpu_sim/simt/device.hpp"
#include "gpu_sim/trace/accelsim_reader.hpp"
#include "gpu_sim/trace/warp_file.hpp"
#include "machine/file/derived_machines.hpp"
#include "machine/machine.hpp"
#include "strategy/tiering/gpu_policies.hpp"
#include "workloads/gpu/program.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

using namespace gpu_sim;

const machine::Gpu& gpu_of(const machine::Machine& machine) {
  if (machine.parts().gpus.empty())
    throw Error(Code::invalid, "the machine " + machine.name() +
                                   " has no [[gpu]] in its file; name one that has, such as gtx480-ddr4");
  return machine.parts().gpus.front();
}

// Runs a GPU program on the processor, and writes the trace of its warps. Returns what its check compared.
std::string write_warps(const std::string& program, const std::string& size, const std::string& path,
                        std::int64_t times) {
  const nb::gil_scoped_release others_may_run;
  const auto& found = find_gpu_program(program);
  const auto numbers = found.numbers(size, times);
  WarpFileWriter writer(path);
  Device device(writer);
  auto verdict = found.run(device, numbers);
  writer.finish();
  return verdict;
}

// Opens a trace of warps, or the list of an Accel-Sim trace with an optional side file of allocations.
struct TraceName {
  std::string path;
  std::string allocations;
};

std::unique_ptr<TraceSource> open_trace(const TraceName& name) {
  if (name.path.ends_with(".g")) return std::make_unique<AccelSimReader>(name.path, name.allocations);
  return std::make_unique<WarpFileReader>(name.path);
}

// Returns the capacity of each memory for pages: the machine's, or less of the GPU's own.
std::vector<std::uint64_t> capacities(const machine::Machine& machine, std::optional<std::uint64_t> own) {
  std::vector<std::uint64_t> bytes;
  for (const auto& memory : gpu_of(machine).memories) bytes.push_back(machine.place(memory.place).capacity.value);
  if (own && *own > bytes.front()) {
    const auto& place = machine.place(gpu_of(machine).memories.front().place);
    throw Error(Code::invalid, format(Bytes{*own}) + " of GPU memory were requested, but " + place.name + " of " +
                                   machine.name() + " has " + format(place.capacity) +
                                   "; request at most that (--memory)");
  }
  if (own) bytes.front() = *own;
  return bytes;
}

// Simulates a trace under a placement or policy. Throws Error{invalid} if it has no kernel.
RunCounts simulate(const machine::Machine& machine, const machine::Gpu& gpu, const TraceName& name,
                   PagePlacement& decider, std::optional<std::uint64_t> own, const CamatOptions& wanted = {}) {
  const nb::gil_scoped_release others_may_run;
  const auto trace = open_trace(name);
  auto run = Simulator(gpu, *trace, decider, capacities(machine, own)).run(wanted);
  if (run.kernels.empty())
    throw Error(Code::invalid,
                name.path + ": the trace has no kernel; name the trace of a program that launches kernels");
  return run;
}

// Returns the counters of a simulation as reports read them.
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
  nb::list over_time;
  for (const auto& traffic : run.traffic)
    over_time.append(nb::make_tuple(traffic.at, traffic.demand, traffic.moves));
  out["traffic"] = over_time;
  out["moved_pages"] = run.mover.moved_pages;
  out["without_shootdown"] = run.mover.without_shootdown;
  out["counts"] = gpu_counts(run, gpu.page_bytes);
  out["refused_pages"] = run.mover.refused;
  out["stopped_cycles"] = run.mover.stopped_cycles;
  out["faults"] = run.faults.faults;
  out["fault_batches"] = run.faults.batches;
  out["samples"] = run.samples;
  out["placed_pages"] = run.placed_pages;
  out["no_room_pages"] = run.no_room_pages;
  out["page_walks"] = run.walks;
  std::vector<std::uint64_t> traffic;
  for (const auto& page : run.pages) traffic.push_back(page.accesses);
  out["page_accesses"] = traffic;
  out["page_bytes"] = run.page_bytes;
  std::vector<std::uint64_t> numbers;
  for (const auto& page : run.pages) numbers.push_back(page.number);
  out["page_numbers"] = numbers;
  // Bandwidth of a copy of all pages to the GPU's own memory.
  const auto rate = machine.copy_bandwidth(gpu.memories.back().place, gpu.memories.front().place).value;
  out["copy_seconds"] = static_cast<double>(run.pages.size() * gpu.page_bytes) / rate;
  out["camat"] = camat_dict(run.camat);
  out["camat_by_kernel"] = camat_list(run.camat_by_kernel);
  out["camat_over_time"] = camat_list(run.camat_over_time);
  return out;
}

// Returns the machine's GPU with the swept parameters.
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
        std::vector<std::tuple<std::string, std::string, std::string,
                               std::vector<std::pair<std::string, std::string>>, bool>>
            all;
        for (const auto* program : gpu_programs()) {
          std::vector<std::pair<std::string, std::string>> sizes;
          for (const auto& size : program->sizes()) sizes.emplace_back(size.name, size.about);
          all.emplace_back(program->name(), program->title(), program->source(), std::move(sizes),
                           program->iterations().has_value());
        }
        return all;
      },
      "Name, title, source of each GPU program, its sizes with what they are, and whether it has iterations.");
  module.def("write_warps", &write_warps, "program"_a, "size"_a, "path"_a, "times"_a = 1,
             "Runs a GPU program, checks its results, writes its trace; returns what was compared.");
  module.def(
      "simulate_gpu_share",
      [](const machine::Machine& machine, const std::string& path, double share, const std::string& allocations,
         std::optional<std::uint64_t> memory, bool by_kernel, std::uint64_t every) {
        FractionPagePlacement decider(share);
        return as_dict(
            simulate(machine, gpu_of(machine), {path, allocations}, decider, memory, {by_kernel, every}), machine);
      },
      "machine"_a, "path"_a, "share"_a, nb::kw_only(), "allocations"_a = "", "memory"_a = nb::none(),
      "by_kernel"_a = false, "every"_a = 0,
      "Simulates a run with this share of the pages in the GPU's own memory, evenly distributed.");
  module.def(
      "simulate_gpu_oracle",
      [](const machine::Machine& machine, const std::string& path, const std::vector<std::uint64_t>& page_bytes,
         double share, const std::string& allocations, std::optional<std::uint64_t> memory) {
        const auto& gpu = gpu_of(machine);
        const auto most = capacities(machine, memory).front() / gpu.page_bytes;
        ListedPagePlacement decider(oracle_placement(page_bytes, share, most));
        return as_dict(simulate(machine, gpu, {path, allocations}, decider, memory), machine);
      },
      "machine"_a, "path"_a, "page_bytes"_a, nb::kw_only(), "share"_a, "allocations"_a = "",
      "memory"_a = nb::none(),
      "A run with the fewest pages, hottest first, that bring this share of DRAM's traffic to the GPU's own "
      "memory.");
  module.def("gpu_policies", &strategy::gpu_policy_names,
             "Returns the policies that simulate_gpu_policy accepts.");
  module.def(
      "simulate_gpu_policy",
      [](const machine::Machine& machine, const std::string& path, const std::string& policy,
         std::uint32_t threshold, std::uint32_t range, bool balanced, bool evicts, bool reverses,
         std::optional<std::uint32_t> shootdown, const std::string& allocations,
         std::optional<std::uint64_t> memory, std::optional<std::uint32_t> fault, std::optional<bool> drains,
         bool by_kernel, std::uint64_t every) {
        auto gpu = with_shootdown(machine, shootdown);
        gpu.fault = fault.value_or(gpu.fault);
        gpu.shootdown_drains = drains.value_or(gpu.shootdown_drains);
        const strategy::TouchRules rules{threshold, range, balanced, evicts, reverses};
        TieringPolicyAdapter decider(gpu, strategy::make_gpu_policy(policy, rules),
                                     capacities(machine, memory).front());
        return as_dict(simulate(machine, gpu, {path, allocations}, decider, memory, {by_kernel, every}), machine);
      },
      "machine"_a, "path"_a, "policy"_a, nb::kw_only(), "threshold"_a = 1, "range"_a = 0, "balanced"_a = false,
      "evicts"_a = false, "reverses"_a = false, "shootdown"_a = nb::none(), "allocations"_a = "",
      "memory"_a = nb::none(), "fault"_a = nb::none(), "drains"_a = nb::none(), "by_kernel"_a = false,
      "every"_a = 0,
      "A run in which a policy moves pages; the rules from threshold to reverses are those of \"touch\".");
  module.def(
      "gpu_balance",
      [](const machine::Machine& machine) {
        const auto& gpu = gpu_of(machine);
        double all = 0;
        for (const auto& memory : gpu.memories) all += memory.reached_bytes_per_second();
        return gpu.memories.front().reached_bytes_per_second() / all;
      },
      "machine"_a, "Returns the GPU's own memory's share of all bandwidth.");
  module.def(
      "gpu_with_remote_bandwidth",
      [](const machine::Machine& machine, double bytes_per_second) {
        return machine::with_remote_bandwidth(machine, BytesPerSecond{bytes_per_second});
      },
      "machine"_a, "bytes_per_second"_a, "Returns the machine with another bandwidth of the remote memory.");
}

}  // namespace terrace::python
