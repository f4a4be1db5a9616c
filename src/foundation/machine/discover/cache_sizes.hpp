// The same machine with other cache sizes or other core time: what the caches hold is scaled with a smaller
// problem.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace terrace::machine {

// Each text is NAME=SIZE ("l3=640KiB") and holds for the caches of that name of every initiator; sizes are rounded
// down to whole sets. Throws Error{invalid} naming the caches that there are.
Machine with_cache_sizes(const Machine& machine, const std::vector<std::string>& sizes);

// The same machine whose cores take that long for an access that the first cache serves. Throws Error{invalid} for
// a time that is not above 0.
Machine with_core_time(const Machine& machine, Seconds instruction_time);

}  // namespace terrace::machine
