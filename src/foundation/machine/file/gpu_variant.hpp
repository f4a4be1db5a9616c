// SPDX-License-Identifier: Apache-2.0
// Derives a machine whose GPU has another bandwidth to the memory beyond its link.
#pragma once

#include "core/units.hpp"
#include "machine/machine.hpp"

namespace terrace::machine {

// Returns the machine with another bandwidth of the memory beyond the link. A channel of it is not faster than one
// of the GPU's own memory; if necessary, channels are added. Throws Error{invalid} if there is no GPU, or the
// bandwidth is 0.
[[nodiscard]] Machine with_remote_bandwidth(const Machine& machine, BytesPerSecond bandwidth);

}  // namespace terrace::machine
