// SPDX-License-Identifier: Apache-2.0
// Compares the NUMA nodes of a machine file (`terrace run --machine`) with those of sysfs. See
// machine_presence.hpp.
#include "cli/machine_presence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/error.hpp"
#include "machine/discover/discovery.hpp"
#include "machine/nodes/node_files.hpp"

namespace terrace::cli {

namespace {

void add_nodes(const machine::Machine& machine, std::set<int>& nodes) {
  for (const auto& place : machine.places())
    if (place.numa_node >= 0) nodes.insert(place.numa_node);
}

// Places that compute (PIM) are exempt: only a plan puts data there.
bool is_not_memory(const machine::Place& place) { return !place.geometry && place.numa_node < 0; }

}  // namespace

void check_machine_is_present(const machine::Machine& machine) {
  const auto& places = machine.places();
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::invalid, fmt::format("--machine {}: {}", machine.name(), why));
  };
  if (std::ranges::all_of(places, is_not_memory))
    refuse("none of its memories is in this machine; use terrace simulate --machine " + machine.name());
  std::set<int> nodes;  // including those outside of the cpuset, which discovery does not see
  if (const auto here = machine::read_node_machine()) add_nodes(*here, nodes);
  const auto is_elsewhere = [&](const machine::Place& place) {
    return place.numa_node >= 0 && !nodes.contains(place.numa_node);
  };
  if (std::ranges::any_of(places, is_elsewhere)) add_nodes(machine::discover(), nodes);
  const bool is_known = !nodes.empty();  // false without /sys
  for (const auto& place : places) {
    if (is_not_memory(place))
      refuse(fmt::format("its memory '{}' is not in this machine; use terrace simulate --machine {}", place.name,
                         machine.name()));
    if (is_known && is_elsewhere(place))
      refuse(fmt::format("its place '{}' is node {}, and this machine has {} {}", place.name, place.numa_node,
                         nodes.size() == 1 ? "node" : "nodes", fmt::join(nodes, ", ")));
  }
}

}  // namespace terrace::cli
