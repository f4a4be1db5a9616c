// What makes parts a machine. Kept apart from the class so that the rules can be read in one place.
#pragma once

#include "machine/machine.hpp"

namespace terrace::machine {

// Fills in what follows from the rest (a flat tree where no tree is given, a domain's places, their order) and
// throws Error{invalid} for parts that contradict one another.
void complete_and_check(MachineParts& parts);

}  // namespace terrace::machine
