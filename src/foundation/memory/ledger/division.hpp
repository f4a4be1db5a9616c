// SPDX-License-Identifier: Apache-2.0
// Divides the budget of a place among the processes of a job, for the ledger and its display. Every process
// computes the same shares from the same demands:
//
//   1. Shares are whole granules. Their sum is the budget, rounded down to a granule, or the sum of the quotas
//      where that is less: no granule is lost, and none is assigned twice.
//   2. The proportion of a process is its weight times its gain per byte, relative to the largest gain. An unknown
//      gain counts as the mean of the known ones; if none is known, weights alone count. A gain of zero counts as
//      1/65536 of the largest.
//   3. Granules are assigned in these proportions. A process whose proportion exceeds its quota gets its quota;
//      the rest is redistributed among the others in the same way until no process exceeds its quota.
//   4. The granules that rounding leaves go, one each, to the largest fractions; ties go to the first process.
#pragma once

#include <cstdint>
#include <span>

#include "memory/ledger/page.hpp"

namespace terrace::memory {

// Computes `shares` in bytes, one for each demand. Takes at most k_ledger_slots demands; those of weight 0 get 0.
// Pure function; allocates nothing.
void divide_budget(std::uint64_t budget, std::uint64_t granule, std::span<const LedgerDemand> demands,
                   std::span<std::uint64_t> shares) noexcept;

}  // namespace terrace::memory
