// SPDX-License-Identifier: Apache-2.0
// Declares the output of `terrace machine`, for people and (`--json`) for programs.
#pragma once

#include <string>

#include "machine/discover/system_files.hpp"
#include "machine/file/machine_file.hpp"

namespace terrace::machine {

// Returns plain text: the tree with capacities, the initiators with their caches, a table of the paths, and what
// was measured when. At most 100 columns for names of usual length.
std::string describe(const Machine& machine, const Measurement* measured = nullptr);

// Returns a JSON object with "schema": 1; sizes in bytes, rates in bytes per second, times in seconds.
std::string describe_json(const Machine& machine, const Measurement* measured = nullptr);

// Returns a paragraph on how much of the machine a control group allows this process, and the consequences; "" if
// it allows all.
std::string describe(const Machine& machine, const MemoryLimit& limit);

// Returns a table of the orderings: for each initiator and intent a line for each rank and reason.
std::string describe_orderings(const Machine& machine);
// Returns a JSON object with "schema": 1; values in bytes, bytes per second, seconds.
std::string orderings_json(const Machine& machine);

}  // namespace terrace::machine
