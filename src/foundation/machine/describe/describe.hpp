// A machine for people (`terrace machine`) and for programs (`terrace machine --json`).
#pragma once

#include <string>

#include "machine/discover/system_files.hpp"
#include "machine/file/machine_file.hpp"

namespace terrace::machine {

// The tree with capacities, the initiators with their caches, a table of the paths; what was measured and when.
// Lines end in '\n'; plain text, at most 100 columns for names of usual length.
std::string describe(const Machine& machine, const Measurement* measured = nullptr);

// One object with "schema": 1; sizes in bytes, rates in bytes a second, times in seconds.
std::string describe_json(const Machine& machine, const Measurement* measured = nullptr);

// A paragraph: what a control group lets this process have of the machine, and what follows; "" where that is all.
std::string describe(const Machine& machine, const MemoryLimit& limit);

// Of each initiator and intent the places in order, a line for each rank and reason, and why each stands there.
std::string describe_orderings(const Machine& machine);
// One object with "schema": 1; values in bytes, bytes a second, seconds.
std::string orderings_json(const Machine& machine);

}  // namespace terrace::machine
