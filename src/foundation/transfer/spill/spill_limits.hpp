// SPDX-License-Identifier: Apache-2.0
// Defines the constants of out-of-core memory: limits, intervals and thresholds of the spill engines and of their
// simulation (sim/engine/virtual_spill.hpp), and the smallest limit that the launcher accepts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/rounding.hpp"
#include "core/units.hpp"

namespace terrace::transfer::spill_limits {

inline constexpr std::size_t k_max_reads = 4;           // prefetches in flight
inline constexpr std::size_t k_max_writes = 4;          // in flight
inline constexpr std::size_t k_max_evicting = 16;       // chunks evicted before their pages are needed
inline constexpr std::size_t k_max_evicting_part = 16;  // and at most one part in so many of resident chunks
// The latest entries of the eviction queue are not written back yet: an access may still cancel their eviction.
inline constexpr std::size_t k_write_back_grace = 4;
inline constexpr std::size_t k_fault_reserve = 2;  // pages reserved for faults
// Returns how many of `pages` resident chunks shall be on the eviction queue, unmapped and not requested again.
constexpr std::size_t eviction_target(std::size_t pages) noexcept {
  return std::clamp<std::size_t>(pages / k_max_evicting_part, k_fault_reserve + 1, k_max_evicting);
}
inline constexpr std::size_t k_min_resident = 8;  // chunks, however low the limit
// Growth of the minimum where memory that cannot be evicted takes the whole limit: share of early refaults that
// triggers it, and one part in so many that is added.
inline constexpr double k_early_refault_share = 0.5;
inline constexpr std::size_t k_growth_part = 4;
inline constexpr std::size_t k_max_sentinels = 64;                    // armed in one step
inline constexpr std::uint64_t k_min_retry_ns = 1'000'000'000;        // until refused writes are first retried,
inline constexpr std::uint64_t k_max_retry_ns = 64 * k_min_retry_ns;  // and max interval (exponential back-off)
inline constexpr int k_max_poll_ms = 100;                             // max time of one poll

// Blocks that are handed over to kernel paging.
inline constexpr double k_average_weight = 1.0 / 64;  // weight of the latest load in the moving averages
// Share of loads that were unpredicted, or sparsely used, from which on the kernel pages a block.
inline constexpr double k_handover_share = 0.75;
// Min time in which a core reads a whole chunk, at 50 GB/s.
inline constexpr Seconds k_min_chunk_read_time{static_cast<double>(k_huge_page) / 50e9};
inline constexpr Seconds k_min_page_read_time{50e-6};            // of a page read
inline constexpr double k_max_wait_share = 0.25;                 // tolerable share of time spent in page reads
inline constexpr std::uint32_t k_refusals_per_failed_trial = 3;  // a failed page trial counts as so many refusals
inline constexpr std::uint64_t k_max_handover_ns = 2'000'000'000;  // max duration of a handover
inline constexpr std::uint64_t k_min_period_ns = 2'000'000'000;    // until a handed-over block's first review

// Returns how many loads of a block must be observed before a handover. Each handover that timed out doubles it.
constexpr std::uint32_t min_loads_for_handover(std::uint32_t refusals) noexcept {
  return 128U << std::min(refusals, 16U);
}

// Blocks of at most k_max_piece_chunks chunks (64 MiB) are pieces: judged by its own loads alone, each chunk of a
// piece would be read four times before a handover. Pieces in one region of k_heap_region_chunks chunks (1 GiB) of
// address space are therefore judged together, and need k_min_own_loads loads of their own.
inline constexpr std::uint32_t k_max_piece_chunks = min_loads_for_handover(0) / 4;
inline constexpr std::uint32_t k_heap_region_chunks = 512;
inline constexpr std::uint32_t k_min_own_loads = 8;

// Returns the smallest workable limit in whole MiB, where `stays` bytes cannot be evicted.
constexpr Bytes min_memory(Bytes stays) noexcept {
  return Bytes{align_up(stays.value + k_min_resident * k_huge_page, std::uint64_t{1} << 20)};
}

}  // namespace terrace::transfer::spill_limits
