// SPDX-License-Identifier: Apache-2.0
// Converts C-AMAT counters of a simulated GPU into dictionaries, for the results of gpu.cpp.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "gpu_sim/engine/camat_levels.hpp"

namespace terrace::python {

// Returns "l1" (accesses of warps), "l1_parts" (of line parts), "l2", "dram": the level's total counters and
// their ratios; "each" has those of each SM or channel.
nanobind::dict camat_dict(const gpu_sim::CamatLevels& levels);
// Returns a list of "kernel", "begin", "end" and "camat", the latter as above.
nanobind::list camat_list(const std::vector<gpu_sim::CamatInterval>& parts);

}  // namespace terrace::python
