// Which technology a NUMA node's memory is, and what its kind is worth where nobody states or measured it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/units.hpp"

namespace terrace::machine {

// What hwloc knows of a node: its subtype ("MCDRAM", "HBM", "NVM", "CXL-DRAM", "GPUMemory"), device-DAX details,
// the processor, whether processing units are its own, and its figures relative to those of the ordinary memory
// nearest to it.
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
  bool inferred = false;  // from figures, not from a name
};

KindVerdict kind_of(const NodeEvidence& evidence);

// Defaults of a kind, of the order of magnitude of current hardware; always reported as "not measured".
struct KindDefaults {
  BytesPerSecond read;
  BytesPerSecond write;
  Seconds latency;
};
KindDefaults defaults_of(std::string_view kind);

}  // namespace terrace::machine
