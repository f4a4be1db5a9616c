// SPDX-License-Identifier: Apache-2.0
// What makes two chains the same for those who plan them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "terrace/stencil/chain.hpp"

namespace terrace::stencil {

using Signature = std::vector<std::int64_t>;

// What a plan depends on: ranges, datasets, accesses and offsets of all loops.
[[nodiscard]] Signature signature_of(std::span<const Loop> chain);

}  // namespace terrace::stencil
