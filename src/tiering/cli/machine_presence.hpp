// SPDX-License-Identifier: Apache-2.0
// Checks that a machine file describes memory of this machine. The session builder calls it for runs on real
// memory.
#pragma once

#include "machine/machine.hpp"

namespace terrace::cli {

// Throws Error{invalid} if a place of `machine` is on a NUMA node that this machine does not have, or has no
// memory provider. Nodes outside of the job's cpuset count as nodes of this machine.
void check_machine_is_present(const machine::Machine& machine);

}  // namespace terrace::cli
