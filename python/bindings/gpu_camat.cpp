// Counters and their ratios. See gpu_camat.hpp.
#include "gpu_camat.hpp"

#include <nanobind/stl/string.h>

#include <array>
#include <utility>

namespace nb = nanobind;

namespace terrace::python {
namespace {

using sim::gpu::CamatLevels;

constexpr std::array<std::pair<const char*, std::vector<model::CamatCounters> CamatLevels::*>, 4> k_levels{
    {{"l1", &CamatLevels::l1_by_warp},
     {"l1_parts", &CamatLevels::l1_by_part},
     {"l2", &CamatLevels::l2},
     {"dram", &CamatLevels::dram}}};

nb::dict one(const model::CamatCounters& counters) {
  const auto camat = model::camat_of(counters);
  nb::dict out;
  out["value"] = camat.value;
  out["accesses"] = counters.accesses;
  out["misses"] = counters.misses;
  out["pure_misses"] = counters.pure_misses;
  out["active_cycles"] = counters.active_cycles;
  out["hit_cycles"] = counters.hit_cycles;
  out["hit_access_cycles"] = counters.hit_access_cycles;
  out["pure_miss_cycles"] = counters.pure_miss_cycles;
  out["pure_access_cycles"] = counters.pure_access_cycles;
  out["hit_time"] = camat.hit_time;
  out["hit_concurrency"] = camat.hit_concurrency;
  out["pure_miss_ratio"] = camat.pure_miss_ratio;
  out["pure_miss_penalty"] = camat.pure_miss_penalty;
  out["miss_concurrency"] = camat.miss_concurrency;
  return out;
}

}  // namespace

nb::dict camat_dict(const CamatLevels& levels) {
  nb::dict out;
  for (const auto& [name, level] : k_levels) {
    auto sum = one(camat_sum(levels.*level));
    nb::list each;
    for (const auto& counters : levels.*level) each.append(one(counters));
    sum["each"] = each;
    out[name] = sum;
  }
  return out;
}

nb::list camat_list(const std::vector<sim::gpu::CamatPart>& parts) {
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
