// SPDX-License-Identifier: Apache-2.0
// Runs no kernel: what chains would take on a machine that one does not have, by their loops, datasets and ranges.
// Datasets have no memory, and all of their numbers are 0; reductions are those of no points.
#pragma once

#include <memory>

#include "stencil/execute/executor.hpp"
#include "stencil/virtual/mode.hpp"

namespace terrace::stencil {

// The mode outlives it.
[[nodiscard]] std::unique_ptr<Executor> make_virtual_executor(Mode& mode);

}  // namespace terrace::stencil
