// SPDX-License-Identifier: Apache-2.0
// Binds C-AMAT (concurrent average memory access time) for the camat experiment, and converts its counters and
// ratios into dictionaries. See gpu_camat.hpp.
#include "gpu_camat.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

using gpu_sim::CamatLevels;
using model::CamatCounters;

constexpr std::array<std::pair<const char*, std::uint64_t CamatCounters::*>, 8> k_counters{
    {{"accesses", &CamatCounters::accesses},
     {"misses", &CamatCounters::misses},
     {"pure_misses", &CamatCounters::pure_misses},
     {"active_cycles", &CamatCounters::active_cycles},
     {"hit_cycles", &CamatCounters::hit_cycles},
     {"hit_access_cycles", &CamatCounters::hit_access_cycles},
     {"pure_miss_cycles", &CamatCounters::pure_miss_cycles},
     {"pure_access_cycles", &CamatCounters::pure_access_cycles}}};

constexpr std::array<std::pair<const char*, std::vector<model::CamatCounters> CamatLevels::*>, 4> k_levels{
    {{"l1", &CamatLevels::l1_by_warp},
     {"l1_parts", &CamatLevels::l1_by_part},
     {"l2", &CamatLevels::l2},
     {"dram", &CamatLevels::dram}}};

nb::dict counters_dict(const CamatCounters& counters) {
  const auto camat = model::camat_of(counters);
  nb::dict out;
  for (const auto& [name, member] : k_counters) out[name] = counters.*member;
  out["value"] = camat.value;
  out["hit_time"] = camat.hit_time;
  out["hit_concurrency"] = camat.hit_concurrency;
  out["pure_miss_ratio"] = camat.pure_miss_ratio;
  out["pure_miss_penalty"] = camat.pure_miss_penalty;
  out["miss_concurrency"] = camat.miss_concurrency;
  return out;
}

// An access: the cycle in which it begins, its look-up cycles, and its miss cycles.
using Access = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

// Counts accesses cycle by cycle, as the simulator does, for the paper's example.
model::CamatCounters count(const std::vector<Access>& accesses) {
  std::map<std::uint64_t, std::vector<std::size_t>> ends;
  std::map<std::uint64_t, std::vector<std::size_t>> begins;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const auto& [begin, hit_cycles, penalty] = accesses[i];
    begins[begin].push_back(i);
    ends[begin + hit_cycles + penalty].push_back(i);
    begins[begin + hit_cycles + penalty];
  }
  model::CamatMeter meter;
  std::vector<model::CamatMeter::Miss> misses(accesses.size());
  for (const auto& [cycle, beginning] : begins) {
    for (const auto i : ends[cycle])
      if (std::get<2>(accesses[i]) != 0) meter.end_miss(misses[i], cycle);
    for (const auto i : beginning) {
      const auto& [begin, hit_cycles, penalty] = accesses[i];
      if (penalty == 0)
        meter.add_hit(begin, hit_cycles);
      else
        misses[i] = meter.add_miss(begin, hit_cycles);
    }
  }
  return begins.empty() ? model::CamatCounters{} : meter.counters_at(begins.rbegin()->first);
}

}  // namespace

void bind_gpu_camat(nb::module_& module) {
  module.def(
      "camat_of_accesses", [](const std::vector<Access>& accesses) { return counters_dict(count(accesses)); },
      "accesses"_a,
      "C-AMAT's counters and ratios of accesses, each of which is the cycle in which it begins, its cycles of "
      "look-up, and those of its miss.");
  module.def(
      "camat_of_counters",
      [](const nb::dict& counters) {
        model::CamatCounters sum;
        for (const auto& [name, member] : k_counters) sum.*member = nb::cast<std::uint64_t>(counters[name]);
        return counters_dict(sum);
      },
      "counters"_a, "Returns the counters, which may be sums, with the ratios derived from them.");
}

nb::dict camat_dict(const CamatLevels& levels) {
  nb::dict out;
  for (const auto& [name, level] : k_levels) {
    auto sum = counters_dict(gpu_sim::camat_sum(levels.*level));
    nb::list each;
    for (const auto& counters : levels.*level) each.append(counters_dict(counters));
    sum["each"] = each;
    out[name] = sum;
  }
  return out;
}

nb::list camat_list(const std::vector<gpu_sim::CamatInterval>& parts) {
  nb::list out;
  for (const auto& part : parts) {
    nb::dict shown;
    shown["kernel"] = part.kernel;
    shown["begin"] = part.begin;
    shown["end"] = part.end;
    shown["camat"] = camat_dict(part.levels);
    out.append(shown);
  }
  return out;
}

}  // namespace terrace::python
