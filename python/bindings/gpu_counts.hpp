// SPDX-License-Identifier: Apache-2.0
// Converts the counters of a GPU simulation into a Python dictionary, for the results of gpu.cpp.
#pragma once

#include <nanobind/nanobind.h>

#include "gpu_sim/engine/simulator.hpp"

namespace terrace::python {

nanobind::dict gpu_counts(const gpu_sim::RunCounts& run, std::uint64_t page_bytes);

}  // namespace terrace::python
