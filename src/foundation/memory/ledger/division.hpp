// How a place is divided among the processes of a job. Every process computes the same from the same demands:
//
//   1. Shares are whole granules. Their sum is the budget, rounded down to a granule, or the sum of the quotas
//   where
//      that is less: no granule is lost, none is given twice.
//   2. Each process has its weight times its gain by the byte, in relation to the largest gain of all. A gain that
//   is
//      unknown counts as the mean of the known ones; where none is known, weights alone count. A gain of nothing
//      counts as 1/65536 of the largest.
//   3. Granules go in proportion to that. Whose proportion is more than its quota gets its quota; what it leaves
//   goes
//      to the others in the same way, until nobody is above.
//   4. What rounding leaves goes by one granule to those whose fraction is largest, of equal ones to the first.
#pragma once

#include <cstdint>
#include <span>

#include "memory/ledger/page.hpp"

namespace terrace::memory {

// Fills a share for each demand, in bytes. Of k_ledger_slots demands at most; those of weight 0 get nothing. Pure;
// allocates nothing.
void divide(std::uint64_t budget, std::uint64_t granule, std::span<const LedgerDemand> demands,
            std::span<std::uint64_t> shares) noexcept;

}  // namespace terrace::memory
