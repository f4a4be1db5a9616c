// What a run of the GPU simulator counted, as Python has it.
#pragma once

#include <nanobind/nanobind.h>

#include "gpu_sim/engine/simulator.hpp"

namespace terrace::python {

nanobind::dict gpu_counts(const gpu_sim::RunCounts& run, std::uint64_t page_bytes);

}  // namespace terrace::python
