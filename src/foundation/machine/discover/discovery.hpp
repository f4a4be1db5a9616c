// The machine that we run on, as hwloc sees it: NUMA nodes with their kinds, caches, cores, and latencies and
// bandwidths where the firmware (HMAT) gives them. What nobody gave stands at a default of its kind, and the
// machine's description says so: "not measured". `terrace machine measure` replaces it by measurements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace terrace::machine {

struct Discovered {
  Machine machine;
  // For each initiator the operating system's numbers of its processing units, one of each core first; only those
  // that this process may run on.
  std::vector<std::vector<int>> processors;
  // For each initiator the sizes of all its last-level caches together: what a measurement's data must exceed.
  std::vector<Bytes> last_level;
  std::string processor_name;
};

// Throws Error{unsupported} when hwloc cannot see the machine.
Discovered discover_details();
inline Machine discover() { return discover_details().machine; }
// A saved machine (hwloc's XML, as `lstopo machine.xml` writes it). Throws Error{invalid}.
Discovered discover_saved(std::string_view hwloc_xml);

// Identifies this machine by what a measurement depends on: processor model, cores, caches, NUMA nodes with their
// sizes. Sixteen hexadecimal digits, equal on the same machine after a reboot.
std::string fingerprint(const Discovered& discovered);
// Refuses, with Error{invalid}, a machine that was measured elsewhere. Machines that are only described pass.
void check_fingerprint(const Machine& machine);
void check_fingerprint(const Machine& machine, const Discovered& here);

}  // namespace terrace::machine
