// Whether a machine file describes memory that a program can have here.
#pragma once

#include "machine/machine.hpp"

namespace terrace::cli {

// What is run on real memory is placed on nodes of this machine: refuses, with Error{invalid}, a machine that has
// others, or places that nobody serves. A node that the job's cpuset leaves out is one of this machine.
void check_machine_is_present(const machine::Machine& machine);

}  // namespace terrace::cli
