// SPDX-License-Identifier: Apache-2.0
// Discovers the running machine by hwloc: NUMA nodes with their kinds, caches, cores, and the latencies and
// bandwidths that the firmware (HMAT) states. Other figures are defaults of the kind, and the description of the
// machine says "not measured". `terrace machine measure` replaces them by measurements. The command line calls it
// where no machine file is named.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace terrace::machine {

struct Discovered {
  Machine machine;
  // Indexed by initiator: numbers of its processing units that this process may run on, one of each core first.
  std::vector<std::vector<int>> processors;
  // Indexed by initiator: total size of its last-level caches, which the data of a measurement must exceed.
  std::vector<Bytes> last_level;
  std::string processor_name;
};

// Discovers the running machine. Throws Error{unsupported} if hwloc cannot read its topology.
Discovered discover_details();
inline Machine discover() { return discover_details().machine; }
// Discovers a saved machine (hwloc's XML, as written by `lstopo machine.xml`). Throws Error{invalid}.
Discovered discover_saved(std::string_view hwloc_xml);

// Returns a hash of what a measurement depends on: processor model, cores, caches, NUMA nodes with their sizes.
// Sixteen hexadecimal digits, equal on the same machine after a reboot.
std::string fingerprint(const Discovered& discovered);
// Throws Error{invalid} if the machine was measured elsewhere. Accepts machines that were not measured.
void check_fingerprint(const Machine& machine);
void check_fingerprint(const Machine& machine, const Discovered& here);

}  // namespace terrace::machine
