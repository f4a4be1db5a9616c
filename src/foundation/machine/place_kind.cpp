// SPDX-License-Identifier: Apache-2.0
// Determines the kind (hbm, ddr, cxl) of a NUMA node for discovery: by names first, by figures if there are none.
#include "machine/place_kind.hpp"

namespace terrace::machine {

KindVerdict kind_of(const NodeEvidence& evidence) {
  const auto& subtype = evidence.subtype;
  if (subtype == "HBM" || subtype == "MCDRAM") return {"hbm"};
  if (subtype == "GPUMemory") return {"gpu"};
  const auto below = [&](const char* device) { return evidence.dax_parent.find(device) != std::string::npos; };
  if (subtype.starts_with("CXL") || below("cxl") || below("ACPI0017")) return {"cxl"};
  if (subtype == "NVM" || evidence.dax_type == "NVM") return {"nvm"};
  if (subtype == "DRAM") return {"ddr"};
  // Processors whose only memory is the stacks in their package.
  if (evidence.has_cores && evidence.processor.find("MI300A") != std::string::npos) return {"hbm"};
  // Memory with cores of its own is ordinary memory. Otherwise its relative figures decide. The thresholds are
  // well beyond the differences between two nodes of one technology.
  if (evidence.has_cores) return {"ddr"};
  if (evidence.relative_bandwidth && *evidence.relative_bandwidth >= 1.5) return {"hbm", true};
  if (evidence.relative_latency && *evidence.relative_latency >= 1.5) return {"cxl", true};
  if (evidence.relative_bandwidth && *evidence.relative_bandwidth <= 0.67) return {"cxl", true};
  return {"ddr", true};
}

KindDefaults defaults_of(std::string_view kind) {
  if (kind == "hbm") return {{400e9}, {400e9}, {130e-9}};
  if (kind == "cxl") return {{30e9}, {30e9}, {250e-9}};
  if (kind == "nvm") return {{30e9}, {10e9}, {300e-9}};
  // As seen by the host's cores over a coherent link: slower than their own memory.
  if (kind == "gpu") return {{80e9}, {80e9}, {600e-9}};
  return {{100e9}, {100e9}, {100e-9}};
}

}  // namespace terrace::machine
