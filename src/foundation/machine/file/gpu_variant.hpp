// A machine like another, but for the way that its GPU reaches the memory beyond its own.
#pragma once

#include "core/units.hpp"
#include "machine/machine.hpp"

namespace terrace::machine {

// With another bandwidth of the memory beyond the link. A channel carries no more than one of the GPU's own memory
// does: where it would have to, there are more of them. Throws Error{invalid} where there is no GPU, or for a
// bandwidth of 0.
[[nodiscard]] Machine with_remote_bandwidth(const Machine& machine, BytesPerSecond bandwidth);

}  // namespace terrace::machine
