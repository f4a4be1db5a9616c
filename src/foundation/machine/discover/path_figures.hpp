// SPDX-License-Identifier: Apache-2.0
// Determines the bandwidth and latency of a path from the firmware's figures, NUMA distances or defaults, for
// machine discovery (discovery.cpp).
#pragma once

#include <optional>
#include <string_view>

#include "machine/discover/hwloc_topology.hpp"
#include "machine/machine.hpp"

namespace terrace::machine {

struct PathEnds {
  hwloc_obj_t node = nullptr;        // null: memory that hwloc does not see
  hwloc_cpuset_t from = nullptr;     // the initiator's cores
  hwloc_cpuset_t nearest = nullptr;  // cores of the domain that the place belongs to
  std::string_view kind;
  std::optional<double> distance;          // from the initiator's own node
  std::optional<double> nearest_distance;  // from the node of the nearest domain
  bool same_package = false;               // both domains are in one processor package
};

// Returns the figures and their sources; the caller sets initiator and place. Linux exposes the firmware's figures
// of the nearest initiators only. For others the nearest domain's figure is scaled by NUMA distance: with distance
// 24 instead of 14 it is worse by 24/14. Without distances (hwloc drops those of Knights Landing) the factor is 2
// for another package and 1.2 for another domain of the same package.
Path path_figures(const HwlocTopology& topology, const PathEnds& ends);

}  // namespace terrace::machine
