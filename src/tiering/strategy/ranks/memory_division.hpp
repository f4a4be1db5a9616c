// SPDX-License-Identifier: Apache-2.0
// Divides a node's fast memory among the ranks of an MPI job so that the job becomes fast. A phase takes as long
// as its slowest rank, so memory that makes another rank faster gains nothing there. RankGroup uses it.
//
// The time of a phase is approximated from above by the 16-norm of its ranks' times: with n equal ranks it exceeds
// the maximum by n^(1/16) (9 % for 4 ranks), and unlike the maximum it falls when one of several equally slow
// ranks becomes faster. Bytes are assigned greedily: the next ones go to the rank with the largest reduction of
// the phases' sum per byte.
//
// Pure function: all ranks compute the same division from the same curves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategy/ranks/gain_curve.hpp"

namespace terrace::strategy {

// Returns the bytes of each rank; their sum is at most `budget`. What no rank gains from is divided equally. If
// the ranks have different phases, only the times of whole iterations are compared.
[[nodiscard]] std::vector<std::uint64_t> divide_memory(std::uint64_t budget, std::span<const GainCurve> ranks);

}  // namespace terrace::strategy
