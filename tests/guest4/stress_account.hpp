// Counters of the stress's processes for the process that compares accounts, in memory that all of them share.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace terrace::tests {

inline constexpr std::size_t k_stress_places = 8;
inline constexpr std::size_t k_stress_processes = 4;

struct StressReport {
  std::int32_t process = 0;
  std::int32_t last_error = 0;                          // of what the system refused
  std::array<std::uint64_t, k_stress_places> held{};    // bytes, by what the process knows of its chunks
  std::array<std::uint64_t, k_stress_places> kernel{};  // by the kernel's answer for each page
  std::array<std::uint64_t, k_stress_places>
      beside{};  // of the process's region, in no object: rests of huge pages
  std::uint64_t allocated = 0, without_room = 0, touched = 0, moved = 0, freed = 0;
  // Ranges by intent that were made, freed, and released because of no free space or a refusal of the system.
  std::uint64_t intent_ranges = 0, intent_freed = 0, intent_no_room = 0, intent_refused = 0;
  std::uint64_t intent_touched = 0, intent_applied = 0;  // pages; ranges, a part of them each
  std::uint64_t no_room = 0;                             // moves that the ledger refused
  std::uint64_t refused = 0;    // that the system refused, as it does with pages that are pinned for a moment
  std::uint64_t in_parts = 0;   // chunks that such a move left on two places, until they were moved again
  std::uint64_t misplaced = 0;  // pages that are elsewhere than their chunk
  std::uint64_t damaged = 0;    // pages whose contents are wrong
};

struct StressAccount {
  std::atomic<std::uint64_t> called{0};    // the round that is to be counted now
  std::atomic<std::uint64_t> compared{0};  // the one after which all may go on
  std::atomic<bool> ending{false};         // the next round counts what is left when all is freed
  std::array<std::atomic<std::uint64_t>, k_stress_processes> counted{};
  std::array<StressReport, k_stress_processes> reports;
};

}  // namespace terrace::tests
