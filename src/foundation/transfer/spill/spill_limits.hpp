// What limits memory over a file: the same on the real machine (spill.hpp) and in virtual time
// (sim/engine/virtual_spill.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/rounding.hpp"
#include "core/units.hpp"

namespace terrace::transfer::spill_limits {

inline constexpr std::size_t k_reads = 4;  // under way, of those that nobody waits for
inline constexpr std::size_t k_writes = 4;
inline constexpr std::size_t k_ahead = 16;  // chunks that have left their place before their pages are needed
inline constexpr std::size_t k_share = 16;  // and at most such a part of all in memory
// Of those, the latest: they may be touched once more before they are looked at.
inline constexpr std::size_t k_grace = 4;
inline constexpr std::size_t k_reserve = 2;  // pages that are kept for who waits
// Of so many pages of chunks, those whose chunks have left their place and which nobody has asked for yet.
constexpr std::size_t kept(std::size_t pages) noexcept {
  return std::clamp<std::size_t>(pages / k_share, k_reserve + 1, k_ahead);
}
inline constexpr std::size_t k_min = 8;  // chunks in memory, however little is allowed
// Where what has to stay in memory takes all that is allowed: the share of chunks that come back too soon from
// which on more may be in memory, and by what part more.
inline constexpr double k_soon = 0.5;
inline constexpr std::size_t k_growth = 4;
inline constexpr std::size_t k_marks = 64;  // chunks that are put aside at once, to see when they are used
inline constexpr std::uint64_t k_retry = 1'000'000'000;  // ns until what the file refused is tried again at first,
inline constexpr std::uint64_t k_last_retry = 64 * k_retry;  // and in the end
inline constexpr int k_wait = 100;                           // ms at most until something is looked at anyway

// Blocks that the kernel pages.
inline constexpr double k_weight = 1.0 / 64;  // of the latest load among all
// Share of loads that were unexpected, or of chunks that are used in part, from which on the kernel pages a block.
inline constexpr double k_strange = 0.75;
inline constexpr Seconds k_whole_visit{static_cast<double>(k_huge_page) /
                                       50e9};  // that a core takes at least for all of a chunk
inline constexpr Seconds k_page_read{50e-6};   // that a page takes at least
inline constexpr double k_waiting = 0.25;      // share of the time for reading pages that is little
inline constexpr std::uint32_t k_trials = 3;   // a trial of pages that fails counts as so many refusals
inline constexpr std::uint64_t k_patience = 2'000'000'000;  // ns that giving a block may take
inline constexpr std::uint64_t k_period = 2'000'000'000;    // ns until one that was given first is tried again

// Loads of a block that have to be seen before it is given: each time that giving it took too long twice as many.
constexpr std::uint32_t loads_before_giving(std::uint32_t refusals) noexcept {
  return 128U << std::min(refusals, 16U);
}

// Blocks of at most so many chunks (64 MiB) are pieces: before one is given by its own loads each of its chunks
// would be read four times. Pieces are judged together in each part of so many chunks (1 GiB) of the address
// space, and by so many loads of their own.
inline constexpr std::uint32_t k_piece = loads_before_giving(0) / 4;
inline constexpr std::uint32_t k_heap = 512;
inline constexpr std::uint32_t k_own_loads = 8;

// With what has to stay in memory: whole MiB.
constexpr Bytes min_memory(Bytes stays) noexcept {
  return Bytes{align_up(stays.value + k_min * k_huge_page, std::uint64_t{1} << 20)};
}

}  // namespace terrace::transfer::spill_limits
