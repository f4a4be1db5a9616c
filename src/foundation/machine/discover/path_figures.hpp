// What an initiator gets of a NUMA node's memory: as the firmware states it, or made of what else is known.
#pragma once

#include <optional>
#include <string_view>

#include "machine/discover/hwloc_topology.hpp"
#include "machine/machine.hpp"

namespace terrace::machine {

struct PathEnds {
  hwloc_obj_t node = nullptr;        // null: memory that hwloc does not see
  hwloc_cpuset_t from = nullptr;     // the initiator's cores
  hwloc_cpuset_t nearest = nullptr;  // those of the domain that the place belongs to
  std::string_view kind;
  std::optional<double> distance;          // from the initiator's own node
  std::optional<double> nearest_distance;  // from the nearest domain's
  bool same_package = false;               // both domains are parts of one
};

// Each figure with its source. Linux shows what the firmware states of the nearest initiators alone, so for others
// the nearest domain's figure is scaled by the distances: 24 where the nearest has 14 is 24/14 as slow. Without
// distances (hwloc drops those of Knights Landing) another package's memory counts as twice as far, another
// domain's of the same package as a fifth farther. The caller sets initiator and place.
Path path_figures(const HwlocTopology& topology, const PathEnds& ends);

}  // namespace terrace::machine
