// SPDX-License-Identifier: Apache-2.0
// Validates the parts of a machine for the constructor of Machine. Separate from the class, so that all rules are
// in one place.
#pragma once

#include "machine/machine.hpp"

namespace terrace::machine {

// Completes derived parts (a flat tree if none is given, the places of domains and their order). Throws
// Error{invalid} for parts that contradict each other.
void complete_and_check(MachineParts& parts);

}  // namespace terrace::machine
