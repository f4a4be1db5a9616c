// SPDX-License-Identifier: Apache-2.0
// Declares the interface between libterrace-mpi.so, which sees a program's calls of MPI, and one listener in the
// same process: the agent (libterrace.so), or a test's own library.
//
// A listener exports terrace_mpi_listener(). The layer calls that function once, at the first call of MPI, and
// then begin() before and end() after each outermost call of each thread. Calls that MPI, a language binding or a
// profiling tool makes from inside another call are forwarded and not reported. Without a listener the layer
// forwards all calls and reports none.
//
//   const MpiListener g_listener{&on_begin, &on_end};
//   const MpiListener* terrace_mpi_listener() { return &g_listener; }
//
// begin() and end() run on the calling thread, concurrently with those of other threads. They must not throw, and
// must not call the public names of MPI: terrace_mpi_real() gives the library's own functions. No end() follows
// for a call that does not return: MPI_Abort, a longjmp(3) or an exception from a callback or error handler.
//
// The functions are weak references, null where the layer is not loaded. All types are plain: both sides may be
// compiled by different compilers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace terrace::agent {

// Groups functions by how they may block, as mpi_functions.txt defines.
enum class MpiClass : std::uint8_t {
  k_local,
  k_nonblocking,
  k_test,
  k_wait,
  k_blocking,
  k_collective,
  k_onesided_sync,
  k_io,
  k_init,
  k_finalize,
  k_abort,
};

// k_fortran: mpif.h and `use mpi`, whose procedures are the same. k_fortran_08: `use mpi_f08`.
enum class MpiLanguage : std::uint8_t { k_c, k_fortran, k_fortran_08 };

#if defined(__aarch64__)
inline constexpr std::size_t k_num_mpi_registers = 8;
#else
inline constexpr std::size_t k_num_mpi_registers = 6;
#endif

// Describes one outermost call. Valid during begin() and end(), which receive the same object.
struct MpiCall {
  std::uint16_t function;  // index for terrace_mpi_function_name(); rows of mpi_functions.txt, from 0
  MpiClass function_class;
  MpiLanguage language;
  std::uint8_t is_profiling_name;  // called as PMPI_NAME
  std::uint8_t is_large;           // counts have 64 bits
  const void* call_site;           // return address into the caller
  const std::uint64_t* frame;      // canonical frame address of the call: the caller's stack pointer before it
  const std::uint64_t* registers;  // argument registers at the call; k_num_mpi_registers values
  const std::uint64_t* stack;      // arguments on the stack
  std::int64_t result;             // valid in end(): the value returned in C
};

// Returns the argument at a position, from 0. The upper half of a 32-bit argument is undefined; in Fortran all
// arguments are addresses.
inline std::uint64_t mpi_argument(const MpiCall& call, std::size_t position) noexcept {
  return position < k_num_mpi_registers ? call.registers[position] : call.stack[position - k_num_mpi_registers];
}

struct MpiListener {
  void (*begin)(const MpiCall* call);
  void (*end)(const MpiCall* call);
};

// k_none: the call has no handle (MPI_Mrecv).
enum class MpiHandle : std::uint8_t { k_none, k_communicator, k_window, k_file };

inline constexpr std::int32_t k_no_mpi_rank = INT32_MIN;  // the call has no such argument
inline constexpr std::int32_t k_no_mpi_tag = INT32_MIN;

// States what one call moves, as its arguments have it. Ranks and tags are the program's own values, wildcards
// included. A receive's bytes are the buffer's capacity. A call with MPI_PROC_NULL sends nothing. The
// initialisation of a persistent or partitioned operation describes what each start moves.
struct MpiTransfer {
  std::uint8_t sends, receives;  // writes a file, reads a file
  MpiHandle handle_kind;
  std::uint64_t bytes_sent, bytes_received;
  std::int32_t destination, source;  // the root of a collective, the target of one-sided communication
  std::int32_t send_tag, receive_tag;
  std::uint64_t handle;  // the C handle, whatever the language; 32-bit handles (MPICH) are zero-extended
};

extern "C" {

// Returns the listener, or null. Defined by the listener's library.
[[gnu::weak, gnu::visibility("default")]] const MpiListener* terrace_mpi_listener() noexcept;

// Describes the data that a call moves; computes only when called, and calls the library's MPI_Type_size_x and,
// for collectives, MPI_Comm_size. Returns false, and leaves the transfer unspecified, if the call moves none or
// its amount is not known: MPI_Start, neighbourhood collectives, collectives of intercommunicators. Requires:
// valid arguments (an invalid datatype raises MPI's error handler), and MPI between its initialisation and
// finalisation.
[[gnu::weak, gnu::visibility("default")]] bool terrace_mpi_describe_transfer(const MpiCall* call,
                                                                             MpiTransfer* transfer) noexcept;

// Returns a function's name in C, without MPI_ ("Send"), or null beyond the last index. Names live as long as the
// process.
[[gnu::weak, gnu::visibility("default")]] const char* terrace_mpi_function_name(std::size_t index) noexcept;

// Returns the number of a function's arguments, which is that of its Fortran procedure without IERROR: in C two
// more for Init and Init_thread. Returns 0 beyond the last index.
[[gnu::weak, gnu::visibility("default")]] std::size_t terrace_mpi_num_arguments(std::size_t index) noexcept;

// Returns the definition that the layer would forward to ("PMPI_Comm_rank"), or null. Its calls are not reported.
// Searches at each call: callers keep the result.
[[gnu::weak, gnu::visibility("default")]] void* terrace_mpi_real(const char* name) noexcept;

}  // extern "C"

}  // namespace terrace::agent
