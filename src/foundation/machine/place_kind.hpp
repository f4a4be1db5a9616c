// SPDX-License-Identifier: Apache-2.0
// Determines the memory technology (kind) of a NUMA node, and the default performance of a kind, for machine
// discovery.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/units.hpp"

namespace terrace::machine {

// Attributes of a node by hwloc: its subtype ("MCDRAM", "HBM", "NVM", "CXL-DRAM", "GPUMemory"), device-DAX
// details, the processor, whether it has processing units, and its figures relative to the nearest ordinary
// memory.
struct NodeEvidence {
  std::string subtype;
  std::string dax_type;    // "NVM", "SPM"
  std::string dax_parent;  // a device path; names "cxl" or the root of CXL devices, ACPI0017, for CXL memory
  std::string processor;   // its name
  bool has_cores = true;
  std::optional<double> relative_bandwidth;
  std::optional<double> relative_latency;
};

struct KindVerdict {
  std::string kind;
  bool inferred = false;  // from figures instead of a name
};

KindVerdict kind_of(const NodeEvidence& evidence);

// Default figures of a kind, of the order of magnitude of current hardware; always reported as "not measured".
struct KindDefaults {
  BytesPerSecond read;
  BytesPerSecond write;
  Seconds latency;
};
KindDefaults defaults_of(std::string_view kind);

}  // namespace terrace::machine
