// The machine as the kernel describes its NUMA nodes in /sys, for processes that have nothing but the C library.
// discover() says the same and more, outside of users' processes.
//
// Each node with processors is an initiator, each node with memory a place, "node0". Bandwidths and latencies are
// those of the firmware (HMAT: access0/initiators) for the initiators that are nearest to a place. For others they
// are scaled by the NUMA distances; where the firmware says nothing, they are a kind's defaults, and the kind is
// ordinary memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace terrace::machine {

// `folder` has the files: nothing where they describe no memory, or no machine.
std::optional<Machine> machine_of_nodes(const std::string& folder = "/sys/devices/system/node");

// A list as numactl takes it: "0", "1-3,5", "all", and "!1,2" for all others. Each node once, in rising order;
// nothing where it is no list, or names one that is not in `all`.
std::optional<std::vector<int>> parse_node_list(std::string_view text, const std::vector<int>& all);

}  // namespace terrace::machine
