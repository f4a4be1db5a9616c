// SPDX-License-Identifier: Apache-2.0
// Decides for each call of MPI which function is called and whether the listener learns of it. See layer.hpp and
// call_events.hpp.
//
// A call is nested if the thread is inside a reported call. A counter of depth would stay raised when an error
// handler leaves a call by longjmp(3) or an exception. The layer remembers the frame of the reported call instead:
// it is over once a call arrives from a frame at or above it, or once its record on the stack has been
// overwritten.
#include "agent/mpi/layer.hpp"

#include <stdio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "agent/mpi/functions.hpp"
#include "agent/mpi/real_functions.hpp"
#include "agent/mpi/weak_references.hpp"

namespace terrace::agent {

namespace {

constexpr std::size_t k_num_entries = k_max_mpi_functions * k_entries_per_function;

// The resolved definitions. In zeroed memory, of which only the used pages exist.
constinit std::array<std::atomic<void*>, k_num_entries> g_real{};

struct ThreadState {
  const MpiRecord* record;  // of the reported call that the thread is in, or null
  std::uint64_t canary;     // its record's
};
constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec"))){};

// Finds the listener once.
struct Listener {
  const MpiListener* listener;
  std::atomic<bool> is_known;
};
constinit Listener g_listener{};

[[gnu::noinline, gnu::cold]] const MpiListener* find_listener() noexcept {
  g_listener.listener = terrace_mpi_listener ? terrace_mpi_listener() : nullptr;  // racing threads store the same
  g_listener.is_known.store(true, std::memory_order_release);
  return g_listener.listener;
}

const MpiListener* listener() noexcept {
  return g_listener.is_known.load(std::memory_order_acquire) ? g_listener.listener : find_listener();
}

// Replaces the functions of an MPI that is not loaded.
constexpr int k_error = 16;  // MPI_ERR_OTHER of the standard ABI and Open MPI, MPI_ERR_INTERN of MPICH
std::int64_t return_error() noexcept { return k_error; }
std::int64_t return_success() noexcept { return 0; }

void report_missing(std::uint32_t entry) noexcept {
  static constinit std::atomic<bool> is_reported{false};
  if (is_reported.exchange(true, std::memory_order_relaxed)) return;
  char name[k_max_mpi_name];
  write_entry_name(entry, name);
  dprintf(STDERR_FILENO, "terrace: no loaded library defines %s; the call returns an error\n", name);
}

// Answers a call for which no library is loaded: MPI is neither initialised nor finalised, all else is an error.
void* replace_missing(std::uint32_t entry, const std::uint64_t* registers, const std::uint64_t* stack) noexcept {
  const auto argument = [&](std::size_t position) {
    return reinterpret_cast<int*>(  // NOLINT(performance-no-int-to-ptr)
        position < k_num_mpi_registers ? registers[position] : stack[position - k_num_mpi_registers]);
  };
  const MpiFunction& function = function_of(entry);
  const bool is_query =
      std::strcmp(function.name, "Initialized") == 0 || std::strcmp(function.name, "Finalized") == 0;
  if (is_query)
    *argument(0) = 0;
  else
    report_missing(entry);
  if (spelling_of(entry) != Spelling::k_c)
    if (int* const error = argument(function.num_arguments)) *error = is_query ? 0 : int{k_error};
  return reinterpret_cast<void*>(is_query ? &return_success : &return_error);
}

void* find_target(std::uint32_t entry, const void* caller) noexcept {
  clear_weak_references();
  char name[k_max_mpi_name];
  write_entry_name(entry, name);
  void* const found = find_real(name, caller);
  g_real[entry].store(found, std::memory_order_relaxed);  // racing threads store the same value
  return found;
}

MpiLanguage language_of(Spelling spelling) noexcept {
  if (spelling == Spelling::k_c) return MpiLanguage::k_c;
  return spelling == Spelling::k_fortran ? MpiLanguage::k_fortran : MpiLanguage::k_fortran_08;
}

bool is_nested(const std::uint64_t* frame) noexcept {
  const MpiRecord* const outer = t_state.record;
  return outer && reinterpret_cast<std::uintptr_t>(frame) < reinterpret_cast<std::uintptr_t>(outer->call.frame) &&
         outer->canary == t_state.canary;
}

}  // namespace

}  // namespace terrace::agent

using namespace terrace::agent;

constinit std::atomic<void*> g_mpi_targets[k_num_entries]{};

MpiTarget mpi_enter(std::uint32_t entry, const std::uint64_t* registers, const void* return_address,
                    const std::uint64_t* frame, MpiRecord* record) noexcept {
  void* real = g_real[entry].load(std::memory_order_relaxed);
  if (!real) [[unlikely]]
    real = find_target(entry, return_address);
  if (!real) return {replace_missing(entry, registers, frame), 0};
  if (is_nested(frame)) return {real, 0};
  const MpiListener* const to = listener();
  if (!to) {
    g_mpi_targets[entry].store(real, std::memory_order_relaxed);
    return {real, 0};
  }
  const MpiFunction& function = function_of(entry);
  record->call = {.function = static_cast<std::uint16_t>(entry / k_entries_per_function),
                  .function_class = function.function_class,
                  .language = language_of(spelling_of(entry)),
                  .is_profiling_name = is_profiling(entry),
                  .is_large = function.has_large_counts,
                  .call_site = return_address,
                  .frame = frame,
                  .registers = registers,
                  .stack = frame,  // both ABIs begin the stack arguments at the canonical frame address
                  .result = 0};
  record->canary = ++t_state.canary;
  t_state.record = record;
  to->begin(&record->call);
  return {real, 1};
}

void mpi_leave(MpiRecord* record, std::int64_t result) noexcept {
  record->call.result = result;
  g_listener.listener->end(&record->call);
  if (t_state.record == record) t_state.record = nullptr;
}
