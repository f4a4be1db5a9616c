// SPDX-License-Identifier: Apache-2.0
// Creates an executor that prices chains by a Mode and runs no kernel: loops, datasets and ranges determine the
// time. Datasets have no memory, and all their values read as 0; reductions are the identity.
#pragma once

#include <memory>

#include "stencil/execute/executor.hpp"
#include "stencil/virtual/mode.hpp"

namespace terrace::stencil {

// The mode must outlive the executor.
[[nodiscard]] std::unique_ptr<Executor> make_virtual_executor(Mode& mode);

}  // namespace terrace::stencil
