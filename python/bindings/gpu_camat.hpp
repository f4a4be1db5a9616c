// C-AMAT of a simulated GPU as dictionaries.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "gpu_sim/engine/camat_levels.hpp"

namespace terrace::python {

// "l1" (accesses of warps), "l1_parts" (of line parts), "l2", "dram": the level's counters in sum and the ratios
// that are made of them; under "each" those of each SM or channel.
nanobind::dict camat_dict(const gpu_sim::CamatLevels& levels);
// A list of "kernel", "begin", "end" and "camat", which is as above.
nanobind::list camat_list(const std::vector<gpu_sim::CamatInterval>& parts);

}  // namespace terrace::python
