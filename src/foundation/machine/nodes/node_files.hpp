// SPDX-License-Identifier: Apache-2.0
// Describes the machine from the kernel's NUMA files in /sys, for processes that have only the C library
// (hbwmalloc without a launcher). Outside of user processes, discover() gives the same and more.
//
// Each node with processors is an initiator, each node with memory a place, "node0". Bandwidths and latencies are
// those of the firmware (HMAT: access0/initiators) for the initiators nearest to a place. For others they are
// scaled by NUMA distance. Without firmware figures they are defaults of ordinary memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace terrace::machine {

// Reads the node files in `folder`. Returns nothing if they describe no memory or no valid machine.
std::optional<Machine> read_node_machine(const std::string& folder = "/sys/devices/system/node");

// Parses a node list in numactl's syntax: "0", "1-3,5", "all", and "!1,2" for all others. Returns unique nodes in
// ascending order, or nothing if the text is invalid or names a node that is not in `all`.
std::optional<std::vector<int>> parse_node_list(std::string_view text, const std::vector<int>& all);

}  // namespace terrace::machine
