// SPDX-License-Identifier: Apache-2.0
// Declares what the assembly entries and layer.cpp share. An entry passes its number to the common code
// (entries_*.S), which jumps to the function that g_mpi_targets has for it, if any. Otherwise it saves the
// argument registers, calls mpi_enter(), and then either jumps to the real function (no listener, or a nested
// call), or calls it with copies of 12 words of stack arguments and calls mpi_leave() afterwards. The longest
// argument list has 14 (Fortran's MPI_Rget_accumulate).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/mpi/call_events.hpp"

namespace terrace::agent {

// A reported call, on the stack of the common code, which reserves k_mpi_record_size bytes for it.
struct MpiRecord {
  MpiCall call;
  std::uint64_t canary;  // equal to the thread's while the call has not been abandoned
};
inline constexpr std::size_t k_mpi_record_size = 64;  // RECORD_SIZE in entries_*.S
static_assert(sizeof(MpiRecord) <= k_mpi_record_size);

// Returned in two registers on both architectures.
struct MpiTarget {
  void* function;
  std::uint64_t is_reported;
};

}  // namespace terrace::agent

extern "C" {

// Where an entry jumps to, or null: through mpi_enter(). The assembly code reads it.
extern std::atomic<void*> g_mpi_targets[] __attribute__((visibility("hidden")));

// Returns the function to be called, and whether the call is reported. Begins the record if it is.
terrace::agent::MpiTarget mpi_enter(std::uint32_t entry, const std::uint64_t* registers,
                                    const void* return_address, const std::uint64_t* frame,
                                    terrace::agent::MpiRecord* record) noexcept
    __attribute__((visibility("hidden")));

// Ends the record.
void mpi_leave(terrace::agent::MpiRecord* record, std::int64_t result) noexcept
    __attribute__((visibility("hidden")));

}  // extern "C"
