// SPDX-License-Identifier: Apache-2.0
// Declares system queries shared by the spill engines: clocks, resident memory, major faults, file tables.
#pragma once

#include <cstdint>

#include "core/system_time.hpp"
#include "core/units.hpp"

namespace terrace::transfer {

inline constexpr int k_madv_pageout = 21;  // MADV_PAGEOUT, since Linux 5.4

inline std::uint64_t steady_ns() noexcept { return to_ns(read_clock(CLOCK_MONOTONIC)); }

// Returns the processor time of a thread of this process; 0 if unavailable.
inline std::uint64_t cpu_time_ns(std::uint32_t thread) noexcept {
  // Encoding of Linux: CPUCLOCK_PERTHREAD_MASK (4) | CPUCLOCK_SCHED (2).
  return to_ns(read_clock(static_cast<clockid_t>(~thread << 3 | 6U)));
}

// Returns the user-mode part of it, at the kernel's tick resolution (about 10 ms).
[[nodiscard]] std::uint64_t user_time_ns(std::uint32_t thread) noexcept;

inline void* memory_at(std::uint64_t address) noexcept {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Resident bytes of the process, and those of file mappings among them; 0 if unknown.
struct ResidentMemory {
  std::uint64_t all = 0, of_files = 0;
};
[[nodiscard]] ResidentMemory resident_memory() noexcept;

// Returns the process's major page faults.
[[nodiscard]] std::uint64_t major_faults() noexcept;

// Returns the processor time of the process, ended threads included, without the calling thread's.
[[nodiscard]] Seconds program_cpu_time() noexcept;

// Tells the user that unevictable memory exceeds the limit `memory`.
void warn_memory_too_small(Bytes memory, Bytes taken, void (*say)(const char* sentence));

// Gives the calling thread its own file table (unshare(CLONE_FILES)), and closes all inherited descriptors but
// stderr.
void unshare_file_table() noexcept;

}  // namespace terrace::transfer
