// SPDX-License-Identifier: Apache-2.0
// Derives machines: with other cache sizes or core times, to scale caches with a reduced problem size, and with
// another bandwidth of a GPU's link. Used by the launcher's options `--cache` and `--core-time` and by the Python
// package.
#pragma once

#include <string>
#include <vector>

#include "core/units.hpp"
#include "machine/machine.hpp"

namespace terrace::machine {

// Returns the machine with other cache sizes. Each text is NAME=SIZE ("l3=640KiB") and applies to the caches of
// that name of every initiator; sizes are rounded down to whole sets. Throws Error{invalid} with the known caches.
Machine with_cache_sizes(const Machine& machine, const std::vector<std::string>& sizes);

// Returns the machine with another core time for an access that hits the first cache. Throws Error{invalid} for a
// time that is not positive.
Machine with_core_time(const Machine& machine, Seconds instruction_time);

// Returns the machine with another bandwidth of the memory beyond the link. A channel of it is not faster than one
// of the GPU's own memory; if necessary, channels are added. Throws Error{invalid} if there is no GPU, or the
// bandwidth is 0.
[[nodiscard]] Machine with_remote_bandwidth(const Machine& machine, BytesPerSecond bandwidth);

}  // namespace terrace::machine
