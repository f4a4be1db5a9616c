// SPDX-License-Identifier: Apache-2.0
// Computes the key of a chain in plan caches: chains with equal signatures have equal plans. Used by the engine,
// all executors that plan, and virtual time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

using Signature = std::vector<std::int64_t>;

// Returns ranges, datasets, accesses and offsets of all loops as integers. Kernels are not part of it.
[[nodiscard]] Signature signature_of(std::span<const Loop> chain);

}  // namespace terrace::stencil
