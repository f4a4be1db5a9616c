// Whether a machine file is of the machine that a program is to run on.
#pragma once

#include <string>

#include "machine/machine.hpp"

namespace terrace::cli {

// What is wrong with the first place that has no node of this machine, "" where each has one: a clause without a
// full stop, which names the place and the nodes that there are.
std::string place_without_node(const machine::Machine& machine);
// The same of places that nothing of Terrace's can provide here. A place need be no node for that.
std::string place_that_is_not_here(const machine::Machine& machine);

}  // namespace terrace::cli
