// SPDX-License-Identifier: Apache-2.0
// Declares the table of MPI functions, generated from mpi_functions.txt, and the names under which programs call
// them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "agent/mpi/call_events.hpp"

namespace terrace::agent {

// States which data a transfer's arguments describe. See mpi_functions.txt.
enum class TransferKind : std::uint8_t {
  none,
  send,
  recv,
  send_parts,
  recv_parts,
  send_each,
  recv_each,
  send_counts,
  recv_counts,
  recv_types,
  root_send,
  root_recv,
  root_send_each,
  root_recv_each,
  root_send_counts,
  root_recv_counts,
  leaf_send,
  leaf_recv,
};

// Positions of arguments, from 0; -1: absent.
struct TransferRule {
  TransferKind kind;
  std::int8_t count, datatype, peer, tag, handle;
};

struct MpiFunction {
  const char* name;
  MpiClass function_class;
  bool has_large_counts;       // 64-bit counts: the name ends in `_c`
  std::uint8_t num_arguments;  // before Fortran's IERROR
  TransferRule transfers[2];
};

// The number of an entry: 16 x function + spelling, + 8 for the profiling name (PMPI_). CMakeLists.txt generates
// the entries in this order.
enum class Spelling : std::uint8_t {
  k_c,            // MPI_Send
  k_fortran,      // mpi_send_
  k_f08,          // mpi_send_f08_
  k_f08ts,        // mpi_send_f08ts_: choice buffers have descriptors
  k_f08_large,    // mpi_send_f08_large_: MPICH's name of the large-count variant
  k_f08ts_large,  // mpi_send_f08ts_large_
};
inline constexpr std::size_t k_entries_per_function = 16;
inline constexpr std::uint32_t k_profiling_entry = 8;

extern const MpiFunction k_mpi_functions[];
extern const std::size_t k_num_mpi_functions;
inline constexpr std::size_t k_max_mpi_functions = 640;

inline const MpiFunction& function_of(std::uint32_t entry) noexcept {
  return k_mpi_functions[entry / k_entries_per_function];
}
inline Spelling spelling_of(std::uint32_t entry) noexcept {
  return static_cast<Spelling>(entry % k_profiling_entry);
}
inline bool is_profiling(std::uint32_t entry) noexcept { return (entry & k_profiling_entry) != 0; }

inline constexpr std::size_t k_max_mpi_name = 64;  // bytes, with the terminating zero
// Writes the exported name of an entry.
void write_entry_name(std::uint32_t entry, char (&name)[k_max_mpi_name]) noexcept;

}  // namespace terrace::agent
